/**
 * `fsck`: compares the documents whose creation, changes and removal the log records with its events: webhook endpoints,
 * schedules, templates and reports, and the keys of approvers. All other documents are work that expires. Of their members
 * it compares those that the events have: addresses and secrets are sealed, and in no event.
 * Proven by `test/host/data/emptied.long.test.ts`.
 */
import { isObject } from '../../../core/json/object.ts';
import { canonicalize, readJson, type JsonObject } from '../../../core/json/parse.ts';
import type { Value } from '../../file/connection.ts';
import { typeNumbers } from '../../rules/decided.ts';
import type { Check, CheckedProject } from '../check.ts';
import { columnCheck, type Columns } from '../columns.ts';
import { shown, type RecordCheck } from '../record.ts';
import type { TenantEvent } from './project-life.ts';

const kinds = ['webhook_endpoint', 'report_schedule', 'report_template', 'report'] as const;
type Kind = (typeof kinds)[number];

/** Members of documents that events about them have under the same name. */
const members: Readonly<Record<Kind, readonly string[]>> = {
  webhook_endpoint: ['events', 'publicKey'],
  report_schedule: ['name', 'reportTemplateId', 'window', 'cron', 'timezone', 'formats', 'runId'],
  report_template: ['name', 'title', 'introduction', 'sections', 'formats'],
  report: ['reportTemplateId', 'parameters', 'formats'],
};

const changes: ReadonlySet<string> = new Set(['created', 'updated', 'rotated', 'disabled', 'deleted']);

/** The kind of document that an event of this type changes, or null. */
function kindOf(eventType: string): Kind | null {
  const [kind, change = ''] = eventType.split('.');
  return (changes.has(change) && kinds.find((each) => each === kind)) || null;
}

export const isDocumentEvent = (eventType: string): boolean => kindOf(eventType) !== null;

/** The documents that the events of a log leave. */
export class DocumentLife {
  readonly #known = new Map<Kind, Map<string, Columns>>(kinds.map((kind) => [kind, new Map()]));
  /** Kinds with an unreadable event, whose documents are unknown. */
  readonly #unread = new Set<Kind>();

  /** Call it in log order. */
  add({ eventType, resourceId, metadata }: TenantEvent): void {
    const kind = kindOf(eventType);
    const known = kind === null ? undefined : this.#known.get(kind);
    if (kind === null || known === undefined) return;
    if (eventType.endsWith('.deleted')) known.delete(resourceId);
    else {
      const before = eventType.endsWith('.disabled') ? known.get(resourceId) : {};
      known.set(resourceId, { ...before, ...stateOf(eventType, metadata), ...membersOf(kind, metadata) });
    }
  }

  /** An event whose body is missing or altered. */
  forget(eventType: string): void {
    const kind = kindOf(eventType);
    if (kind !== null) this.#unread.add(kind);
  }

  /** Call it in the transaction that has read the newest events. */
  compare(check: Check, { no, projectId }: CheckedProject): void {
    const rows = documentsOf(check.db);
    const compare = columnCheck(check, 'document_mismatch');
    for (const [kind, known] of this.#known) {
      if (rows === null || this.#unread.has(kind)) continue;
      const missing = new Map(known);
      for (const { id, status, data } of rows.iterate(no, kind)) {
        const logged = missing.get(id);
        missing.delete(id);
        const position = `${projectId}/${kind}/${id}`;
        if (logged === undefined) check.problem(position, 'document_mismatch', unlogged);
        else compare(position, { document: 'stored', status, ...membersOf(kind, objectOf(data)) }, logged);
      }
      for (const [id, logged] of missing) compare(`${projectId}/${kind}/${id}`, undefined, logged);
    }
  }
}

const unlogged = { expected: 'no document, because no event created it', got: 'one' };

function stateOf(eventType: string, { enabled }: JsonObject): Columns {
  const is = eventType.endsWith('.disabled') ? false : enabled;
  return { document: 'stored', ...(typeof is === 'boolean' ? { status: is ? 'enabled' : 'disabled' } : {}) };
}

/** As JSON. A member that an event of an earlier version lacks is not compared. */
const membersOf = (kind: Kind, of: JsonObject): Columns =>
  Object.fromEntries(
    members[kind].flatMap((name) => (of[name] === undefined ? [] : [[name, canonicalize(of[name])]])),
  );

function objectOf(data: string): JsonObject {
  try {
    const value = readJson(data);
    return isObject(value) ? value : {};
  } catch {
    return {}; // then it lacks each member
  }
}

interface DocumentRow {
  readonly id: string;
  readonly status: string;
  readonly data: string;
}

/** Null for a database of an earlier release, which has no documents. */
function documentsOf(db: Check['db']) {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'document'").get() === undefined) return null;
  return db.prepare<Value[], DocumentRow>(
    'SELECT document_id AS id, status, data FROM document WHERE project = ? AND kind = ?',
  );
}

/** Checks that each approver that is not revoked has its document: without it, nobody could revoke or use the key. */
export function approverDocuments(
  { db, problem }: Check,
  { no, projectId, auditSize }: CheckedProject,
): RecordCheck {
  const enrolled = new Set<string>();
  const visit = (_index: number, { type, approverId, event }: JsonObject): void => {
    if (type !== 'gov.approver/1') return;
    if (event === 'enrolled') enrolled.add(shown(approverId));
    else enrolled.delete(shown(approverId));
  };
  const finish = (): void => {
    const rows = documentsOf(db)?.all(no, 'approver') ?? [];
    const known = new Set(rows.map(({ id }) => id));
    const newer = db.prepare<Value[]>(
      `SELECT 1 FROM decided WHERE project = ? AND type = ${typeNumbers['gov.approver/1']} AND id = ? AND idx >= ?`,
    );
    const report = (id: string, what: { expected: string; got: string }): void => {
      // an approver that was enrolled or revoked during the check
      if (newer.get(no, id, auditSize) === undefined)
        problem(`${projectId}/approver/${id}`, 'document_mismatch', what);
    };
    for (const id of enrolled)
      if (!known.has(id)) report(id, { expected: 'a document of the approver', got: 'none' });
    for (const id of known)
      if (!enrolled.has(id))
        report(id, { expected: 'no document, because no leaf enrols the approver', got: 'one' });
  };
  return { visit, finish };
}
