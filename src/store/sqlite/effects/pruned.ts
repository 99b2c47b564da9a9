/** Events that were pruned: below which index, and the rows that go with them. */
import { prunableSql } from '../../../core/decided/prune.ts';
import { comparesSql } from '../../erasure/withdrawn.ts';
import type { Connection, Value } from '../file/connection.ts';
import { positionOf } from '../read/position.ts';
import type { Prepare } from '../file/statement.ts';

/** The index below which events of a project were pruned, or NULL. */
export const floorSql = 'SELECT max(min_index) AS below FROM prune WHERE project = ?';

/** By project number; 0 where nothing was pruned. */
export function floorReader(db: Connection): (project: number) => number {
  const select = db.prepare<Value[], number | null>(floorSql).pluck();
  return (project) => select.get(project) ?? 0;
}

/** Drops the events of [from, to), which a gov.prune/1 leaf covers: the triggers see to that. */
export type DropPruned = (project: number, range: { readonly from: number; readonly to: number }) => void;

export function prunedDropper(prepare: Prepare): DropPruned {
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
  const clients = prepare(
    'drop pruned client events',
    'DELETE FROM client_event WHERE project = ? AND idx >= ? AND idx < ?',
  );
  const subjects = prepare(
    'drop pruned subjects',
    'DELETE FROM subject WHERE project = ? AND idx >= ? AND idx < ?',
  );
  const within = 'FROM run WHERE run.project = ? AND first_index < ? AND last_index >= ?';
  const newest = `(SELECT '{"erasedBy":' || max(leaf_index) || '}' FROM prune WHERE project = ?)`;
  const results = prepare(
    'withdraw results of pruned runs',
    // those that an erasure withdrew too: what it names is gone, and shows nothing any more
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
    clients.run(project, from, to);
    subjects.run(project, from, to);
  };
}
