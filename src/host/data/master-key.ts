/**
 * The master key of a data directory, which seals bodies at rest (docs/how-to/encrypt-bodies.md): a file that only its owner reads, the
 * environment, or a systemd credential. `keys/master.check` remembers which key it is, so that a directory is never
 * served without it, or with another one; where that file is missing, the log itself tells. Proven by `test/host/data/master-key.test.ts`.
 */
import { hkdfSync } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import { masterKeyBytes, otherMasterKey } from '../../store/erasure/body-seal.ts';
import { refuseReadableByOthers, writePrivate } from './files.ts';
import type { Variables } from '../process/layers.ts';

/**
 * 32 bytes, or undefined where none is given and none is needed. From GOV_MASTER_KEY_FILE, GOV_MASTER_KEY, or
 * `$CREDENTIALS_DIRECTORY/master-key`, in this order. VALIDATION_ERROR for what is no key, STORAGE_FAULT where it is not
 * the one that the directory was sealed with. The first one that is given is remembered, unless `readonly`.
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
    const detail = `expected 32 hex digits in ${path}, got a damaged file; remove it: the log itself tells its master key`;
    throw new GovError('STORAGE_FAULT', detail);
  }
  const check = masterKeyCheck(given);
  if (known !== null && known !== check) throw otherMasterKey(dataDir, 'another one');
  if (known === null && !readonly) writePrivate(path, `${check}\n`);
  return given;
}

/** Tells a master key from others and nothing else of it: 32 hex characters. */
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

/** 32 bytes as they are, or as 64 hex digits, or in base64. */
function parsed(bytes: Buffer, from: string): Uint8Array {
  if (bytes.length === masterKeyBytes) return bytes;
  const text = bytes.toString('latin1').trim();
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64');
  const detail = `expected ${masterKeyBytes} bytes, 64 hex digits, or base64 of ${masterKeyBytes} bytes`;
  throw new GovError('VALIDATION_ERROR', `${from}: ${detail}, got ${bytes.length} bytes of something else`);
}
