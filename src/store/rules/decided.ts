/**
 * The leaf types that `decided` indexes by run and id, so that a decision is found without a scan.
 * The store writes its rows with their leaves. `read/decided.ts` of each engine reads them;
 * `src/store/fsck/decided/rows.ts` checks them.
 * Proven by `test/store/suite/log/decided.ts`.
 */
import type { IndexedLeaf } from '../port/store.ts';

/** Numbers in `decided.type`. No other type ever gets a used number. */
export const typeNumbers: Readonly<Record<IndexedLeaf, number>> = {
  'gov.evaluation/1': 1,
  'gov.decision/1': 2,
  'gov.approval/1': 3,
  'gov.snapshot/1': 4,
  'gov.replay/1': 5,
  'gov.policy/1': 6,
  'gov.config/1': 7,
  'gov.erasure/1': 8,
  'gov.prune/1': 9,
  'gov.key/1': 10,
  'gov.index/1': 11,
  'gov.use/1': 12,
  'gov.approver/1': 13,
  'gov.loss/1': 14,
};

export const isIndexed = (type: string): type is IndexedLeaf => Object.hasOwn(typeNumbers, type);

/** The number of a leaf type; null if its leaves are not indexed. */
export const typeNumber = (type: string): number | null => (isIndexed(type) ? typeNumbers[type] : null);
