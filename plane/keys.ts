/**
 * Keys of a plane on disk: `keys/log.ed25519.pem`, `keys/log.mldsa44.pem` where this Node has ML-DSA-44,
 * `keys/attestation.p256.pem` for exported statements (cosign and sigstore verify P-256), and `keys/store.key`. All
 * are made here, 0600, and never leave the machine. Proven by `test/plane/init.test.ts`.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { GovError } from '../src/contract/problems.ts';
import { ed25519Signer, hasMlDsa44, mlDsa44Signer, type CheckpointSigner } from '../src/core/checkpoint.ts';
import { type DsseEnvelope, inTotoPayloadType, signDsse } from '../src/core/dsse.ts';
import { keyIdText, parseVerifierKey } from '../src/core/notekey.ts';
import { refuseReadableByOthers, writePrivate } from '../src/host/files.ts';
import type { StoreReader } from '../src/store/port.ts';

const storeKeyBytes = 32;

export interface PlaneKeys {
  /** Signers of checkpoints with this origin, Ed25519 first. */
  readonly signers: (origin: string) => readonly CheckpointSigner[];
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

/** Makes the keys of a new plane; fails where there are any. */
export function createKeys(dataDir: string, randomBytes: (size: number) => Buffer): PlaneKeys {
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
export function readKeys(dataDir: string): PlaneKeys {
  const { ed25519, mlDsa44, attestation, store } = paths(dataDir);
  const ed25519Key = readKey(ed25519);
  const attestationPrivate = readKey(attestation);
  const mlDsa44Key = existsSync(mlDsa44) ? readKey(mlDsa44) : null;
  if (mlDsa44Key !== null && !hasMlDsa44()) {
    throw new GovError(
      'STORAGE_FAULT',
      'expected a Node with ML-DSA-44 (24.6 or later), as this plane signs with it',
    );
  }
  const storeKey = Buffer.from(readSecret(store).trim(), 'hex');
  if (storeKey.length !== storeKeyBytes) {
    throw new GovError(
      'STORAGE_FAULT',
      `expected ${storeKeyBytes} bytes in hex in ${store}; restore it from a backup`,
    );
  }
  const made = new Map<string, readonly CheckpointSigner[]>();
  const signers = (origin: string): readonly CheckpointSigner[] => {
    const known = made.get(origin);
    if (known !== undefined) return known;
    const mlDsa44Signers = mlDsa44Key === null ? [] : [mlDsa44Signer(origin, mlDsa44Key)];
    const fresh = [ed25519Signer(origin, ed25519Key), ...mlDsa44Signers];
    made.set(origin, fresh);
    return fresh;
  };
  return {
    storeKey,
    signers,
    attest: (statement) => signDsse(inTotoPayloadType, statement, attestationPrivate),
    attestationKey: createPublicKey(attestationPrivate).export({ format: 'pem', type: 'spki' }).toString(),
  };
}

/**
 * Refuses to serve a log whose first leaf pins other keys than these: a checkpoint signed with them would verify
 * nowhere. STORAGE_FAULT, naming each key that is missing and each that is not pinned.
 */
export async function refuseForeignKeys(
  store: Pick<StoreReader, 'leaf'>,
  projectId: string,
  verifierKeys: readonly string[],
): Promise<void> {
  const leaf = await store.leaf(projectId, 0);
  const pinned = leaf === null ? [] : pinnedKeys(leaf.record);
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

const keyFiles: Readonly<Record<string, string>> = {
  ed25519: 'keys/log.ed25519.pem',
  'ml-dsa-44': 'keys/log.mldsa44.pem',
};

/** `ed25519 gov.local/…/audit+3f2a… (keys/log.ed25519.pem)`: enough to tell keys apart. */
function keyName(text: string): string {
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
