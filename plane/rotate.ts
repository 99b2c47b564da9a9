/**
 * `gov plane keys rotate` and `retire`: other keys for the logs of a plane that does not serve meanwhile. New keys are
 * made, durable, and added by a leaf that an old and the new Ed25519 key sign; from then on every checkpoint is signed
 * by both, until the old keys are retired by a leaf of the new one. Public keys stay for ever: in the log, the trust
 * file and `GET /log/key`. A crash before the leaf leaves keys that nobody uses; after it the leaf holds, and the next
 * start or the same command does the rest. Proven by `test/plane/rotate.test.ts`.
 */
import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GovError } from '../src/contract/problems.ts';
import { type KeyChange, type KeyHistory, keyLeafFields } from '../src/core/keyhistory.ts';
import type { NoteSigner } from '../src/core/note.ts';
import { draftLeaf } from '../src/core/record.ts';
import { formatTimestamp } from '../src/core/time.ts';
import { now, randomBytes } from '../src/host/clock.ts';
import { readPlaneFile, type PlaneFile } from '../src/host/config.ts';
import { syncDirectory } from '../src/host/files.ts';
import {
  logKeyFile,
  logKeyFiles,
  readKeys,
  signersIn,
  telemetryKeyFile,
  writeLogKeys,
} from '../src/host/keys.ts';
import { Checkpoints } from '../src/service/checkpoints.ts';
import { silentLog } from '../src/service/log.ts';
import type { Store } from '../src/store/port.ts';
import { openStore } from '../src/store/sqlite/index.ts';
import { keyFolders, logKeys, refuseForeignKeys, settleKeys } from './keys.ts';

export interface KeysChanged {
  readonly change: KeyChange['change'];
  /** Verifier keys that were added or retired. */
  readonly keys: readonly string[];
  /** Index of the leaf that says so. */
  readonly leaf: number;
  readonly inForce: readonly string[];
  readonly retired: readonly string[];
  readonly trustFile: string;
}

/** CONFLICT where the plane serves, or where the keys before the last rotation still sign. */
export const rotateKeys = (dataDir: string): Promise<KeysChanged> => changing(resolve(dataDir), add);

/** CONFLICT where the plane serves, or where there is one pair of keys only. */
export const retireKeys = (dataDir: string): Promise<KeysChanged> => changing(resolve(dataDir), retire);

interface Open {
  readonly dataDir: string;
  readonly file: PlaneFile;
  readonly store: Store;
  readonly history: KeyHistory;
  /** Index of the leaf to be. */
  readonly index: number;
}

interface Change extends KeyChange {
  readonly signers: readonly NoteSigner[];
}

async function changing(dataDir: string, plan: (open: Open) => Change): Promise<KeysChanged> {
  const file = readPlaneFile(join(dataDir, 'plane.json'));
  const { projectId, origin } = file;
  const store = openStore({ dataDir, clock: { now }, randomBytes });
  try {
    const history = await logKeys(store, projectId);
    settleKeys(dataDir, history);
    const before = readKeys(dataDir).signers(origin);
    refuseForeignKeys(
      history,
      before.map(({ verifierKey }) => verifierKey),
    );
    const { size: index } = await store.head(projectId, 'audit');
    const { change, keys, signers } = plan({ dataDir, file, store, history, index });
    const fields = keyLeafFields(origin, index, { change, keys, signers });
    const leaf = draftLeaf('gov.key/1', { ...fields, at: formatTimestamp(now()) });
    await store.append({ projectId, leaves: [leaf], meter: { op: 'none', units: 0 } });
    // as whoever starts later reads it
    const after = await logKeys(store, projectId);
    settleKeys(dataDir, after);
    await sign(dataDir, store, projectId);
    const texts = (list: KeyHistory['inForce']): string[] => list.map(({ text }) => text);
    const [inForce, retired] = [texts(after.inForce), texts(after.retired)];
    return { change, keys, leaf: index, inForce, retired, trustFile: join(dataDir, 'trust') };
  } finally {
    await store.close();
  }
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

/** A service knows an enrolled plane by the key that it had then, until it enrols again. */
function keepForTelemetry(dataDir: string): void {
  const { keys } = keyFolders(dataDir);
  const kept = join(keys, telemetryKeyFile);
  const from = logKeyFiles(keys)[0]?.ed25519 ?? null;
  const enrolled = existsSync(join(keys, 'telemetry.json'));
  if (!enrolled || existsSync(kept) || from === null) return;
  copyFileSync(from, kept); // with its mode, 0600
  syncDirectory(keys);
}
