/**
 * The error for a pruned leaf, whose event is in an archive.
 * Proven by `test/store/suite/log/prunes.ts`.
 */
import { GovError } from '../../contract/problems.ts';

/** NOT_FOUND with the index below which events were pruned. */
export const pruned = (index: number, below: number): GovError =>
  new GovError(
    'NOT_FOUND',
    `expected leaf ${below} or later, got leaf ${index}, which was pruned; earlier events are in an archive (gov log prune)`,
    { extensions: { prunedBelow: below } },
  );
