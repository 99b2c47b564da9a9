/**
 * Deletes the rows of pruned events. A crash before COMMIT leaves all of them; a crash after it leaves none.
 * Proven by `test/store/sqlite/upkeep/rewrite.long.test.ts` and `test/store/sqlite/suite.alone.test.ts`.
 */
import { prunableSql } from '../../../core/decided/prune.ts';
import { comparesSql } from '../../erasure/withdrawn.ts';
import { positionOf } from '../../file/position.ts';
import type { Prepare } from '../../file/statement.ts';
import { dropClientEvents, dropSubjects } from '../../write/bodies.ts';
import { runner } from './writing.ts';

/** Deletes the events of [from, to). The triggers require that a gov.prune/1 leaf covers them. */
export type PruneDropper = (project: number, range: { readonly from: number; readonly to: number }) => void;

export function prunedDropper(prepare: Prepare): PruneDropper {
  const range = 'position >= ? AND position < ?';
  const bodies = prepare(
    'drop pruned bodies',
    `DELETE FROM body WHERE ${range}
       AND EXISTS (SELECT 1 FROM leaf WHERE leaf.position = body.position AND ${prunableSql('leaf.record')})`,
  );
  const leaves = prepare(
    'drop pruned leaves',
    `DELETE FROM leaf WHERE ${range} AND ${prunableSql('record')}`,
  );
  const run = runner(prepare);
  const within = 'FROM run WHERE run.project = ? AND first_index < ? AND last_index >= ?';
  const newest = `(SELECT '{"erasedBy":' || max(leaf_index) || '}' FROM prune WHERE project = ?)`;
  const results = prepare(
    'withdraw results of pruned runs',
    // includes results that an erasure withdrew: the leaf that they name is pruned and shows nothing any more
    `UPDATE job SET result = ${newest} WHERE project = ? AND type = 'replay' AND status = 'completed' AND result <> ${newest}
       AND (run_id IN (SELECT run_id ${within}) OR (${comparesSql} AND EXISTS (SELECT 1 ${within}
         AND instr(job.request, '{"compareRunId":' || json_quote(run.run_id)) = 1)))`,
  );
  return (project, { from, to }) => {
    const runs = [project, to, from];
    results.run(project, project, project, ...runs, ...runs);
    const places = [positionOf(project, from), positionOf(project, to)];
    bodies.run(...places);
    leaves.run(...places);
    run(project, dropClientEvents, { from, to });
    run(project, dropSubjects, { from, to });
  };
}
