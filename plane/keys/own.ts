/**
 * The keys of a plane, checked against its log. The first leaf pins the original keys, and `gov.key/1` leaves
 * add and retire keys (`src/core/note/key-history.ts`). The log decides, and the files follow it. A crash
 * between a leaf and the files leaves files in `keys/next` or `keys/`, which the next start moves. Proven by
 * `test/plane/data/init.test.ts` and `test/plane/keys/rotate.test.ts`.
 */
import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { makeFolder } from '../../src/files/make-folder.ts';
import { GovError } from '../../src/contract/problems.ts';
import { ed25519Signer, formatTrust, mlDsa44Signer, parseTrust } from '../../src/core/note/checkpoint.ts';
import type { KeyHistory } from '../../src/core/note/key-history.ts';
import { verifierKeyText } from '../../src/core/note/key.ts';
import type { PlaneConfig } from '../../src/host/data/config.ts';
import { syncDirectory } from '../../src/files/durable.ts';
import { replacePrivate } from '../../src/host/files/private.ts';
import { type HostKeys, keyName, logKeyFiles, readKeys, readPrivateKey } from '../../src/host/keys/disk.ts';
import { logKeys } from '../../src/service/log/keys.ts';
import type { StoreReader } from '../../src/store/port/store.ts';

/** The keys of an open plane. A rotation replaces them. */
export interface PlaneKeys extends HostKeys {
  /** Loads the keys in force from the log, after it moved the files. */
  reload(): Promise<void>;
  /** Stops all signing until the next start, because this process could not load the keys in force. */
  fail(error: GovError): void;
}

/**
 * Returns the keys that the log names, after it moved the files. STORAGE_FAULT where a key is missing or
 * another key took its place. FORBIDDEN where others may read a key.
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
  const retired = (name: string): string[] =>
    history.retired.map(({ algorithm, publicKey }) => verifierKeyText(name, algorithm, publicKey));
  return { ...keys, verifierKeys: (name) => [...keys.verifierKeys(name), ...retired(name)] };
}

/**
 * Refuses keys other than those that the log pins. No client could verify a checkpoint signed with them.
 * STORAGE_FAULT names each missing key and each key that is not pinned.
 */
export function refuseForeignKeys(history: KeyHistory, verifierKeys: readonly string[]): void {
  const pinned = history.inForce.map(({ text }) => text);
  const missing = pinned.filter((key) => !verifierKeys.includes(key));
  const foreign = verifierKeys.filter((key) => !pinned.includes(key));
  if (missing.length === 0 && foreign.length === 0) return;
  throw new GovError(
    'STORAGE_FAULT',
    'expected the keys in force by the log (pinned by its first leaf, added and retired by later ones), ' +
      `but ${missing.map(keyName).join(' and ') || 'none'} ` +
      `is missing and ${foreign.map(keyName).join(' and ') || 'none'} is here instead; ` +
      'restore keys/ of this data directory from a backup',
  );
}

/** The verifier keys after the next start: with keys that wait in `next`, without retired keys. */
export function keysAfterSettling(
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
  /** Generated keys that no leaf has added yet. */
  next: join(dataDir, 'keys', 'next'),
  retired: join(dataDir, 'keys', 'retired'),
});

/**
 * Moves key files to the folders that the log implies, and adds the public keys in force to the trust file. The
 * trust file keeps its witnesses, its quorum, and the removal of a retired key by its owner. A second call
 * changes nothing. Keys in `next` that the log does not know stay there. The Ed25519 key of a pair enters
 * `keys` first and leaves it last. A reader after a crash therefore never finds a half pair that it cannot use.
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

/** Moves the files of these keys. Each move is durable before the next one starts. */
function move({ from, to, wanted, origin, order }: Move): void {
  if (wanted.length === 0) return;
  const texts = new Set(wanted.map(({ text }) => text));
  for (const { path, verifierKey } of keysIn(from, origin, order)) {
    if (!texts.has(verifierKey)) continue;
    makeFolder(to, 0o700);
    renameSync(path, join(to, basename(path)));
    syncDirectory(to);
    syncDirectory(from);
  }
}

const signerOf = { ed25519: ed25519Signer, mlDsa44: mlDsa44Signer };
type Algorithms = readonly (keyof typeof signerOf)[];

/** Reads each file by itself. A crash may leave half a pair, or part of a key that never reached the log. */
const keysIn = (folder: string, origin: string, order: Algorithms = ['ed25519', 'mlDsa44']) =>
  logKeyFiles(folder).flatMap((pair) =>
    order.flatMap((algorithm) => {
      const path = pair[algorithm];
      const verifierKey = path === null ? null : verifierKeyIn(path, algorithm, origin);
      return path === null || verifierKey === null ? [] : [{ path, verifierKey }];
    }),
  );

/** Returns null for a file without a key. FORBIDDEN where others may read the file. */
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
