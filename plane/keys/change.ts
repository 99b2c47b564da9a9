/**
 * The change of a plane's log keys: one leaf adds or retires a pair. No checkpoint may be signed meanwhile.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import { type KeyChange, type KeyHistory, keyLeafFields } from '../../src/core/note/key-history.ts';
import type { NoteSigner } from '../../src/core/note/signed.ts';
import { draftLeaf } from '../../src/core/events/record.ts';
import { formatTimestamp } from '../../src/core/time.ts';
import { now } from '../../src/host/process/clock.ts';
import { readPlaneFile, type PlaneFile } from '../../src/host/data/config.ts';
import { syncDirectory } from '../../src/files/durable.ts';
import { replacePrivate } from '../../src/host/files/private.ts';
import {
  logKeyFile,
  logKeyFiles,
  readKeys,
  readTelemetryKey,
  signersIn,
  telemetryKeyFile,
  writeLogKeys,
} from '../../src/host/keys/disk.ts';
import { logKeys } from '../../src/service/log/keys.ts';
import type { Store } from '../../src/store/port/store.ts';
import { keyFolders, refuseForeignKeys, settleKeys } from './own.ts';
import type { KeyChangeResult, KeyOrder } from './order.ts';

interface OpenPlane {
  readonly dataDir: string;
  readonly file: PlaneFile;
  readonly history: KeyHistory;
}

interface Change extends KeyChange {
  readonly signers: readonly NoteSigner[];
}

/**
 * The leaf names its index, so an append may fail because other leaves came first. This is the number of
 * attempts.
 */
const attempts = 1000;

interface KeyTarget {
  readonly dataDir: string;
  readonly store: Store;
  /**
   * Runs after the leaf is durable. Sorts the key files and loads the keys in force before anything is signed.
   */
  readonly taken: () => Promise<void>;
}

/**
 * Appends the change and returns its result. The caller signs nothing meanwhile. OVERLOADED where other appends
 * take every index. A crash before the leaf leaves unused key files. A crash after it leaves files that the
 * next start sorts.
 */
export async function changeKeys(
  { dataDir, store, taken }: KeyTarget,
  order: KeyOrder,
): Promise<KeyChangeResult> {
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
  // the leaf is durable: a later failure is a warning
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

/** Signs with the new keys. If signing fails, the change still holds, and the result carries a warning. */
export async function signed(changed: KeyChangeResult, sign: () => Promise<void>): Promise<KeyChangeResult> {
  if (changed.warning !== null) return changed;
  try {
    await sign();
    return changed;
  } catch (error) {
    const warning = `no checkpoint has the keys in force yet: ${messageOf(error)}; a serving plane tries again`;
    return { ...changed, warning };
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

async function appendChange(store: Store, { projectId, origin }: PlaneFile, change: Change) {
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { size: index } = await store.head(projectId, 'audit');
    const fields = keyLeafFields(origin, index, change);
    const leaf = draftLeaf('gov.key/1', { ...fields, at: formatTimestamp(now()) });
    const request = { projectId, leaves: [leaf], expect: { auditSize: index } } as const;
    if ((await store.append(request)).outcome === 'stored') return { index, record: leaf.record };
  }
  throw new GovError(
    'OVERLOADED',
    `expected a free index for the key leaf, got ${attempts} other appends first; repeat later`,
    {
      retryAfterSeconds: limits.overloadRetrySeconds,
    },
  );
}

function add({ dataDir, file: { origin }, history }: OpenPlane): Change {
  const groups = history.groups.filter(({ until }) => until === null);
  if (groups.length > 1) {
    const detail = `expected one pair of keys, but those of leaf ${groups[0]?.from} still sign`;
    throw new GovError('CONFLICT', `${detail}; end the overlap with gov plane keys retire`);
  }
  const { keys, next, retired } = keyFolders(dataDir);
  rmSync(next, { recursive: true, force: true }); // left by a rotation that never appended its leaf
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

function retire({ dataDir, file: { origin }, history }: OpenPlane): Change {
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
 * Keeps the key by which the service knows an enrolled plane, until the plane enrols again. The copy is durable
 * before the leaf. A crash in between leaves a copy of a key that still signs the log.
 */
function keepForTelemetry(dataDir: string): void {
  const { keys } = keyFolders(dataDir);
  const from = logKeyFiles(keys)[0]?.ed25519 ?? null;
  const enrolled = existsSync(join(keys, 'telemetry.json'));
  if (!enrolled || from === null || hasTelemetryKey(dataDir)) return;
  replacePrivate(join(keys, telemetryKeyFile), readFileSync(from, 'utf8'));
}

/** False where the file is missing or damaged, such as after an interrupted copy. */
function hasTelemetryKey(dataDir: string): boolean {
  try {
    return readTelemetryKey(dataDir) !== null;
  } catch (error) {
    if (error instanceof GovError && error.code === 'STORAGE_FAULT') return false;
    throw error;
  }
}
