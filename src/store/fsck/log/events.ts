/**
 * `fsck`: checks the audit records: ids, times, positions in their runs, and bodies.
 * Proven by `test/store/fsck/tamper.test.ts`.
 */
import { eventIndex } from '../../../core/id.ts';
import type { JsonObject } from '../../../core/json/parse.ts';
import { systemRun, type EventRecord } from '../../../core/events/record.ts';
import { formatTimestamp, parseTimestamp } from '../../../core/time.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import type { FsckKind } from '../check.ts';
import { approvalCheck } from '../decided/approvals.ts';
import { decidedCheck, snapshotCheck } from '../decided/rows.ts';
import { graphCheck } from '../decided/graphs.ts';
import { policyCheck } from '../decided/policies.ts';
import { proofCheck } from '../decided/proofs.ts';
import { replayCheck } from '../decided/replays.ts';
import { erasedKeyCheck } from '../decided/erased-keys.ts';
import { erasureCheck } from '../decided/erasures.ts';
import { pruneCheck } from './prunes.ts';
import { committedBy, parseRecord } from '../record.ts';
import { besideCheck } from './beside.ts';
import { runFault, UnnamedSystems, type RunColumns } from './run-rows.ts';
import { approverDocuments } from '../tenants/documents.ts';
import { tenantCheck } from '../tenants/rows.ts';
import type { Value } from '../../file/connection.ts';

interface Row {
  readonly idx: number;
  readonly record: string;
  readonly disclosures: string | null;
  readonly erased: string | null;
  readonly keys: string | null;
  /** The keys that seal it are destroyed or missing. */
  readonly isGone?: true;
}

interface RunEventRow extends RunColumns {
  readonly idx: number;
  readonly name: string | null;
  readonly at_ms: number;
}

export interface EventCheck {
  /** Called with each record in index order. */
  visit(row: Row): void;
  /** Called for each missing record that may be pruned. */
  pruned(): void;
  finish(): void;
}

const parts = [
  decidedCheck,
  snapshotCheck,
  approvalCheck,
  replayCheck,
  proofCheck,
  graphCheck,
  policyCheck,
  pruneCheck,
  approverDocuments,
];

/** Reports a problem of the leaf at hand. */
type Problem = (kind: FsckKind, expected: string, got: string) => void;

/** `prunedBelow`: below this index events may be missing. */
export function eventCheck(check: Check, project: CheckedProject, prunedBelow: number): EventCheck {
  const others = parts.map((part) => part(check, project));
  const tenants = tenantCheck(check, project);
  const places = placeCheck(check, project, prunedBelow);
  let newest = '';
  let newestIndex = -1;
  let events = 0;
  let read = 0;
  const erasures = erasureCheck(check, project, prunedBelow);
  const erasedKeys = erasedKeyCheck(check, project);
  const kept = systemCheck(check, project);
  const beside = besideCheck(check, project, prunedBelow);
  const visit = (row: Row): void => {
    const { idx, record, disclosures } = row;
    const problem: Problem = (kind, expected, got) =>
      check.problem(`${project.projectId}/audit/${idx}`, kind, { expected, got });
    const parsed = parseRecord(record);
    if (parsed === null)
      return problem('record_malformed', 'a record in canonical JSON', record.slice(0, 64));
    if (idx >= prunedBelow) read += 1;
    erasures.body(idx, parsed._sd, row);
    if (parsed.type !== 'gov.event/1') {
      const committed = committedBy({ idx, record, disclosures });
      for (const part of [...others, erasures, erasedKeys])
        part.visit(idx, parsed as unknown as JsonObject, committed);
      return;
    }
    events += 1;
    newestIndex = idx;
    tenants.visit({ idx, record, disclosures }, parsed as EventRecord);
    kept.visit(parsed as EventRecord);
    beside.visit(row);
    const { eventId, serverTimestamp } = parsed;
    if (eventIndex(eventId) !== idx) problem('event_id_mismatch', `an event id of leaf ${idx}`, eventId);
    if (serverTimestamp < newest) problem('server_time_backwards', `${newest} or later`, serverTimestamp);
    else newest = serverTimestamp;
    places.visit(idx, parsed as EventRecord, problem);
  };
  const finish = (): void => {
    for (const part of [...others, erasedKeys]) part.finish();
    tenants.finish();
    places.finish();
    kept.finish();
    beside.finish(project.auditSize - prunedBelow - read);
    checkLastTime(check, project, { index: newestIndex, serverTimestamp: newest });
    const rows = check.db
      .prepare<Value[], number>('SELECT count(*) FROM run_event WHERE project = ? AND idx < ?')
      .pluck()
      .get(project.no, project.auditSize);
    if (rows === events) return;
    const expected = `${events} rows, one for each event`;
    check.problem(`${project.projectId}/run_event`, 'run_mismatch', { expected, got: `${rows ?? 0}` });
  };
  const pruned = (): void => {
    // its row in the run shows that it was an event
    events += 1;
  };
  return { visit, pruned, finish };
}

/** The next entry gets no earlier time than the head has: a head that is ahead would move all times of the log. */
function checkLastTime(
  { db, problem }: Check,
  { no, projectId, auditSize }: CheckedProject,
  { index, serverTimestamp }: { readonly index: number; readonly serverTimestamp: string },
): void {
  const newestMs = parseTimestamp(serverTimestamp);
  const lastMs = db
    .prepare<Value[], number>('SELECT last_ms FROM head WHERE project = ? AND tree = 0 AND size = ?')
    .pluck()
    .get(no, auditSize);
  // an entry was appended during the check, or the log has no event
  if (lastMs === undefined || newestMs === null) return;
  // other leaves state no time, or an earlier one
  const isRight = index === auditSize - 1 ? lastMs === newestMs : lastMs >= newestMs;
  if (isRight) return;
  const expected = `the time of the newest event, ${serverTimestamp}`;
  problem(`${projectId}/audit/head`, 'counter_mismatch', { expected, got: formatTimestamp(lastMs) });
}

/** Compares each event with its row, and each run with its events. */
function placeCheck(check: Check, { no, projectId, auditSize }: CheckedProject, prunedBelow: number) {
  const place = check.db.prepare<Value[], RunEventRow>(
    `SELECT e.idx, t.name, e.at_ms, run.* FROM run
     JOIN run_event e ON e.project = run.project AND e.run_no = run.run_no AND e.run_seq = ?
     LEFT JOIN event_type t ON t.type_no = e.type_no AND t.project = e.project
     WHERE run.project = ? AND run.run_id = ?`,
  );
  const unnamed = new UnnamedSystems();
  const visit = (idx: number, event: EventRecord, problem: Problem): void => {
    const { runId, runSeq, eventType, timestamp } = event;
    const placed = place.get(runSeq, no, runId);
    const expected = `event ${runSeq} of run ${runId}, a ${eventType} at ${timestamp}`;
    if (placed === undefined) problem('run_mismatch', expected, 'no such row');
    else if (placed.idx !== idx) problem('run_mismatch', expected, `a row for leaf ${placed.idx}`);
    else if (placed.name !== eventType || placed.at_ms !== parseTimestamp(timestamp)) {
      problem('run_mismatch', expected, `a ${placed.name ?? 'row of unknown type'} at ${placed.at_ms} ms`);
    } else {
      const isUnnamed = unnamed.visit(event, idx, placed, idx < prunedBelow);
      const fault = runFault(event, idx, placed, isUnnamed);
      if (fault !== null) check.problem(`${projectId}/run/${runId}`, 'run_mismatch', fault);
    }
  };
  const finish = (): void => {
    for (const { runId, system } of unnamed.rest(auditSize))
      check.problem(`${projectId}/run/${runId}`, 'run_mismatch', {
        expected: 'ai_system_id null',
        got: `ai_system_id ${system}`,
      });
  };
  return { visit, finish };
}

/** The service's own events are never pruned, so each row of their run must have a record. */
function systemCheck({ db, problem }: Check, { no, projectId, auditSize }: CheckedProject) {
  let seen = 0;
  const visit = ({ runId }: EventRecord): void => {
    if (runId === systemRun) seen += 1;
  };
  const finish = (): void => {
    const rows = db
      .prepare<Value[], number>(
        `SELECT count(*) FROM run JOIN run_event e ON e.project = run.project AND e.run_no = run.run_no
         WHERE run.project = ? AND run.run_id = ? AND e.idx < ?`,
      )
      .pluck()
      .get(no, systemRun, auditSize);
    if (rows === seen) return;
    problem(`${projectId}/run/${systemRun}`, 'run_mismatch', {
      expected: `${rows ?? 0} events`,
      got: `${seen}`,
    });
  };
  return { visit, finish };
}
