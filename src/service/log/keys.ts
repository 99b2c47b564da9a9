/**
 * The key history of a log, from its leaves (`src/core/note/key-history.ts`). Proven by
 * `test/plane/keys/rotate.test.ts` and `test/host/witness/lacked-head.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { KeyHistory } from '../../core/note/key-history.ts';
import type { StoreReader } from '../../store/port/store.ts';

/** Key changes read at a time; a log has at most one for each key. */
const pageLeaves = 100;

/** STORAGE_FAULT where the leaves contradict each other. Cost: two reads. */
export async function logKeys(
  store: Pick<StoreReader, 'leaf' | 'leavesOf'>,
  projectId: string,
): Promise<KeyHistory> {
  try {
    const genesis = await store.leaf(projectId, 0);
    const history = new KeyHistory(genesis?.record ?? '{}');
    for (const { index, record } of await keyChanges(store, projectId)) history.read(index, record);
    return history;
  } catch (cause) {
    if (!(cause instanceof GovError) || cause.code === 'STORAGE_FAULT') throw cause;
    throw new GovError('STORAGE_FAULT', `${cause.message}; check the log with gov log fsck`, { cause });
  }
}

/** The leaves that changed keys, oldest first. Cost: one read. */
export const keyChanges = (
  store: Pick<StoreReader, 'leavesOf'>,
  projectId: string,
): ReturnType<StoreReader['leavesOf']> =>
  store.leavesOf(projectId, { type: 'gov.key/1' }, { limit: pageLeaves, order: 'asc' });
