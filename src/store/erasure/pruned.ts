/** Leaves that were pruned: they stand in an archive. */
import { GovError } from '../../contract/problems.ts';

/** NOT_FOUND with the index below which events were pruned. */
export const pruned = (index: number, below: number): GovError =>
  new GovError(
    'NOT_FOUND',
    `leaf ${index} was pruned: events below leaf ${below} stand in an archive (gov log prune), and no longer here`,
    { extensions: { prunedBelow: below } },
  );
