/**
 * `fsck`: reads the records of both trees in index order.
 * Proven by `test/store/fsck/tamper.test.ts` and `test/host/data/fsck.test.ts`.
 */
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import type { TreeName } from '../../port/store.ts';
import { closedBody } from '../../erasure/body-seal.ts';
import { bodyReader } from '../../file/body-seal.ts';
import type { Value } from '../../file/connection.ts';
import { columnCheck } from '../columns.ts';
import { parseRecord } from '../record.ts';
import { eventCheck } from './events.ts';
import { indexCheck } from './index-leaves.ts';
import { meterCheck } from './meter.ts';
import { prunedOf, type PrunedLog } from './prunes.ts';
import { endOf, positionBits, positionOf } from '../../file/position.ts';
import { TreeCheck } from './tree.ts';
import { recordTable, treeNumber } from '../../append/trees.ts';
import type { MeterRow } from './meter-row.ts';

/** Records read at a time. */
const step = 1000;

interface AuditRow {
  readonly idx: number;
  readonly record: string;
  readonly disclosures: string | null;
  readonly erased: string | null;
  readonly keys: string | null;
}

/** Checks the audit log: its tree, and the content, runs and bodies of its events. */
export async function checkAuditLog(check: Check, project: CheckedProject): Promise<void> {
  const { db } = check;
  const select = db.prepare<Value[], AuditRow>(
    `SELECT leaf.idx, record, disclosures, erased, keys FROM leaf
     LEFT JOIN body USING (position)
     WHERE position >= ? AND position < ? ORDER BY position`,
  );
  const pruned = prunedOf(check, project);
  const events = eventCheck(check, project, pruned.below);
  const read = bodyReader(db);
  const index = indexCheck(check, project);
  const visit = (row: AuditRow): void => {
    index?.visit(row);
    if (row.idx === 0) checkProject(check, project, row.record);
    const { disclosures, ...rest } = row;
    if (disclosures === null) return events.visit(row);
    const { opened, erased } = read(positionOf(project.no, row.idx), { ...rest, disclosures });
    if (opened === 'gone') return events.visit({ ...row, erased, disclosures: '[]', isGone: true });
    events.visit({ ...row, erased, disclosures: opened === 'closed' ? closedBody : opened.text });
  };
  await walk(check, project, {
    tree: 'audit',
    size: project.auditSize,
    select,
    visit,
    pruned,
    missing: () => events.pruned(),
  });
  events.finish();
}

/** Compares the row of a project with the first leaf of its log. A member that the leaf lacks says nothing of the row. */
function checkProject(check: Check, project: CheckedProject, record: string): void {
  const { origin, ...named } = textsOf(record);
  const { projectId, organizationId, environment, auditOrigin, meteringOrigin } = project;
  const row = { projectId, organizationId, environment, auditOrigin, meteringOrigin };
  const first = { ...named, ...(origin === undefined ? {} : { auditOrigin: origin }) };
  const logged = Object.entries(first).filter(([name]) => Object.hasOwn(row, name));
  columnCheck(check, 'project_mismatch')(`${projectId}/project`, row, Object.fromEntries(logged));
}

/** The texts in a first leaf; none where it cannot be read, which the walk reports. */
function textsOf(record: string): Record<string, string> {
  const genesis = parseRecord(record);
  if (genesis?.type !== 'gov.genesis/1') return {};
  return Object.fromEntries(
    Object.entries(genesis).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])),
  );
}

/** Checks the metering log: its tree, its running totals, and that it covers each audit leaf once. */
export async function checkMeteringLog(check: Check, project: CheckedProject): Promise<void> {
  const meter = meterCheck(check, project);
  const select = check.db.prepare<Value[], MeterRow>(
    `SELECT idx, record, first_index AS firstIndex, leaf_count AS leafCount, nonce FROM meter
     WHERE position >= ? AND position < ? ORDER BY position`,
  );
  await walk(check, project, { tree: 'metering', size: project.meteringSize, select, visit: meter.visit });
  meter.finish();
}

interface Walk<Row> {
  readonly tree: TreeName;
  readonly size: number;
  readonly select: { all(...values: Value[]): Row[] };
  readonly visit: (row: Row) => void;
  readonly pruned?: PrunedLog;
  /** Called for a missing event that may be pruned. */
  readonly missing?: () => void;
}

async function walk<Row extends { idx: number; record: string }>(
  check: Check,
  project: CheckedProject,
  { tree, size, select, visit, pruned, missing }: Walk<Row>,
): Promise<void> {
  const treeCheck = new TreeCheck(check, project, { tree, roots: pruned?.roots ?? [] });
  const nothing = (): void => {
    const isPruned = treeCheck.size < (pruned?.below ?? 0);
    if (isPruned) missing?.();
    treeCheck.next(null, { pruned: isPruned });
  };
  for (let from = 0; from < size; from += step) {
    const end = Math.min(size, from + step);
    for (const row of select.all(positionOf(project.no, from), positionOf(project.no, end))) {
      while (treeCheck.size < row.idx) nothing();
      treeCheck.next(row.record);
      visit(row);
    }
    while (treeCheck.size < end) nothing();
    await check.read(end - from);
  }
  checkBeyond(check, project, tree);
}

/** Reports rows beyond the head, read in one transaction. */
function checkBeyond(check: Check, project: CheckedProject, tree: TreeName): void {
  const rows = check.db
    .prepare<Value[], { idx: number; size: number }>(
      `SELECT r.idx, size FROM head JOIN ${recordTable(tree)} r
         ON r.position >= (head.project << ${positionBits}) + size AND r.position < ?
       WHERE head.project = ? AND head.tree = ? ORDER BY r.position LIMIT 100`,
    )
    .all(endOf(project.no), project.no, treeNumber(tree));
  for (const { idx, size } of rows) {
    const expected = `no leaf beyond the head at ${size}`;
    check.problem(`${project.projectId}/${tree}/${idx}`, 'record_beyond_head', { expected, got: 'one' });
  }
}
