/**
 * Follows the log of a project from a cursor, which is a document: each step reads the next leaves, lets the caller
 * make documents of them, and saves those together with the cursor. A crash before the save repeats the step; two
 * processes that take the same step save it once.
 * Proven by `test/service/outbox/follow.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { DocumentChange, Leaf, Store, StoredDocument } from '../../store/port/store.ts';

/** Leaves that one step reads. */
const leavesAtOnce = 200;

export interface FollowInput {
  readonly store: Store;
  readonly cursor: StoredDocument;
  /** False reads no bodies, which costs less for a reader of few leaves. */
  readonly bodies?: false;
  /** How many of the leaves, at least one, to take now; absent: all. Bounds what is saved at once. */
  readonly fits?: (leaves: readonly Leaf[]) => number;
  /** Called for a leaf that differs from the logged one. The cursor goes past it, once a step was saved. */
  readonly skipped?: (error: GovError) => void;
  /**
   * Gets no leaves where the next one is skipped. Returns what to save with the cursor, or null to move on without a save: after a crash these leaves are taken again.
   * May also send the leaves somewhere first; they are then sent at least once. Throws to leave the cursor where it is.
   */
  readonly take: (leaves: readonly Leaf[]) => Promise<readonly DocumentChange[] | null>;
}

/** What a cursor stores: the first leaf that was not taken. */
interface Position {
  readonly next: number;
}

/** A new cursor that starts at a leaf. */
export const newCursor = (
  kind: string,
  documentId: string,
  { next, nowMs }: { readonly next: number; readonly nowMs: number },
): DocumentChange => ({
  save: {
    kind,
    documentId,
    key: null,
    parentId: null,
    status: 'following',
    createdMs: nowMs,
    dueMs: null,
    version: 0,
    data: JSON.stringify({ next } satisfies Position),
  },
});

/** The first leaf that a cursor has not taken. */
export const positionOf = (cursor: StoredDocument): number => (JSON.parse(cursor.data) as Position).next;

/**
 * Takes one step. Returns the cursor after it, `null` at the end of the log, and `lost` where another process took
 * the step. Pruned and altered leaves are skipped. Cost: a read of 200 leaves and a save.
 */
export async function follow(following: FollowInput): Promise<StoredDocument | null | 'lost'> {
  const { store, cursor, take, fits } = following;
  const { projectId } = cursor;
  const [{ size }, pruned] = await Promise.all([
    store.head(projectId, 'audit'),
    store.prunedBelow(projectId),
  ]);
  const from = Math.max(positionOf(cursor), pruned);
  const most = Math.min(size, from + leavesAtOnce);
  if (from >= most) return null;
  const read = await readable(following, from, most);
  const leaves = fits === undefined || read.length === 0 ? read : read.slice(0, fits(read));
  const to = from + Math.max(1, leaves.length);
  const changes = await take(leaves);
  const data = JSON.stringify({ ...(JSON.parse(cursor.data) as Position), next: to });
  if (changes === null) return { ...cursor, data };
  const { projectId: _, ...saved } = { ...cursor, data };
  const outcome = await store.saveDocuments(projectId, [{ save: saved }, ...changes]);
  return outcome === 'saved' ? { ...cursor, data, version: cursor.version + 1 } : 'lost';
}

/** The leaves before the first altered one. Empty where that is the next one. */
async function readable(following: FollowInput, from: number, to: number): Promise<Leaf[]> {
  const { store, cursor, bodies, skipped } = following;
  if (from === to) return [];
  try {
    const range = { from, to, ...(bodies === undefined ? {} : { bodies }) };
    return await store.leaves(cursor.projectId, 'audit', range);
  } catch (error) {
    const at = isAltered(error) ? Number(error.extensions['index']) : -1;
    if (skipped === undefined || !isAltered(error) || at < from || at >= to) throw error;
    if (at === from) skipped(error);
    return readable(following, from, at);
  }
}

/** Whether an error reports a stored leaf that differs from the logged one. */
export const isAltered = (error: unknown): error is GovError =>
  error instanceof GovError && error.code === 'STORAGE_FAULT' && 'index' in error.extensions;
