/**
 * `gov plane keys rotate` and `retire`: other keys for the logs of a plane, by the process that serves it where one does
 * (`rotate-serving.ts`). New keys are
 * made, durable, and added by a leaf that an old and the new Ed25519 key sign; from then on every checkpoint is signed
 * by both, until the old keys are retired by a leaf of the new one. Public keys stay for ever: in the log, the trust
 * file and `GET /log/key`. A crash before the leaf leaves keys that nobody uses; after it the leaf holds, and the next
 * start or the same command does the rest. Proven by `test/plane/keys/rotate.test.ts` and, killed at each step,
 * `test/plane/keys/rotate-crash.long.test.ts`.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import { type KeyChange, type KeyHistory, keyLeafFields } from '../../src/core/note/key-history.ts';
import type { NoteSigner } from '../../src/core/note/signed.ts';
import { draftLeaf } from '../../src/core/event/record.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import { now, randomBytes } from '../../src/host/process/clock.ts';
import { readPlaneFile, type PlaneFile } from '../../src/host/data/config.ts';
import { replacePrivate, syncDirectory } from '../../src/host/data/files.ts';
import {
  logKeyFile,
  logKeyFiles,
  readKeys,
  readTelemetryKey,
  signersIn,
  telemetryKeyFile,
  writeLogKeys,
} from '../../src/host/data/keys.ts';
import { Checkpoints } from '../../src/service/log/checkpoints.ts';
import { silentLog } from '../../src/service/call/log.ts';
import { logKeys } from '../../src/service/log/keys.ts';
import type { Store } from '../../src/store/port/store.ts';
import { openStore } from '../../src/store/sqlite/store.ts';
import { keyFolders, refuseForeignKeys, settleKeys } from './own.ts';
import { askServing, servingProcess } from './rotate-serving.ts';

export interface KeysChanged {
  readonly change: KeyChange['change'];
  /** Verifier keys that were added or retired. */
  readonly keys: readonly string[];
  /** Index of the leaf that says so. */
  readonly leaf: number;
  readonly inForce: readonly string[];
  readonly retired: readonly string[];
  readonly trustFile: string;
  /** What could not be done after the leaf, which holds, and who does it; null where all was. */
  readonly warning: string | null;
}

/** CONFLICT where the keys before the last rotation still sign, or where the process that serves does not answer. */
export const rotateKeys = (dataDir: string): Promise<KeysChanged> => changing(resolve(dataDir), 'rotate');

/** CONFLICT where there is one pair of keys only, or where the process that serves does not answer. */
export const retireKeys = (dataDir: string): Promise<KeysChanged> => changing(resolve(dataDir), 'retire');

export type KeyOrder = 'rotate' | 'retire';

interface Open {
  readonly dataDir: string;
  readonly file: PlaneFile;
  readonly history: KeyHistory;
}

interface Change extends KeyChange {
  readonly signers: readonly NoteSigner[];
}

async function changing(dataDir: string, order: KeyOrder): Promise<KeysChanged> {
  const serving = servingProcess(dataDir);
  if (serving !== null) return askServing(dataDir, order, serving);
  const store = openStore({ dataDir, clock: { now }, randomBytes });
  try {
    const { projectId } = readPlaneFile(join(dataDir, 'plane.json'));
    const taken = async (): Promise<void> => settleKeys(dataDir, await logKeys(store, projectId));
    const changed = await changeKeys({ dataDir, store, taken }, order);
    return await signed(changed, () => sign(dataDir, store, projectId));
  } finally {
    await store.close();
  }
}

/** How often a leaf may find that others came before it: its note names its index. */
const attempts = 1000;

export interface KeyPlace {
  readonly dataDir: string;
  readonly store: Store;
  /** The leaf is durable: files are put in order, and the keys in force are taken before anything is signed again. */
  readonly taken: () => Promise<void>;
}

/** Nothing may be signed meanwhile. OVERLOADED where so much is recorded that the leaf finds no place. */
export async function changeKeys({ dataDir, store, taken }: KeyPlace, order: KeyOrder): Promise<KeysChanged> {
  const file = readPlaneFile(join(dataDir, 'plane.json'));
  const { projectId, origin } = file;
  const history = await logKeys(store, projectId);
  settleKeys(dataDir, history);
  const before = readKeys(dataDir).signers(origin);
  refuseForeignKeys(
    history,
    before.map(({ verifierKey }) => verifierKey),
  );
  const change = (order === 'rotate' ? add : retire)({ dataDir, file, history });
  const { index, record } = await appendChange(store, file, change);
  // which holds: whatever fails from here on is told beside it
  history.read(index, record);
  const warning = await taken().then(
    () => null,
    (error: unknown) => `${messageOf(error)}; the next start of the plane puts files and keys in order`,
  );
  const texts = (list: KeyHistory['inForce']): string[] => list.map(({ text }) => text);
  const [inForce, retired] = [texts(history.inForce), texts(history.retired)];
  const trustFile = join(dataDir, 'trust');
  return { change: change.change, keys: change.keys, leaf: index, inForce, retired, trustFile, warning };
}

/** Signs with the keys that were taken; where that fails the keys changed all the same, which is what is answered. */
export async function signed(changed: KeysChanged, sign: () => Promise<void>): Promise<KeysChanged> {
  if (changed.warning !== null) return changed;
  try {
    await sign();
    return changed;
  } catch (error) {
    const warning = `no checkpoint is signed with the keys in force yet: ${messageOf(error)}; a plane that serves tries again`;
    return { ...changed, warning };
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function appendChange(store: Store, { projectId, origin }: PlaneFile, change: Change) {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { size: index } = await store.head(projectId, 'audit');
    const fields = keyLeafFields(origin, index, change);
    const leaf = draftLeaf('gov.key/1', { ...fields, at: formatTimestamp(now()) });
    const request = { projectId, leaves: [leaf], meter: { op: 'none', units: 0 }, auditSize: index } as const;
    if ((await store.append(request)).outcome === 'stored') return { index, record: leaf.record };
  }
  throw new GovError('OVERLOADED', 'too much is recorded for the keys to change between; repeat later', {
    retryAfterSeconds: limits.overloadRetrySeconds,
  });
}

async function sign(dataDir: string, store: Store, projectId: string): Promise<void> {
  const { signers } = readKeys(dataDir);
  const checkpoints = new Checkpoints({ store, now, log: silentLog, signers });
  await checkpoints.sign(projectId, 'audit');
  await checkpoints.sign(projectId, 'metering');
}

function add({ dataDir, file: { origin }, history }: Open): Change {
  const groups = history.groups.filter(({ until }) => until === null);
  if (groups.length > 1) {
    const detail = `expected one pair of keys, but those of leaf ${groups[0]?.from} sign still`;
    throw new GovError('CONFLICT', `${detail}; end the overlap with gov plane keys retire`);
  }
  const { keys, next, retired } = keyFolders(dataDir);
  rmSync(next, { recursive: true, force: true }); // of a rotation that never came to its leaf
  mkdirSync(next, { mode: 0o700 });
  const generations = [...logKeyFiles(keys), ...logKeyFiles(retired)].map(({ generation }) => generation);
  const generation = Math.max(history.groups.length, ...generations) + 1;
  writeLogKeys({
    ed25519: join(next, logKeyFile(generation, 'ed25519')),
    mlDsa44: join(next, logKeyFile(generation, 'mldsa44')),
  });
  syncDirectory(next);
  syncDirectory(keys);
  const fresh = signersIn(next, origin);
  const signers = [...readKeys(dataDir).signers(origin), ...fresh].filter(isEd25519);
  return { change: 'add', keys: fresh.map(({ verifierKey }) => verifierKey), signers };
}

const isEd25519 = ({ algorithm }: NoteSigner): boolean => algorithm === 'ed25519';

function retire({ dataDir, file: { origin }, history }: Open): Change {
  const [oldest, ...others] = history.groups.filter(({ until }) => until === null);
  if (oldest === undefined || others.length === 0) {
    throw new GovError(
      'CONFLICT',
      'expected two pairs of keys, but there is one; make another with gov plane keys rotate',
    );
  }
  const keys = oldest.keys.map(({ text }) => text);
  const signers = readKeys(dataDir).signers(origin).filter(isEd25519);
  keepForTelemetry(dataDir);
  return {
    change: 'retire',
    keys,
    signers: signers.filter(({ verifierKey }) => !keys.includes(verifierKey)),
  };
}

/**
 * A service knows an enrolled plane by the key that it had then, until it enrols again. Durable before the leaf; a crash
 * before it leaves a copy of a key that signs the log as well.
 */
function keepForTelemetry(dataDir: string): void {
  const { keys } = keyFolders(dataDir);
  const from = logKeyFiles(keys)[0]?.ed25519 ?? null;
  const enrolled = existsSync(join(keys, 'telemetry.json'));
  if (!enrolled || from === null || hasTelemetryKey(dataDir)) return;
  replacePrivate(join(keys, telemetryKeyFile), readFileSync(from, 'utf8'));
}

/** False where the file is none or no key, such as what a copy that broke off left. */
function hasTelemetryKey(dataDir: string): boolean {
  try {
    return readTelemetryKey(dataDir) !== null;
  } catch (error) {
    if (error instanceof GovError && error.code === 'STORAGE_FAULT') return false;
    throw error;
  }
}
