/**
 * The master key of a data directory, which seals bodies at rest (docs/how-to/encrypt-bodies.md). It comes from
 * a file that only its owner reads, from the environment, or from a systemd credential. `keys/master.check`
 * identifies the key, so that no process serves the directory without it or with another key. Where that file
 * is missing, the log identifies the key. Proven by `test/host/keys/master.test.ts`.
 */
import { hkdfSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import { masterKeyBytes, otherMasterKey } from '../../store/erasure/body-seal.ts';
import { refuseReadableByOthers, writePrivate } from '../files/private.ts';
import type { Variables } from '../config/layers.ts';

/**
 * Returns 32 bytes, or undefined where no key is given and none is needed. Sources in order:
 * GOV_MASTER_KEY_FILE, GOV_MASTER_KEY, `$CREDENTIALS_DIRECTORY/master-key`. VALIDATION_ERROR for an invalid
 * key, STORAGE_FAULT where another key sealed the directory. Stores the check of the first key, unless
 * `readonly`.
 */
export function readMasterKey(
  dataDir: string,
  env: Variables,
  { readonly = false }: { readonly readonly?: boolean } = {},
): Uint8Array | undefined {
  const given = givenKey(env);
  const path = join(dataDir, 'keys', 'master.check');
  const known = existsSync(path) ? readFileSync(path, 'utf8').trim() : null;
  if (given === null && known === null) return undefined;
  if (given === null) throw otherMasterKey(dataDir, 'none');
  if (known !== null && !/^[0-9a-f]{32}$/.test(known)) {
    const detail = `expected 32 hex digits in ${path}, got a damaged file; remove it: the log identifies its master key`;
    throw new GovError('STORAGE_FAULT', detail);
  }
  const check = masterKeyCheck(given);
  if (known !== null && known !== check) throw otherMasterKey(dataDir, 'another one');
  if (known === null && !readonly) writePrivate(path, `${check}\n`);
  return given;
}

/** Identifies a master key and reveals nothing about it: 32 hex characters. */
export const masterKeyCheck = (key: Uint8Array): string =>
  Buffer.from(hkdfSync('sha256', key, '', 'gov.mastercheck/v1', 16)).toString('hex');

function givenKey(env: Variables): Uint8Array | null {
  const { GOV_MASTER_KEY_FILE: file, GOV_MASTER_KEY: text, CREDENTIALS_DIRECTORY: credentials } = env;
  if (file !== undefined && file !== '') return fromFile(resolve(file), 'GOV_MASTER_KEY_FILE');
  if (text !== undefined && text !== '') return parsed(Buffer.from(text), 'GOV_MASTER_KEY');
  const credential = credentials === undefined ? '' : join(credentials, 'master-key');
  return credential !== '' && existsSync(credential) ? fromFile(credential, credential) : null;
}

function fromFile(path: string, from: string): Uint8Array {
  if (!existsSync(path))
    throw new GovError('VALIDATION_ERROR', `${from}: expected a file, got none at ${path}`);
  refuseReadableByOthers(path);
  return parsed(readFileSync(path), from);
}

/** Accepts 32 raw bytes, 64 hex digits, or base64. */
function parsed(bytes: Buffer, from: string): Uint8Array {
  if (bytes.length === masterKeyBytes) return bytes;
  const text = bytes.toString('latin1').trim();
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64');
  const detail = `expected ${masterKeyBytes} bytes, 64 hex digits, or base64 of ${masterKeyBytes} bytes`;
  throw new GovError('VALIDATION_ERROR', `${from}: ${detail}, got ${bytes.length} bytes of something else`);
}
