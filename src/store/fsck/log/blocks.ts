/**
 * `fsck`: compares the summaries of full blocks with the event rows of their runs.
 * Proven by `test/store/fsck/run.test.ts`.
 */
import { allTypes, blockEvents, blockOf } from '../../append/blocks.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import type { Value } from '../../file/connection.ts';

interface Summary {
  readonly type_no: number;
  readonly events: number;
  readonly first_ms: number;
  readonly last_ms: number;
}

/** Cost: 0.2 ms a block. */
export function checkBlocks({ db, problem }: Check, { no, projectId }: CheckedProject): void {
  const runs = db.prepare<Value[], { run_no: number; events: number }>(
    `SELECT run_no, events FROM run WHERE project = ? AND events >= ${blockEvents}`,
  );
  const kept = db.prepare<Value[], Summary>(
    `SELECT type_no, events, first_ms, last_ms FROM run_block WHERE project = ? AND run_no = ? AND block = ?
     ORDER BY type_no`,
  );
  const found = db.prepare<Value[], Summary>(
    `SELECT type_no, count(*) AS events, min(at_ms) AS first_ms, max(at_ms) AS last_ms FROM run_event
     WHERE project = ? AND run_no = ? AND run_seq >= ? AND run_seq < ? GROUP BY type_no ORDER BY type_no`,
  );
  let rows = 0;
  for (const { run_no: run, events } of runs.all(no)) {
    for (let block = 0; block < blockOf(events); block += 1) {
      const said = kept.all(no, run, block);
      rows += said.length;
      const got = textOf(said);
      const byType = found.all(no, run, block * blockEvents, (block + 1) * blockEvents);
      const expected = textOf([ofAll(byType), ...byType]);
      if (got !== expected)
        problem(`${projectId}/run_block/${run}/${block}`, 'counter_mismatch', { expected, got });
    }
  }
  const all = db.prepare<Value[], number>('SELECT count(*) FROM run_block WHERE project = ?').pluck().get(no);
  if (all === rows) return;
  const expected = `${rows} rows of full blocks`;
  problem(`${projectId}/run_block`, 'counter_mismatch', { expected, got: `${all ?? 0}` });
}

const ofAll = (summaries: readonly Summary[]): Summary => ({
  type_no: allTypes,
  events: blockEvents,
  first_ms: Math.min(...summaries.map(({ first_ms: from }) => from)),
  last_ms: Math.max(...summaries.map(({ last_ms: to }) => to)),
});

/** `type: events from to` of each type. */
const textOf = (summaries: readonly Summary[]): string =>
  summaries
    .map(({ type_no: type, events, first_ms: from, last_ms: to }) => `${type}: ${events} ${from} ${to}`)
    .join(', ') || 'none';
