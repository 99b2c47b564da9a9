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
    'expected the keys that the first leaf of the log pins, with those that later leaves added and without those they ' +
      `retired, but ${missing.map(keyName).join(' and ') || 'none'} ` +
      `is missing and ${foreign.map(keyName).join(' and ') || 'none'} came instead; ` +
      'restore keys/ of this very data directory from a backup',
  );
}

export const keyFolders = (dataDir: string) => ({
  keys: join(dataDir, 'keys'),
  /** Made, but not yet in the log. */
  next: join(dataDir, 'keys', 'next'),
  retired: join(dataDir, 'keys', 'retired'),
});

/**
 * Puts key files where the log says that they belong, and all public keys into the trust file, which keeps its
 * witnesses and its quorum. Again without effect. Keys in `next` that the log does not know are left there.
 */
export function settleKeys(dataDir: string, history: KeyHistory): void {
  const { keys, next, retired } = keyFolders(dataDir);
  move(next, keys, new Set(history.inForce.map(({ text }) => text)), history.origin);
  move(keys, retired, new Set(history.retired.map(({ text }) => text)), history.origin);
  settleTrust(join(dataDir, 'trust'), history);
}

/** Moves the files of these keys; each move is durable before the next. */
function move(from: string, to: string, wanted: ReadonlySet<string>, origin: string): void {
  if (wanted.size === 0) return;
  for (const { ed25519, mlDsa44 } of logKeyFiles(from)) {
    const files = [
      { path: ed25519, signer: ed25519Signer },
      { path: mlDsa44, signer: mlDsa44Signer },
    ];
    for (const { path, signer } of files) {
      if (path === null || !wanted.has(signer(origin, readPrivateKey(path)).verifierKey)) continue;
      mkdirSync(to, { recursive: true, mode: 0o700 });
      renameSync(path, join(to, basename(path)));
      syncDirectory(to);
      syncDirectory(from);
    }
  }
  if (basename(from) === 'next' && logKeyFiles(from).length === 0)
    rmSync(from, { recursive: true, force: true });
}

function settleTrust(path: string, history: KeyHistory): void {
  if (!existsSync(path)) return;
  const trust = parseTrust(readFileSync(path, 'utf8'));
  const known = new Set(trust.keys.map(({ text }) => text));
  const missing = [...history.retired, ...history.inForce].filter(({ text }) => !known.has(text));
  if (missing.length === 0) return;
  replacePrivate(path, formatTrust({ ...trust, keys: [...trust.keys, ...missing] }));
}
