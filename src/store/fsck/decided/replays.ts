/**
 * `fsck`: compares the results of replays, which jobs contain, with the gov.replay/1 leaves that commit to
 * them.
 * Proven by `test/store/fsck/tamper-governed.test.ts`.
 */
import { openReplay } from '../../../core/decided/replay.ts';
import { sha256Text } from '../../../core/hash.ts';
import type { JsonObject } from '../../../core/json/parse.ts';
import { withdrawnBy } from '../../../core/replay/withdrawn.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import { columnCheck, type Columns } from '../columns.ts';
import { shown, type CommittedReader, type RecordCheck } from '../record.ts';
import type { Value } from '../../file/connection.ts';
import { typeNumbers } from '../../rules/decided.ts';
import { positionOf } from '../../file/position.ts';

/** Reads one result at a time. Cost: a SHA-256 of each. */
export function replayCheck(check: Check, { no, projectId }: CheckedProject): RecordCheck {
  const { db, problem } = check;
  const compare = columnCheck(check, 'replay_mismatch');
  const find = db.prepare<Value[], Columns>(
    'SELECT type, run_id, status, completed_ms, summary, result FROM job WHERE project = ? AND result_id = ?',
  );
  const erasure = db.prepare<Value[], unknown>(
    `SELECT 1 FROM leaf WHERE position = ? AND (record LIKE '%"type":"gov.erasure/1"%' OR record LIKE '%"type":"gov.prune/1"%')`,
  );
  const visit = (index: number, record: JsonObject, committed: CommittedReader): void => {
    if (record['type'] !== 'gov.replay/1') return;
    const id = shown(record['replayId']);
    const row = find.get(no, id);
    const result = row?.['result'];
    const hashed =
      row === undefined
        ? undefined
        : { ...row, result: typeof result === 'string' ? sha256Text(result) : null };
    const { result: logged, ...others } = loggedOf(index, record, committed);
    const by = typeof result === 'string' ? withdrawnBy(result) : null;
    const isWithdrawn = by !== null && erasure.get(positionOf(no, by)) !== undefined;
    const expected = isWithdrawn || logged === undefined ? others : { ...others, result: logged };
    compare(`${projectId}/replay/${id}`, hashed, expected);
  };
  const finish = (): void => {
    const rows = db
      .prepare<Value[], { job_id: string; result_id: string | null }>(
        `SELECT job_id, result_id FROM job j
         WHERE project = ? AND status = 'completed' AND (type = 'replay' OR (type <> 'export' AND result_id IS NOT NULL))
           AND NOT EXISTS (SELECT 1 FROM decided d WHERE d.project = j.project AND d.id = j.result_id
             AND d.type = ${typeNumbers['gov.replay/1']})`,
      )
      .all(no);
    for (const { job_id: jobId, result_id: id } of rows) {
      const what = { expected: `the gov.replay/1 leaf of ${id ?? 'its result'}`, got: 'none' };
      problem(`${projectId}/job/${jobId}`, 'replay_mismatch', what);
    }
  };
  return { visit, finish };
}

/** The record may be altered, which is reported elsewhere: its members may have any type. */
function loggedOf(index: number, clear: JsonObject, committed: CommittedReader): Columns {
  const { runId, at, steps, warnings, driftCount, result } = openReplay({
    index,
    clear,
    committed: committed(),
  });
  return {
    type: 'replay',
    run_id: shown(runId),
    status: 'completed',
    completed_ms: parseTimestamp(shown(at)),
    summary: JSON.stringify({ steps, warnings, drift: driftCount }),
    ...(result === null ? {} : { result }),
  };
}
