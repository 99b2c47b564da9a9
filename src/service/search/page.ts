/**
 * One page of a search, with the cursor of the next. Proven by `test/service/search/handlers.engines.test.ts` and
 * `test/service/policies/evaluation-list.engines.test.ts`.
 */
import type { SearchQuery } from '../../core/search/terms.ts';
import type { Leaf } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';
import { walk } from './walk.ts';

interface SearchRequest<Item> {
  readonly projectId: string;
  /** The name of the list, which binds its cursors. */
  readonly list: string;
  readonly cursor: string | undefined;
  readonly limit: number;
  readonly wanted: SearchQuery;
  /** Returns what the page shows of a leaf that matches; null for nothing. */
  readonly open: (leaf: Leaf) => Promise<Item | null>;
}

/** INVALID_CURSOR. */
export async function searchPage<Item>(
  { store, cursors, slices, searchKey, searchIndexer }: Services,
  { projectId, list, cursor, limit, wanted, open }: SearchRequest<Item>,
): Promise<{ items: Item[]; nextCursor: string | null }> {
  const scope = { list, projectId, filters: { ...wanted.search } };
  const opened = cursor === undefined ? undefined : cursors.open(scope, cursor);
  const { size } = await store.head(projectId, 'audit');
  // a log that nothing is added to gets its index too, such as after a migration that dropped it
  searchIndexer.grown(projectId, size);
  const { items, before } = await walk({
    store,
    projectId,
    key: searchKey,
    wanted,
    open,
    slice: slices.of(projectId),
    before: typeof opened === 'number' ? opened : size,
    limit,
  });
  return { items, nextCursor: before === null ? null : cursors.seal(scope, before) };
}
