/** Whether the keys of a plane are those that its log began with. Proven by `test/plane/init.test.ts`. */
import { GovError } from '../src/contract/problems.ts';
import { keyName } from '../src/host/keys.ts';
import type { StoreReader } from '../src/store/port.ts';

/**
 * Refuses to serve a log whose first leaf pins other keys than these: a checkpoint signed with them would verify
 * nowhere. STORAGE_FAULT, naming each key that is missing and each that is not pinned.
 */
export async function refuseForeignKeys(
  store: Pick<StoreReader, 'leaf'>,
  projectId: string,
  verifierKeys: readonly string[],
): Promise<void> {
  const leaf = await store.leaf(projectId, 0);
  const pinned = leaf === null ? [] : pinnedKeys(leaf.record);
  const missing = pinned.filter((key) => !verifierKeys.includes(key));
  const foreign = verifierKeys.filter((key) => !pinned.includes(key));
  if (missing.length === 0 && foreign.length === 0) return;
  throw new GovError(
    'STORAGE_FAULT',
    `expected the keys that the first leaf of the log pins, but ${missing.map(keyName).join(' and ') || 'none'} ` +
      `is missing and ${foreign.map(keyName).join(' and ') || 'none'} came instead; ` +
      'restore keys/ of this very data directory from a backup',
  );
}

function pinnedKeys(record: string): readonly string[] {
  const { keys, type } = JSON.parse(record) as { keys?: unknown; type?: unknown };
  const isGenesis = type === 'gov.genesis/1' && Array.isArray(keys);
  return isGenesis ? keys.filter((key) => typeof key === 'string') : [];
}
