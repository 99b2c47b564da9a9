/**
 * The history of the keys of a log, out of its leaves (`src/core/note/key-history.ts`).
 * Proven by `test/plane/keys/rotate.test.ts` and `test/host/witness/lacked-head.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { KeyHistory } from '../../core/note/key-history.ts';
import type { StoreReader } from '../../store/port/store.ts';

/** Changes of keys read at a time; there are at most as many as keys. */
const pageLeaves = 100;

/** STORAGE_FAULT where the leaves do not hold together. Cost: two reads. */
export async function logKeys(
  store: Pick<StoreReader, 'leaf' | 'leavesOf'>,
  projectId: string,
): Promise<KeyHistory> {
  try {
    const genesis = await store.leaf(projectId, 0);
    const history = new KeyHistory(genesis?.record ?? '{}');
    const page = { limit: pageLeaves, order: 'asc' } as const;
    for (const { index, record } of await store.leavesOf(projectId, { type: 'gov.key/1' }, page)) {
      history.read(index, record);
    }
    return history;
  } catch (cause) {
    if (!(cause instanceof GovError) || cause.code === 'STORAGE_FAULT') throw cause;
    throw new GovError('STORAGE_FAULT', `${cause.message}; check the log with gov log fsck`, { cause });
  }
}
