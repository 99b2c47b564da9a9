/**
 * Writes of an erasure and of a pruning. The bodies themselves differ: SQLite overwrites what it frees.
 * Proven by `test/store/suite/governance/erasures.ts` and `test/store/suite/log/prunes.ts`.
 */
import { write } from './statement.ts';

export const dropClientEvent = write<{ readonly clientEventId: string; readonly index: number }>(
  'drop client event',
  'DELETE FROM client_event WHERE project = :project AND client_event_id = :clientEventId AND idx = :index',
);

export const dropSubject = write<{ readonly subject: string; readonly index: number }>(
  'drop subject',
  'DELETE FROM subject WHERE project = :project AND subject = :subject AND idx = :index',
);

interface PruneRow {
  readonly leaf: number;
  readonly minIndex: number;
  readonly root: Uint8Array;
}
export const savePrune = write<PruneRow>(
  'save prune',
  'INSERT INTO prune (project, leaf_index, min_index, root) VALUES (:project, :leaf, :minIndex, :root)',
);

/** Indexes [from, to). */
interface LeafRange {
  readonly from: number;
  readonly to: number;
}
const inRange = 'WHERE project = :project AND idx >= :from::int8 AND idx < :to::int8';
export const dropClientEvents = write<LeafRange>(
  'drop pruned client events',
  `DELETE FROM client_event ${inRange}`,
);
export const dropSubjects = write<LeafRange>('drop pruned subjects', `DELETE FROM subject ${inRange}`);
