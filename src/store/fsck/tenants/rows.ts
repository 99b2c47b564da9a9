/**
 * `fsck`: compares API keys, data planes, exports, documents, the project's profile and its organization with the system
 * events of the log.
 * `project-life.ts`, `plane-life.ts` and `export-life.ts` in this folder recompute the columns. All are
 * compared except the last use of a key. An event with a missing body is reported once, and its changes are
 * not compared.
 * Proven by `test/store/fsck/tamper-tenants.test.ts` and `test/host/data/tamper-tenants.long.test.ts`.
 */
import { storedDigests } from '../../../core/events/disclosure.ts';
import { disclosuresMatch } from '../../../core/events/bodies.ts';
import { openLeaf } from '../../../core/decided/leaf.ts';
import { sha256Text } from '../../../core/hash.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../../../core/json/parse.ts';
import { systemRun, type EventRecord } from '../../../core/events/record.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import type { FsckKind } from '../check.ts';
import { DocumentLife, isDocumentEvent } from './documents.ts';
import { ExportLife, isExportEvent } from './export-life.ts';
import { isOrganizationEvent, type Organizations } from './organization-life.ts';
import { PlaneLife, isPlaneEvent } from './plane-life.ts';
import { isTenantEvent, TenantLife, type TenantEvent } from './project-life.ts';
import { columnCheck, type Columns } from '../columns.ts';
import { parseRecord, shown } from '../record.ts';
import { openedRow } from '../../file/body-seal.ts';
import type { Value } from '../../file/connection.ts';
import { positionSql } from '../../file/position.ts';

interface Row {
  readonly idx: number;
  readonly record: string;
  readonly disclosures: string | null;
}

export interface TenantCheck {
  /** Called with each event in index order. */
  visit(row: Row, event: EventRecord): void;
  finish(): void;
}

export function tenantCheck(check: Check, project: CheckedProject): TenantCheck {
  const { no, projectId, organizationId, auditSize } = project;
  const life = new TenantLife(projectId);
  const planes = new PlaneLife();
  const exports = new ExportLife();
  const documents = new DocumentLife();
  const { organizations } = check;
  const visit = (row: Row, record: EventRecord): void => {
    const { runId, eventType } = record;
    const isOfTenant = isTenantEvent(eventType);
    const isOfPlane = isPlaneEvent(eventType);
    const isOfExport = isExportEvent(eventType);
    const isOfDocument = isDocumentEvent(eventType);
    if (runId !== systemRun) return;
    if (!(isOfTenant || isOfPlane || isOfExport || isOfDocument || isOrganizationEvent(eventType))) return;
    const event = opened(row, record);
    if (event === null) {
      const expected = `the whole body of ${eventType}, to recompute its changes`;
      check.problem(`${projectId}/audit/${row.idx}`, 'not_checkable', {
        expected,
        got: 'a missing or altered body',
      });
      if (isOfTenant) life.forget(eventType);
      else if (isOfPlane) planes.forget(eventType);
      else if (isOfExport) exports.forget(eventType);
      else if (isOfDocument) documents.forget(eventType);
      else organizations.forget(organizationId);
    } else if (isOfTenant) life.add(event);
    else if (isOfPlane) planes.add(event);
    else if (isOfExport) exports.add(event);
    else if (isOfDocument) documents.add(event);
    else organizations.add(event);
  };
  const finish = (): void => {
    check.db.exec('BEGIN');
    try {
      for (const row of newerEvents(check, no, auditSize)) {
        const parsed = parseRecord(row.record);
        if (parsed?.type === 'gov.event/1') visit(row, parsed as EventRecord);
      }
      checkKeys(check, project, life);
      checkProfile(check, project, life);
      checkPlanes(check, project, planes);
      checkExports(check, project, exports);
      documents.compare(check, project);
      noteOrganization(check, project);
    } finally {
      check.db.exec('COMMIT');
    }
  };
  return { visit, finish };
}

/** Null if any committed value of the event is missing or altered. */
function opened({ idx, record, disclosures }: Row, event: EventRecord): TenantEvent | null {
  if (disclosures === null || !disclosuresMatch(record, disclosures)) return null;
  if (new Set(storedDigests(disclosures)).size < event._sd.length) return null;
  const { committed } = openLeaf({ index: idx, record, disclosures });
  return {
    eventType: event.eventType,
    atMs: parseTimestamp(event.timestamp),
    actorId: shown(objectOf(committed.get('actor'))['id']),
    resourceId: shown(objectOf(committed.get('resource'))['id']),
    metadata: objectOf(committed.get('metadata')),
  };
}

const objectOf = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};

/** Events that were appended during the check: the rows already include their changes. */
function newerEvents({ db }: Check, project: number, from: number): Row[] {
  return db
    .prepare<Value[], Row>(
      `SELECT e.idx, leaf.record, body.disclosures FROM run
       JOIN run_event e ON e.project = run.project AND e.run_no = run.run_no
       JOIN leaf ON leaf.position = ${positionSql('e')} LEFT JOIN body ON body.position = leaf.position
       WHERE run.project = ? AND run.run_id = '${systemRun}' AND e.idx >= ? ORDER BY e.idx`,
    )
    .all(project, from)
    .map((row) => openedRow(db, row));
}

const unlogged = { expected: 'no row, because no event created it', got: 'one' };

function checkKeys(check: Check, { no, projectId }: CheckedProject, { keys, unread }: TenantLife): void {
  const rows = check.db
    .prepare<Value[], Columns & { readonly key_id: string; readonly digest: never }>(
      'SELECT * FROM api_key WHERE project = ?',
    )
    .iterate(no);
  const compared = checkRows(check, { kind: 'key_mismatch', position: `${projectId}/api_key`, known: keys });
  for (const row of rows) compared.visit(row.key_id, { ...row, digest: sha256Text(row.digest) });
  compared.finish(unread.keys);
}

function checkPlanes(check: Check, { no, projectId }: CheckedProject, { planes, unread }: PlaneLife): void {
  const rows = check.db
    .prepare<Value[], Columns & { readonly plane_id: string; readonly key_digest: Buffer | null }>(
      'SELECT * FROM telemetry_plane WHERE project = ?',
    )
    .iterate(no);
  const position = `${projectId}/data_plane`;
  const compared = checkRows(check, { kind: 'plane_mismatch', position, known: planes });
  for (const row of rows) {
    const key_digest = row.key_digest === null ? null : sha256Text(row.key_digest);
    compared.visit(row.plane_id, { ...row, key_digest });
  }
  compared.finish(unread);
}

function checkExports(
  check: Check,
  { no, projectId }: CheckedProject,
  { exports, unread }: ExportLife,
): void {
  const rows = check.db
    .prepare<Value[], Columns & { readonly export_id: string; readonly digest: Buffer | null }>(
      `SELECT e.*, j.type AS job, j.status = 'completed' AS ended FROM export_job e
       LEFT JOIN job j ON j.project = e.project AND j.job_id = e.job_id WHERE e.project = ?`,
    )
    .iterate(no);
  const position = `${projectId}/export`;
  const compared = checkRows(check, { kind: 'export_mismatch', position, known: exports });
  const compareJob = columnCheck(check, 'export_mismatch');
  for (const { export_id: exportId, digest, ...row } of rows) {
    const manifest = typeof row['manifest'] === 'string' ? canonicalText(row['manifest']) : null;
    const stored = { ...row, digest: digest === null ? null : `sha256:${digest.toString('hex')}`, manifest };
    compared.visit(exportId, stored);
    const ended = row['completed_ms'] === null ? 0 : 1;
    compareJob(`${position}/${exportId}`, row, { job: 'export', ended });
  }
  compared.finish(unread);
}

/** Checks rows that events created, each by its id. */
function checkRows(
  check: Check,
  of: { readonly kind: FsckKind; readonly position: string; readonly known: ReadonlyMap<string, Columns> },
) {
  const { kind, position, known } = of;
  const compare = columnCheck(check, kind);
  const missing = new Map(known);
  const unknownIds: string[] = [];
  return {
    visit: (id: string, row: Columns): void => {
      const its = missing.get(id);
      missing.delete(id);
      if (its === undefined) unknownIds.push(id);
      else compare(`${position}/${id}`, row, its);
    },
    /** `unread`: number of unreadable events that created a row of this kind. */
    finish: (unread: number): void => {
      for (const [id, its] of missing) compare(`${position}/${id}`, undefined, its);
      if (unknownIds.length <= unread) return;
      for (const id of unknownIds) check.problem(`${position}/${id}`, kind, unlogged);
    },
  };
}

function checkProfile(
  check: Check,
  { no, projectId }: CheckedProject,
  { project: known, unread }: TenantLife,
): void {
  const row = check.db
    .prepare<Value[], Columns & { readonly settings: string; readonly quotas: string }>(
      `SELECT f.*, p.organization_id AS "project.organization_id", p.environment AS "project.environment"
       FROM project_profile f
       JOIN project p ON p.project = f.project WHERE f.project = ?`,
    )
    .get(no);
  const position = `${projectId}/project`;
  if (known !== null) {
    const { organization_id: organization = null, environment = null } = known;
    const twice = { ...known, 'project.organization_id': organization, 'project.environment': environment };
    columnCheck(check, 'project_mismatch')(position, row === undefined ? row : comparedProfile(row), twice);
  } else if (row !== undefined && unread.projects === 0)
    check.problem(position, 'project_mismatch', unlogged);
}

/** Compares settings by the hash that events record, and quotas in one JSON form. */
const comparedProfile = <Profile extends { readonly settings: string; readonly quotas: string }>(
  row: Profile,
) => ({
  ...row,
  settings: sha256Text(row.settings),
  quotas: canonicalText(row.quotas),
});

function canonicalText(json: string): string {
  try {
    return canonicalize(readJson(json));
  } catch {
    return json;
  }
}

/** Reads the organization's row in the same transaction as the log of its home. */
function noteOrganization({ db, organizations }: Check, { projectId }: CheckedProject): void {
  const rows = db
    .prepare<Value[], Columns & { readonly organization_id: string }>(
      'SELECT * FROM organization WHERE home_production = ?',
    )
    .all(projectId);
  for (const row of rows) organizations.found(row.organization_id, row);
}

/** Call it at the end of the check of a whole installation. */
export function checkOrganizations(check: Pick<Check, 'problem'>, organizations: Organizations): void {
  const compare = columnCheck(check, 'organization_mismatch');
  for (const [organizationId, row, known] of organizations.compared()) {
    const position = `organization/${organizationId}`;
    if (known === undefined) check.problem(position, 'organization_mismatch', unlogged);
    else compare(position, row, known);
  }
}
