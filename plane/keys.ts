/**
 * The keys of a plane, held to what its log says of them: the first leaf pins the keys that it began with, `gov.key/1`
 * leaves add and retire keys (`core/keyhistory.ts`). The log decides, the files follow: a crash between a leaf and the
 * files leaves files in `keys/next` or `keys/` that the next start puts where they belong.
 * Proven by `test/plane/init.test.ts` and `test/plane/rotate.test.ts`.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { GovError } from '../src/contract/problems.ts';
import { ed25519Signer, formatTrust, mlDsa44Signer, parseTrust } from '../src/core/checkpoint.ts';
import { KeyHistory } from '../src/core/keyhistory.ts';
import { verifierKeyText } from '../src/core/notekey.ts';
import type { PlaneConfig } from '../src/host/config.ts';
import { replacePrivate, syncDirectory } from '../src/host/files.ts';
import { type HostKeys, keyName, logKeyFiles, readKeys, readPrivateKey } from '../src/host/keys.ts';
import type { StoreReader } from '../src/store/port.ts';

/** Changes of keys read at a time; there are at most as many as keys. */
const pageLeaves = 100;

/** The history of the log's keys; STORAGE_FAULT where its leaves do not hold together. */
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

/**
 * The keys of a plane as its log has them, with files put in order. STORAGE_FAULT where a key is missing or another
 * one came, FORBIDDEN where others may read one.
 */
export async function planeKeys(
  store: Pick<StoreReader, 'leaf' | 'leavesOf'>,
  { dataDir, projectId, origin }: Pick<PlaneConfig, 'dataDir' | 'projectId' | 'origin'>,
): Promise<HostKeys> {
  const history = await logKeys(store, projectId);
  settleKeys(dataDir, history);
  const keys = readKeys(dataDir);
  refuseForeignKeys(history, keys.verifierKeys(origin));
  const once = (name: string): string[] =>
    history.retired.map(({ algorithm, publicKey }) => verifierKeyText(name, algorithm, publicKey));
  return { ...keys, verifierKeys: (name) => [...keys.verifierKeys(name), ...once(name)] };
}

/**
 * Refuses to serve a log that its leaves say is signed by other keys than these: a checkpoint signed with them would
 * verify nowhere. STORAGE_FAULT, naming each key that is missing and each that is not pinned.
 */
export function refuseForeignKeys(history: KeyHistory, verifierKeys: readonly string[]): void {
  const pinned = history.inForce.map(({ text }) => text);
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
