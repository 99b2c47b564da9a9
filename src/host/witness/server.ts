/**
 * `gov witness`: a directory with the keys and cosigned checkpoints of a witness, and its C2SP tlog-witness
 * server. `POST /add-checkpoint` cosigns. `GET /<sha256 of the origin>/checkpoint` lets a client compare its
 * view of a log with that of the witness. One process serves a directory. Proven by
 * `test/host/witness/server.test.ts`.
 */
import { generateKeyPairSync, randomBytes as random } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import {
  ed25519Cosigner,
  hasMlDsa44,
  mlDsa44Signer,
  type CheckpointSigner,
} from '../../core/note/checkpoint.ts';
import { signatureLine } from '../../core/note/signed.ts';
import { isKeyName, parseVerifierKey, type VerifierKey } from '../../core/note/key.ts';
import { shellWord } from '../../core/shell-word.ts';
import type { Log } from '../../service/call/log.ts';
import { takeLock } from '../../store/file/lock.ts';
import { now } from '../process/clock.ts';
import { syncDirectory } from '../../files/durable.ts';
import { makeHeld } from '../files/drafts.ts';
import { writePrivate } from '../files/private.ts';
import { privatePem, readPrivateKey } from '../keys/disk.ts';
import {
  logLevels,
  oneOf,
  parseAddress,
  parseLogLevel,
  readConfigFile,
  text,
  type LogLevel,
  type Variables,
} from '../config/layers.ts';
import { untilStopped } from '../process/lifecycle.ts';
import { commandLog, createLog, migrationLog } from '../process/log.ts';
import { listenAsWitness } from './http.ts';
import { addEntries } from './derived/add.ts';
import { openMapStores, type MapStores } from './derived/map-store.ts';
import type { LogSource, Refusal } from './derived/tables.ts';
import { IndexWitness } from './derived/witness.ts';
import { openMark, refuseForgotten } from './mark.ts';
import { placeOf, refuseCopy, refuseLostOrLinked } from './place.ts';
import {
  onWitnessStore,
  openWitnessStore,
  type Cosign,
  type WitnessedRow,
  type WitnessStore,
} from './store.ts';

/** `witness.json`. */
interface WitnessFile {
  /** Name of its keys, on each cosignature line. */
  readonly name: string;
  readonly listen: string;
  readonly logLevel?: LogLevel;
  /** Its keys say that the index of a log is right, so it cosigns nothing else. */
  readonly index?: boolean;
}

const fileSchema = {
  type: 'object',
  required: ['name', 'listen'],
  properties: { name: text(255), listen: text(255), logLevel: oneOf(logLevels), index: { type: 'boolean' } },
  additionalProperties: false,
};

const defaultWitnessListen = '127.0.0.1:7480';

const paths = (dataDir: string) => ({
  config: join(dataDir, 'witness.json'),
  store: join(dataDir, 'witness.db'),
  lock: join(dataDir, 'witness.lock'),
  mark: join(dataDir, 'mark'),
  maps: join(dataDir, 'index.db'),
  ed25519: join(dataDir, 'keys', 'cosigner.ed25519.pem'),
  mlDsa44: join(dataDir, 'keys', 'cosigner.mldsa44.pem'),
});

export interface WitnessInit {
  /** False where the witness existed. Then nothing changed. */
  readonly created: boolean;
  readonly dataDir: string;
  readonly name: string;
  readonly listen: string;
  /** Ed25519 first. */
  readonly verifierKeys: readonly string[];
}

/**
 * Creates a witness atomically, or finds an existing one. A crash leaves a draft. CONFLICT where the directory
 * contains other files.
 */
export async function witnessInit(options: {
  readonly dataDir: string;
  readonly name?: string | undefined;
  readonly listen?: string | undefined;
  readonly index?: boolean | undefined;
}): Promise<WitnessInit> {
  const dataDir = resolve(options.dataDir);
  if (existsSync(paths(dataDir).config)) return described(dataDir, false);
  const kind = options.index === true ? 'index-witness' : 'witness';
  const { name = `gov.local/${kind}/${random(8).toString('hex')}`, listen = defaultWitnessListen } = options;
  parseAddress({ value: listen, from: '--listen' });
  // an ML-DSA-44 cosignature stores the length of the name in one byte
  if (!isKeyName(name) || Buffer.byteLength(name) > 255) {
    throw new GovError(
      'VALIDATION_ERROR',
      `--name: expected up to 255 bytes without spaces and +, got ${name}`,
    );
  }
  await makeHeld({ what: 'the witness', path: dataDir }, async (draft) => {
    const { config, store, lock, mark, ed25519, mlDsa44 } = paths(draft);
    mkdirSync(join(draft, 'keys'), { mode: 0o700 });
    writePrivate(ed25519, privatePem(generateKeyPairSync('ed25519').privateKey));
    if (hasMlDsa44()) writePrivate(mlDsa44, privatePem(generateKeyPairSync('ml-dsa-44').privateKey));
    syncDirectory(join(draft, 'keys'));
    // SQLite would create files that others may read, and a lock must exist before the directory has a name
    for (const path of [store, lock]) writePrivate(path, '');
    const made = openWitnessStore(store);
    made.settle(placeOf(store));
    made.close();
    openMark(mark);
    syncDirectory(mark);
    const file: WitnessFile = { name, listen, ...(options.index === true ? { index: true } : {}) };
    writePrivate(config, `${JSON.stringify(file, null, 2)}\n`);
  });
  return described(dataDir, true);
}

function described(dataDir: string, created: boolean): WitnessInit {
  const { name, listen } = readWitnessFile(dataDir);
  const verifierKeys = cosigners(dataDir, name).map(({ verifierKey }) => verifierKey);
  return { created, dataDir, name, listen, verifierKeys };
}

const readWitnessFile = (dataDir: string): WitnessFile =>
  // the schema checks what the type says
  readConfigFile(
    paths(dataDir).config,
    fileSchema,
    `expected a witness at ${paths(dataDir).config}; make one with gov witness init`,
  ) as WitnessFile;

function cosigners(dataDir: string, name: string): readonly CheckpointSigner[] {
  const { ed25519, mlDsa44 } = paths(dataDir);
  const second = existsSync(mlDsa44) && hasMlDsa44() ? [mlDsa44Signer(name, readPrivateKey(mlDsa44))] : [];
  return [ed25519Cosigner(name, readPrivateKey(ed25519)), ...second];
}

/** Runs on the store of a witness, also while a process serves it. */
function withStore<Result>(dataDir: string, run: (store: WitnessStore) => Result): Result {
  readWitnessFile(dataDir);
  const path = paths(dataDir).store;
  refuseLostOrLinked(path);
  const store = openWitnessStore(path, migrationLog(commandLog()));
  try {
    return onWitnessStore(path, () => run(store));
  } finally {
    store.close();
  }
}

/** Adds keys of logs. The name of a key is the origin of its log. Returns the new keys. */
export function addLogKeys(dataDir: string, vkeys: readonly string[]): string[] {
  const keys = vkeys.map((vkey) => logKey(vkey));
  return withStore(resolve(dataDir), (store) =>
    keys.filter((key) => store.addKey(key)).map(({ text: t }) => t),
  );
}

/** Where an index witness reads the records of these logs. */
export const setLogSource = (dataDir: string, vkeys: readonly string[], source: LogSource): void =>
  withStore(resolve(dataDir), (store) => {
    for (const { name } of vkeys.map((vkey) => logKey(vkey)))
      store.setSource(name, { ...source, keyFile: resolve(source.keyFile) });
  });

/**
 * Removes keys and returns them. NOT_FOUND, and nothing is removed, where one of them is unknown. A log without keys is
 * unknown, but its cosigned checkpoint stays.
 */
export const removeLogKeys = (dataDir: string, vkeys: readonly string[]): string[] =>
  withStore(resolve(dataDir), (store) => {
    const known = new Set(store.logs().flatMap(({ keys }) => keys));
    const unknown = vkeys.filter((vkey) => !known.has(vkey));
    if (unknown.length > 0)
      throw new GovError(
        'NOT_FOUND',
        `expected keys of witnessed logs, got ${unknown.join(', ')}; see gov witness logs --data ${shellWord(dataDir)} -o wide`,
      );
    return vkeys.filter((vkey) => store.removeKey(vkey));
  });

/** With the refusal of each; null where it is not refused. */
export const witnessedLogs = (dataDir: string): (WitnessedRow & { readonly refusal: Refusal | null })[] =>
  withStore(resolve(dataDir), (store) =>
    store.logs().map((row) => ({ ...row, refusal: store.refusal(row.origin) })),
  );

function logKey(vkey: string): VerifierKey {
  const key = parseVerifierKey(vkey);
  if (key.algorithm !== 'ed25519-cosignature') return key;
  throw new GovError('VALIDATION_ERROR', `expected a key of a log, got the witness key ${key.name}`);
}

/** Derives a log from a file of its records, and returns its signed note with the cosignature. Nobody may serve the directory. */
export async function witnessAdd(options: {
  readonly dataDir: string;
  readonly read: () => AsyncIterable<Uint8Array>;
}): Promise<string> {
  const dataDir = resolve(options.dataDir);
  const { name, index = false } = readWitnessFile(dataDir);
  refuseOtherKind(dataDir, index, true);
  const lock = takeLock(paths(dataDir).lock, process.pid);
  try {
    const store = openServed(dataDir, { moved: false, log: commandLog() });
    const maps = openMapStores(paths(dataDir).maps);
    const cosign = cosignBy(cosigners(dataDir, name));
    const nowSeconds = Math.floor(now() / 1000);
    return await addEntries({ store, maps, cosign, nowSeconds, read: options.read }).finally(() => {
      maps.close();
      store.close();
    });
  } finally {
    lock.release();
  }
}

const cosignBy =
  (signers: readonly CheckpointSigner[]): Cosign =>
  (body, timestampSeconds) =>
    signers.map((signer) => signatureLine(body, signer, { timestampSeconds })).join('');

export interface WitnessServeOptions {
  readonly dataDir: string;
  readonly listen?: string | undefined;
  /** Derive the index of each log before it is cosigned. Only for a directory that was made for it. */
  readonly index?: boolean | undefined;
  readonly env?: Variables;
  /** The operator moved the newest directory, so its store is another file now. */
  readonly moved?: boolean | undefined;
  readonly log?: Log;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

export interface RunningWitness {
  /** `http://127.0.0.1:7480`, the submission and monitoring prefix. */
  readonly url: string;
  readonly verifierKeys: readonly string[];
  close(): Promise<void>;
  /** Resolves with the exit code after a signal or a storage fault. Installs signal handlers. */
  untilStopped(): Promise<number>;
}

/**
 * Opens the store for cosigning: undamaged, the original file or `moved`, and not behind its mark. Each
 * cosignature raises the mark before it leaves.
 */
function openServed(
  dataDir: string,
  { moved, log }: { readonly moved: boolean; readonly log: Log },
): WitnessStore {
  const { store: path, mark: markPath } = paths(dataDir);
  refuseLostOrLinked(path);
  const store = openWitnessStore(path, migrationLog(log));
  try {
    store.check();
    const mark = openMark(markPath);
    let leaves = store.leaves();
    refuseForgotten(path, mark.leaves, leaves);
    refuseCopy(path, store.place(), moved);
    onWitnessStore(path, () => store.settle(placeOf(path)));
    mark.raise(leaves);
    const add: WitnessStore['add'] = (request, ...given) => {
      const decided = store.add(request, ...given);
      if (decided.status === 200) leaves += BigInt(decided.checkpoint.size - request.oldSize);
      mark.raise(leaves);
      return decided;
    };
    return { ...store, add };
  } catch (error) {
    store.close();
    throw error;
  }
}

/**
 * Serves. CONFLICT where another process serves the directory, the directory is a copy, or the address is
 * taken. STORAGE_FAULT.
 */
export async function witnessServe(options: WitnessServeOptions): Promise<RunningWitness> {
  const dataDir = resolve(options.dataDir);
  const { name, listen, logLevel = 'info', index = false } = readWitnessFile(dataDir);
  refuseOtherKind(dataDir, index, options.index === true);
  const log = options.log ?? createLog(parseLogLevel({ value: logLevel, from: paths(dataDir).config }));
  const address =
    options.listen === undefined
      ? parseAddress({ value: listen, from: paths(dataDir).config })
      : parseAddress({ value: options.listen, from: '--listen' });
  const signers = cosigners(dataDir, name);
  const lock = takeLock(paths(dataDir).lock, process.pid);
  const time = options.now ?? now;
  let fault: string | null = null;
  let store: WitnessStore | undefined;
  let derived: { readonly maps: MapStores; readonly witness: IndexWitness } | undefined;
  try {
    store = openServed(dataDir, { moved: options.moved === true, log });
    if (index) {
      const maps = openMapStores(paths(dataDir).maps);
      derived = { maps, witness: new IndexWitness({ store, maps, log, env: options.env ?? process.env }) };
    }
    const server = await listenAsWitness(address, {
      store,
      cosign: cosignBy(signers),
      nowSeconds: () => Math.floor(time() / 1000),
      index: derived?.witness ?? null,
      failed: (error) => {
        log.error({ err: error }, 'the store of the witness failed');
        fault = String(error);
      },
      log,
    });
    const opened = store;
    const close = async (): Promise<void> => {
      await server.close();
      await derived?.witness.stop();
      derived?.maps.close();
      opened.close();
      lock.release();
    };
    let closed: Promise<void> | undefined;
    const once = (): Promise<void> => (closed ??= close());
    setImmediate(() => log.info({ baseUrl: server.url }, 'serving'));
    return {
      url: server.url,
      verifierKeys: signers.map(({ verifierKey }) => verifierKey),
      close: once,
      untilStopped: () => untilStopped({ close: once, fault: () => fault, log }),
    };
  } catch (error) {
    derived?.maps.close();
    store?.close();
    lock.release();
    throw error;
  }
}

/** A key that cosigned logs without deriving their index must never say that an index is right. */
function refuseOtherKind(dataDir: string, isIndex: boolean, asked: boolean): void {
  if (isIndex === asked) return;
  const detail = isIndex
    ? `${dataDir} is an index witness: serve it with gov witness serve --index`
    : `expected an index witness at ${dataDir}, got a witness, whose key never said that an index is right: make one with gov witness init --index`;
  throw new GovError('CONFLICT', detail);
}
