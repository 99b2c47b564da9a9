/**
 * The items of a list whose items are leaves, from the tables: the caller compares their root with the map. Proven by
 * `test/service/completeness/attack.test.ts`.
 */
import type { MapKey } from '../../core/completeness/map.ts';
import type { IndexedLeaf, Leaf } from '../../store/port/store.ts';
import type { TaskContext } from '../call/work.ts';

export interface ListItems {
  /** Leaf hashes, 32 bytes each. */
  readonly hashes: Buffer;
  readonly indexes: readonly number[];
}

const leavesAtOnce = 500;

/** Memory: about 40 bytes an item. */
export async function listItems(
  context: TaskContext,
  projectId: string,
  { key, below }: { readonly key: MapKey; readonly below: number },
): Promise<ListItems> {
  const hashes: Buffer[] = [];
  const indexes: number[] = [];
  for (;;) {
    const leaves = await pageOf(context, projectId, {
      key,
      below,
      count: indexes.length,
      after: indexes.at(-1) ?? -1,
    });
    hashes.push(Buffer.concat(leaves.map(({ hash }) => hash)));
    for (const { index } of leaves) indexes.push(index);
    if (leaves.length < leavesAtOnce) return { hashes: Buffer.concat(hashes), indexes };
    await context.breathe();
  }
}

function pageOf(
  { reader }: TaskContext,
  projectId: string,
  of: { key: MapKey; below: number; count: number; after: number },
): Promise<Leaf[]> {
  const [kind, name = '', runId = ''] = of.key;
  if (kind === 'run') {
    const range = { fromSeq: of.count, beforeIndex: of.below, limit: leavesAtOnce, bodies: false };
    return reader.runLeaves(projectId, name, range);
  }
  // the keys of a proof's lists name indexed types
  const filter = { type: name as IndexedLeaf, runId, beforeIndex: of.below };
  return reader.leavesOf(projectId, filter, { after: of.after, limit: leavesAtOnce, order: 'asc' });
}
