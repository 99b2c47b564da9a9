import { expect, it, vi } from 'vitest';
import { blockLeaves } from '../../../src/core/search/places.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import type { TaskRunner } from '../../../src/service/call/work.ts';
import { SearchIndexer } from '../../../src/service/indexes/search.ts';
import type { Store } from '../../../src/store/port/store.ts';

it('a search index that cannot be extended is logged with its project, and tried again a block later', async () => {
  const fault = new Error('the disk is gone');
  const termHead = vi.fn(() => Promise.reject(fault));
  const error = vi.fn();
  const indexer = new SearchIndexer({
    store: { termHead } as unknown as Store, // it calls nothing else before it fails
    work: {} as TaskRunner,
    log: { ...silentLog, error },
    key: new Uint8Array(32),
  });
  indexer.grown('prj_1', blockLeaves);
  const line = [{ err: fault, projectId: 'prj_1' }, 'the search index could not be extended'];
  await vi.waitFor(() => expect(error.mock.calls).toEqual([line]), 20_000);
  indexer.grown('prj_1', 2 * blockLeaves - 1);
  expect(termHead).toHaveBeenCalledTimes(1);
  await vi.waitFor(() => {
    indexer.grown('prj_1', 2 * blockLeaves);
    expect(error.mock.calls).toEqual([line, line]);
  }, 20_000);
  indexer.stop();
});
