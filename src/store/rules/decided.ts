/**
 * The leaf types that `decided` indexes by run and id, so that what was decided is found without a scan. Its
 * rows are written with their leaves, read by `read/decided.ts` of each engine, checked by `src/store/fsck/decided/rows.ts`.
 */
import type { IndexedLeaf } from '../port/store.ts';

/** Numbers in `decided.type`; a number is never given to another type. */
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
};

export const isIndexed = (type: string): type is IndexedLeaf => Object.hasOwn(typeNumbers, type);

/** The number of a leaf type, null where its leaves are not indexed. */
export const typeNumber = (type: string): number | null => (isIndexed(type) ? typeNumbers[type] : null);
