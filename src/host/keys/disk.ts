/**
 * The keys of a plane or a service on disk, all created here with mode 0600. They never leave the machine.
 * `keys/log.ed25519.pem`, and `keys/log.mldsa44.pem` where this Node has ML-DSA-44, sign logs.
 * `keys/attestation.p256.pem` signs exported statements, since cosign and sigstore verify P-256.
 * `keys/store.key` is the source of derived keys. Rotated keys have a number in their names,
 * `keys/log.2.ed25519.pem`. All keys directly in `keys/` sign a log, and `plane/keys/own.ts` moves them as the
 * log says. Proven by `test/plane/data/init.test.ts`, `test/host/keys/disk.test.ts` and
 * `test/plane/keys/rotate.test.ts`.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import {
  ed25519Signer,
  hasMlDsa44,
  mlDsa44Signer,
  type CheckpointSigner,
} from '../../core/note/checkpoint.ts';
import { type DsseEnvelope, inTotoPayloadType, signDsse } from '../../core/note/dsse.ts';
import { keyIdText, parseVerifierKey } from '../../core/note/key.ts';
import { refuseReadableByOthers, replacePrivate, writePrivate } from '../files/private.ts';

const storeKeyBytes = 32;

/** Signers are cached for this many logs. Creating others again costs a tenth of a millisecond. */
const originsKept = 1000;

export interface HostKeys {
  /** Signers of checkpoints with this origin. The oldest pair comes first, and Ed25519 first in each pair. */
  readonly signers: (origin: string) => readonly CheckpointSigner[];
  /** Verifier keys of the log with this origin: present signers first, then former ones. */
  readonly verifierKeys: (origin: string) => readonly string[];
  /**
   * The signer of reports and attestations: the key by which the service knows this plane. A rotation keeps it.
   */
  readonly telemetrySigners: (origin: string) => readonly CheckpointSigner[];
  /** Signs an in-toto Statement with the attestation key. */
  readonly attest: (statement: Uint8Array) => DsseEnvelope;
  /** The public half of the attestation key, SPKI in PEM. */
  readonly attestationKey: string;
  /** 32 bytes from which cursor and fingerprint keys are derived. */
  readonly storeKey: Buffer;
}

const paths = (dataDir: string) => ({
  folder: join(dataDir, 'keys'),
  ed25519: join(dataDir, 'keys', 'log.ed25519.pem'),
  mlDsa44: join(dataDir, 'keys', 'log.mldsa44.pem'),
  attestation: join(dataDir, 'keys', 'attestation.p256.pem'),
  store: join(dataDir, 'keys', 'store.key'),
});

/** Creates the keys in a new data directory. Throws where keys exist. */
export function createKeys(dataDir: string, randomBytes: (size: number) => Buffer): HostKeys {
  const { folder, ed25519, mlDsa44, attestation, store } = paths(dataDir);
  mkdirSync(folder, { mode: 0o700 });
  writeLogKeys({ ed25519, mlDsa44 });
  writePrivate(attestation, privatePem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey));
  writePrivate(store, `${randomBytes(storeKeyBytes).toString('hex')}\n`);
  return readKeys(dataDir);
}

/**
 * Creates a pair of log keys: Ed25519, and ML-DSA-44 where this Node has it. A crash leaves no partial key
 * file, but perhaps a draft or only the first key.
 */
export function writeLogKeys(files: { readonly ed25519: string; readonly mlDsa44: string }): void {
  replacePrivate(files.ed25519, privatePem(generateKeyPairSync('ed25519').privateKey));
  if (hasMlDsa44()) replacePrivate(files.mlDsa44, privatePem(generateKeyPairSync('ml-dsa-44').privateKey));
}

export const privatePem = (key: KeyObject): string => key.export({ format: 'pem', type: 'pkcs8' }).toString();

/** Reads the keys. FORBIDDEN where others may read them, STORAGE_FAULT where one is missing or damaged. */
export function readKeys(dataDir: string): HostKeys {
  const { folder, ed25519, attestation, store } = paths(dataDir);
  const pairs = logKeyFiles(folder);
  if (pairs.length === 0) readSecret(ed25519); // throws an error that names the missing file
  const keys = pairs.map(readPair);
  const attestationPrivate = readPrivateKey(attestation);
  const storeKey = Buffer.from(readSecret(store).trim(), 'hex');
  if (storeKey.length !== storeKeyBytes) {
    throw new GovError(
      'STORAGE_FAULT',
      `expected ${storeKeyBytes} bytes in hex in ${store}; restore it from a backup`,
    );
  }
  const signers = keptSigners((origin) => keys.flatMap((pair) => signersOf(origin, pair)));
  return {
    storeKey,
    signers,
    verifierKeys: (origin) => signers(origin).map(({ verifierKey }) => verifierKey),
    telemetrySigners: (origin) => {
      const kept = readTelemetryKey(dataDir);
      const first = kept === null ? keys[0] : { ed25519: kept, mlDsa44: null };
      return first === undefined ? [] : signersOf(origin, first);
    },
    attest: (statement) => signDsse(inTotoPayloadType, statement, attestationPrivate),
    attestationKey: createPublicKey(attestationPrivate).export({ format: 'pem', type: 'spki' }).toString(),
  };
}

/** The Ed25519 key that the service knows, after the log stopped using it. The next enrolment removes it. */
export const telemetryKeyFile = 'telemetry.ed25519.pem';

/**
 * Null where the service knows the plane by a key that signs the log. STORAGE_FAULT where the file is damaged.
 */
export function readTelemetryKey(dataDir: string): KeyObject | null {
  const path = join(dataDir, 'keys', telemetryKeyFile);
  if (!existsSync(path)) return null;
  try {
    return readPrivateKey(path);
  } catch (cause) {
    if (!(cause instanceof GovError) || cause.code !== 'STORAGE_FAULT') throw cause;
    const detail =
      `expected the private key by which the service knows this plane in ${path}; enrol it again with a token for the ` +
      'same data plane: gov planes token at the service, gov plane enroll --force here';
    throw new GovError('STORAGE_FAULT', detail, { cause });
  }
}

export interface LogKeyFiles {
  /** 1 for the first keys of the log. */
  readonly generation: number;
  readonly ed25519: string | null;
  readonly mlDsa44: string | null;
}

const logKeyForm = /^log(?:\.([1-9][0-9]{0,3}))?\.(ed25519|mldsa44)\.pem$/;

/** File name such as `log.2.ed25519.pem`. The first generation has no number: `log.ed25519.pem`. */
export const logKeyFile = (generation: number, algorithm: 'ed25519' | 'mldsa44'): string =>
  `log${generation === 1 ? '' : `.${generation}`}.${algorithm}.pem`;

/** The log keys in a folder, by generation. Empty where there is no such folder. */
export function logKeyFiles(folder: string): LogKeyFiles[] {
  const generations = new Map<number, { ed25519: string | null; mlDsa44: string | null }>();
  for (const name of existsSync(folder) ? readdirSync(folder) : []) {
    const [, number = '1', algorithm] = logKeyForm.exec(name) ?? [];
    if (algorithm === undefined) continue;
    const pair = generations.get(Number(number)) ?? { ed25519: null, mlDsa44: null };
    pair[algorithm === 'ed25519' ? 'ed25519' : 'mlDsa44'] = join(folder, name);
    generations.set(Number(number), pair);
  }
  return [...generations]
    .map(([generation, pair]) => ({ generation, ...pair }))
    .toSorted((one, other) => one.generation - other.generation);
}

interface LogKeys {
  readonly ed25519: KeyObject;
  readonly mlDsa44: KeyObject | null;
}

function readPair({ ed25519, mlDsa44, generation }: LogKeyFiles): LogKeys {
  if (mlDsa44 !== null && !hasMlDsa44()) {
    throw new GovError(
      'STORAGE_FAULT',
      'expected a Node with ML-DSA-44 (24.6 or later), as the log is signed with it',
    );
  }
  return {
    // reading a missing file throws an error that names it
    ed25519: readPrivateKey(ed25519 ?? join(dirname(mlDsa44 ?? ''), logKeyFile(generation, 'ed25519'))),
    mlDsa44: mlDsa44 === null ? null : readPrivateKey(mlDsa44),
  };
}

const signersOf = (origin: string, { ed25519, mlDsa44 }: LogKeys): CheckpointSigner[] => [
  ed25519Signer(origin, ed25519),
  ...(mlDsa44 === null ? [] : [mlDsa44Signer(origin, mlDsa44)]),
];

/** The signers of the keys in a folder, by generation. The keys wait for a leaf that adds them. */
export const signersIn = (folder: string, origin: string): readonly CheckpointSigner[] =>
  logKeyFiles(folder).flatMap((pair) => signersOf(origin, readPair(pair)));

/** Caches the signers of the most recent logs. */
function keptSigners(make: HostKeys['signers']): HostKeys['signers'] {
  const kept = new Map<string, readonly CheckpointSigner[]>();
  return (origin) => {
    const signers = kept.get(origin) ?? make(origin);
    kept.delete(origin);
    kept.set(origin, signers); // a Map keeps the order of insertion
    const [oldest] = kept.keys();
    if (kept.size > originsKept && oldest !== undefined) kept.delete(oldest);
    return signers;
  };
}

const keyFiles: Readonly<Record<string, string>> = {
  ed25519: 'keys/log.ed25519.pem',
  'ml-dsa-44': 'keys/log.mldsa44.pem',
};

/** `ed25519 gov.local/…/audit+3f2a… (keys/log.ed25519.pem)`: enough to tell keys apart. */
export function keyName(text: string): string {
  const { algorithm, name, keyId } = parseVerifierKey(text);
  return `${algorithm} key ${name}+${keyIdText(keyId)} (${keyFiles[algorithm] ?? 'no file'})`;
}

function readSecret(path: string): string {
  if (!existsSync(path)) {
    throw new GovError(
      'STORAGE_FAULT',
      `expected a key at ${path}; restore it from a backup of the data directory`,
    );
  }
  refuseReadableByOthers(path);
  return readFileSync(path, 'utf8');
}

/** Reads a key. FORBIDDEN where others may read it, STORAGE_FAULT where it is missing or damaged. */
export function readPrivateKey(path: string): KeyObject {
  const text = readSecret(path);
  try {
    return createPrivateKey(text);
  } catch (cause) {
    throw new GovError('STORAGE_FAULT', `expected a private key in ${path}; restore it from a backup`, {
      cause,
    });
  }
}
