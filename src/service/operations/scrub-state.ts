/**
 * The state of the scrub of one project, kept as a document, so that a restart continues where the process ended.
 * Proven by `test/service/operations/scrub.test.ts`.
 */
import type { TreeName } from '../../store/port/store.ts';

/** The kind and id of the document. */
export const scrubKind = 'scrub';
export const scrubId = 'scrub';

export interface ScrubFinding {
  readonly tree: TreeName;
  /** Leaf; for a root, the size of the tree. */
  readonly index: number;
  readonly detail: string;
  readonly atMs: number;
}

/** The part of a log that a pass reads: the leaves below a signed checkpoint. */
export interface ScrubPass {
  readonly tree: TreeName;
  readonly size: number;
  /** Base64; what the leaves must hash to. */
  readonly root: string;
  /** The next leaf. */
  readonly from: number;
  /** Base64 hashes of the compact tree of the leaves below `from`; null after leaves whose hash is lost. */
  readonly peaks: readonly string[] | null;
}

export interface ScrubState {
  readonly startedMs: number;
  /** Null between two passes. */
  readonly reading: ScrubPass | null;
  /** Leaves that this pass has read in complete logs. */
  readonly leaves: number;
  /** How many places this pass found altered, and the first of them. */
  readonly found: number;
  readonly findings: readonly ScrubFinding[];
  readonly last: {
    readonly startedMs: number;
    readonly completedMs: number;
    readonly leaves: number;
    readonly found: number;
  } | null;
}

/** A project that was never read. */
export const unread: ScrubState = {
  startedMs: 0,
  reading: null,
  leaves: 0,
  found: 0,
  findings: [],
  last: null,
};

/** Reads the data of a document, which a process of this installation wrote. */
export const readScrub = (data: string): ScrubState => JSON.parse(data) as ScrubState;
