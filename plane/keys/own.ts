/**
 * The keys of a plane, held to what its log says of them: the first leaf pins the keys that it began with, `gov.key/1`
 * leaves add and retire keys (`src/core/note/key-history.ts`). The log decides, the files follow: a crash between a leaf and the
 * files leaves files in `keys/next` or `keys/` that the next start puts where they belong.
 * Proven by `test/plane/data/init.test.ts` and `test/plane/keys/rotate.test.ts`.
 */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { GovError } from '../../src/contract/problems.ts';
import { ed25519Signer, formatTrust, mlDsa44Signer, parseTrust } from '../../src/core/note/checkpoint.ts';
import type { KeyHistory } from '../../src/core/note/key-history.ts';
import { verifierKeyText } from '../../src/core/note/key.ts';
import type { PlaneConfig } from '../../src/host/data/config.ts';
import { replacePrivate, syncDirectory } from '../../src/host/data/files.ts';
import { type HostKeys, keyName, logKeyFiles, readKeys, readPrivateKey } from '../../src/host/data/keys.ts';
import { logKeys } from '../../src/service/log/keys.ts';
import type { StoreReader } from '../../src/store/port/store.ts';

/** The keys of a plane that is open: other ones from a rotation on. */
export interface PlaneKeys extends HostKeys {
  /** Takes them as the log has them now, with files put in order. */
  reload(): Promise<void>;
  /** The log has other keys than this process could take: nothing is signed until it starts again. */
  fail(error: GovError): void;
}

/**
 * The keys of a plane as its log has them, with files put in order. STORAGE_FAULT where a key is missing or another
 * one came, FORBIDDEN where others may read one.
 */
export async function planeKeys(
  store: Pick<StoreReader, 'leaf' | 'leavesOf'>,
  config: Pick<PlaneConfig, 'dataDir' | 'projectId' | 'origin'>,
): Promise<PlaneKeys> {
  let keys = await keysNow(store, config);
  let failed: GovError | null = null;
  const usable = (): HostKeys => {
    if (failed !== null) throw failed;
    return keys;
  };
  return {
    ...keys,
    signers: (origin) => usable().signers(origin),
    telemetrySigners: (origin) => usable().telemetrySigners(origin),
    verifierKeys: (origin) => keys.verifierKeys(origin),
    reload: async () => {
      keys = await keysNow(store, config);
    },
    fail: (error) => {
      failed = error;
    },
  };
}

async function keysNow(
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

/** The keys of a directory as the next start puts them in order: with those that wait in `next`, without retired ones. */
export function settledKeys(
  { dataDir, origin }: Pick<PlaneConfig, 'dataDir' | 'origin'>,
  history: KeyHistory,
): string[] {
  const waiting = keysIn(keyFolders(dataDir).next, origin).map(({ verifierKey }) => verifierKey);
  const isOf = (list: KeyHistory['inForce'], key: string): boolean => list.some(({ text }) => text === key);
  const coming = waiting.filter((key) => isOf(history.inForce, key));
  return [...readKeys(dataDir).verifierKeys(origin), ...coming].filter((key) => !isOf(history.retired, key));
}

export const keyFolders = (dataDir: string) => ({
  keys: join(dataDir, 'keys'),
  /** Made, but not yet in the log. */
  next: join(dataDir, 'keys', 'next'),
  retired: join(dataDir, 'keys', 'retired'),
});

/**
 * Puts key files where the log says that they belong, and the public keys in force into the trust file, which keeps its
 * witnesses and its quorum, and stays without a retired key that its owner took out. Again without effect. Keys in `next`
 * that the log does not know are left there. An Ed25519 key is the first of its pair to come to `keys` and the last to
 * leave it: what reads the keys after a crash, before they are put in order, finds no half of a pair that it cannot use.
 */
export function settleKeys(dataDir: string, history: KeyHistory): void {
  const { keys, next, retired } = keyFolders(dataDir);
  const { inForce, origin } = history;
  move({ from: next, to: keys, wanted: inForce, origin, order: ['ed25519', 'mlDsa44'] });
  move({ from: keys, to: retired, wanted: history.retired, origin, order: ['mlDsa44', 'ed25519'] });
  if (logKeyFiles(next).length === 0) rmSync(next, { recursive: true, force: true });
  settleTrust(join(dataDir, 'trust'), history);
}

interface Move {
  readonly from: string;
  readonly to: string;
  readonly wanted: KeyHistory['inForce'];
  readonly origin: string;
  readonly order: Algorithms;
}

/** Moves the files of these keys; each move is durable before the next. */
function move({ from, to, wanted, origin, order }: Move): void {
  if (wanted.length === 0) return;
  const texts = new Set(wanted.map(({ text }) => text));
  for (const { path, verifierKey } of keysIn(from, origin, order)) {
    if (!texts.has(verifierKey)) continue;
    mkdirSync(to, { recursive: true, mode: 0o700 });
    renameSync(path, join(to, basename(path)));
    syncDirectory(to);
    syncDirectory(from);
  }
}

const signerOf = { ed25519: ed25519Signer, mlDsa44: mlDsa44Signer };
type Algorithms = readonly (keyof typeof signerOf)[];

/** Each file on its own: a crash may have left half a pair, or half a file of a key that never came to the log. */
const keysIn = (folder: string, origin: string, order: Algorithms = ['ed25519', 'mlDsa44']) =>
  logKeyFiles(folder).flatMap((pair) =>
    order.flatMap((algorithm) => {
      const path = pair[algorithm];
      const verifierKey = path === null ? null : verifierKeyIn(path, algorithm, origin);
      return path === null || verifierKey === null ? [] : [{ path, verifierKey }];
    }),
  );

/** Null for a file that holds no key. FORBIDDEN where others may read it. */
export function verifierKeyIn(path: string, algorithm: keyof typeof signerOf, origin: string): string | null {
  try {
    return signerOf[algorithm](origin, readPrivateKey(path)).verifierKey;
  } catch (error) {
    if (error instanceof GovError && error.code === 'STORAGE_FAULT') return null;
    throw error;
  }
}

function settleTrust(path: string, history: KeyHistory): void {
  if (!existsSync(path)) return;
  const trust = parseTrust(readFileSync(path, 'utf8'));
  const known = new Set(trust.keys.map(({ text }) => text));
  const missing = history.inForce.filter(({ text }) => !known.has(text));
  if (missing.length === 0) return;
  replacePrivate(path, formatTrust({ ...trust, keys: [...trust.keys, ...missing] }));
}
