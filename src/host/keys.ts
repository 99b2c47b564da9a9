/**
 * Keys of a plane or a service on disk: `keys/log.ed25519.pem`, `keys/log.mldsa44.pem` where this Node has ML-DSA-44,
 * `keys/attestation.p256.pem` for exported statements (cosign and sigstore verify P-256), and `keys/store.key`. All
 * are made here, 0600, and never leave the machine. Proven by `test/plane/init.test.ts` and `test/host/keys.test.ts`.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GovError } from '../contract/problems.ts';
import { ed25519Signer, hasMlDsa44, mlDsa44Signer, type CheckpointSigner } from '../core/checkpoint.ts';
import { type DsseEnvelope, inTotoPayloadType, signDsse } from '../core/dsse.ts';
import { keyIdText, parseVerifierKey } from '../core/notekey.ts';
import { refuseReadableByOthers, writePrivate } from './files.ts';

const storeKeyBytes = 32;

/** Logs whose signers are kept; those of another one are made anew, in a tenth of a millisecond. */
const originsKept = 1000;

export interface HostKeys {
  /** Signers of checkpoints with this origin: Ed25519 first of each pair, the oldest pair first. */
  readonly signers: (origin: string) => readonly CheckpointSigner[];
  /** Verifier keys of the log with this origin: those of its signers, then those that signed it once. */
  readonly verifierKeys: (origin: string) => readonly string[];
  /** Whom the service knows as this plane, which a rotation does not change: the signer of reports and attestations. */
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

/** Makes the keys in a new data directory; fails where there are any. */
export function createKeys(dataDir: string, randomBytes: (size: number) => Buffer): HostKeys {
  const { folder, ed25519, mlDsa44, attestation, store } = paths(dataDir);
  mkdirSync(folder, { mode: 0o700 });
  writePrivate(ed25519, pem(generateKeyPairSync('ed25519').privateKey));
  if (hasMlDsa44()) writePrivate(mlDsa44, pem(generateKeyPairSync('ml-dsa-44').privateKey));
  writePrivate(attestation, pem(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey));
  writePrivate(store, `${randomBytes(storeKeyBytes).toString('hex')}\n`);
  return readKeys(dataDir);
}

const pem = (key: KeyObject): string => key.export({ format: 'pem', type: 'pkcs8' }).toString();

/** Reads the keys; FORBIDDEN where others may read them, STORAGE_FAULT where one is missing or damaged. */
export function readKeys(dataDir: string): HostKeys {
  const { ed25519, mlDsa44, attestation, store } = paths(dataDir);
  const ed25519Key = readKey(ed25519);
  const attestationPrivate = readKey(attestation);
  const mlDsa44Key = existsSync(mlDsa44) ? readKey(mlDsa44) : null;
  if (mlDsa44Key !== null && !hasMlDsa44()) {
    throw new GovError(
      'STORAGE_FAULT',
      'expected a Node with ML-DSA-44 (24.6 or later), as the log is signed with it',
    );
  }
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
      const kept = join(folder, telemetryKeyFile);
      const first = existsSync(kept) ? { ed25519: readPrivateKey(kept), mlDsa44: null } : keys[0];
      return first === undefined ? [] : signersOf(origin, first);
    },
    attest: (statement) => signDsse(inTotoPayloadType, statement, attestationPrivate),
    attestationKey: createPublicKey(attestationPrivate).export({ format: 'pem', type: 'spki' }).toString(),
  };
}

/** Keeps the signers of the logs that were used last. */
function keptSigners(make: HostKeys['signers']): HostKeys['signers'] {
  const kept = new Map<string, readonly CheckpointSigner[]>();
  return (origin) => {
    const signers = kept.get(origin) ?? make(origin);
    kept.delete(origin);
    kept.set(origin, signers); // a Map keeps the order in which its keys were set
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

function readKey(path: string): KeyObject {
  const text = readSecret(path);
  try {
    return createPrivateKey(text);
  } catch (cause) {
    throw new GovError('STORAGE_FAULT', `expected a private key in ${path}; restore it from a backup`, {
      cause,
    });
  }
}
