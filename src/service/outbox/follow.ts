/**
 * Follows the log of a project from a cursor, which is a document: each step reads the next leaves, lets the caller
 * make documents of them, and saves those together with the cursor. A crash before the save repeats the step; two
 * processes that take the same step save it once.
 * Proven by `test/service/outbox/follow.test.ts`.
 */
import type { DocumentChange, Leaf, Store, StoredDocument } from '../../store/port/store.ts';

/** Leaves that one step reads. */
const leavesAtOnce = 200;

export interface Following {
  readonly store: Store;
  readonly cursor: StoredDocument;
  /**
   * Returns what to save with the cursor. May also send the leaves somewhere first; they are then sent at least once.
   * Throws to leave the cursor where it is.
   */
  readonly take: (leaves: readonly Leaf[]) => Promise<readonly DocumentChange[]>;
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
 * the step. Pruned leaves are skipped. Cost: a read of 200 leaves and a save.
 */
export async function follow({ store, cursor, take }: Following): Promise<StoredDocument | null | 'lost'> {
  const { projectId } = cursor;
  const [{ size }, pruned] = await Promise.all([
    store.head(projectId, 'audit'),
    store.prunedBelow(projectId),
  ]);
  const from = Math.max(positionOf(cursor), pruned);
  const to = Math.min(size, from + leavesAtOnce);
  if (from >= to) return null;
  const changes = await take(await store.leaves(projectId, 'audit', { from, to }));
  const data = JSON.stringify({ ...(JSON.parse(cursor.data) as Position), next: to });
  const { projectId: _, ...saved } = { ...cursor, data };
  const outcome = await store.saveDocuments(projectId, [{ save: saved }, ...changes]);
  return outcome === 'saved' ? { ...cursor, data, version: cursor.version + 1 } : 'lost';
}
