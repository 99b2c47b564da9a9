/**
 * A sealed approver key, `gov.sealedkey/1`: an Ed25519 key that only a phrase opens. The phrase gives a key by scrypt
 * (RFC 7914, N = 131,072, r = 8, p = 1: 128 MiB, about 0.4 s), which seals the PKCS#8 form (RFC 5958) with AES-256-GCM.
 *
 *   {"format", "kdf": {"name", "N", "r", "p", "salt"}, "publicKey", "iv", "box", "token": {"iv", "box"}}
 *
 * `publicKey` is a SubjectPublicKeyInfo; a box ends with its tag of 16 bytes; `token` seals the API key that sends the
 * decisions, under the same key. All bytes are base64url. Proven by `test/core/approvals/sealed-key.test.ts`.
 */
import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  scrypt,
  type KeyObject,
} from 'node:crypto';
import { isObject } from '../json/object.ts';
import type { JsonObject } from '../json/parse.ts';

const format = 'gov.sealedkey/1';
const cost = { N: 131_072, r: 8, p: 1 } as const;
const saltBytes = 16;
const ivBytes = 12;
const tagBytes = 16;
const publicKeyBytes = 44;

interface Box {
  readonly iv: Buffer;
  readonly box: Buffer;
}

/** A sealed key as read, not opened. */
export interface SealedKey extends Box {
  readonly salt: Buffer;
  /** SubjectPublicKeyInfo. */
  readonly publicKey: Buffer;
  readonly token: Box;
}

export interface OpenedKey {
  readonly privateKey: KeyObject;
  /** The API key that sends the decisions. */
  readonly token: string;
}

/** Makes a key and seals it. Returns the text of the file, and the key. Cost: one scrypt. */
export async function sealNewKey(
  phrase: string,
  token: string,
): Promise<{ readonly text: string; readonly privateKey: KeyObject }> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const salt = randomBytes(saltBytes);
  const key = await keyOf(phrase, salt);
  const file = {
    format,
    kdf: { name: 'scrypt', ...cost, salt: salt.toString('base64url') },
    publicKey: publicKey.export({ type: 'spki', format: 'der' }).toString('base64url'),
    ...sealed(key, privateKey.export({ type: 'pkcs8', format: 'der' })),
    token: sealed(key, Buffer.from(token)),
  };
  return { text: `${JSON.stringify(file, null, 2)}\n`, privateKey };
}

/** Returns the sealed key in a parsed file, or which member is damaged: `expected …, got …`. */
export function readSealedKey(value: unknown): SealedKey | { readonly fault: string } {
  const fault = (member: string, expected: string): { fault: string } => ({
    fault: `${member}: expected ${expected}, got another value`,
  });
  if (!isObject(value)) return { fault: `expected an object of format ${format}, got another text` };
  const { kdf, token } = value;
  if (value['format'] !== format) return fault('format', format);
  if (!isObject(kdf)) return fault('kdf', 'an object');
  const isOurs = kdf['name'] === 'scrypt' && Object.entries(cost).every(([name, n]) => kdf[name] === n);
  if (!isOurs) return fault('kdf', `scrypt with N ${cost.N}, r ${cost.r}, p ${cost.p}`);
  const salt = bytesOf(kdf, 'salt');
  if (salt?.length !== saltBytes) return fault('kdf.salt', `${saltBytes} bytes in base64url`);
  const publicKey = bytesOf(value, 'publicKey');
  if (publicKey?.length !== publicKeyBytes)
    return fault('publicKey', `an Ed25519 key of ${publicKeyBytes} bytes in base64url`);
  const own = boxOf(value);
  if (own === null) return fault('iv and box', `${ivBytes} bytes, and more than ${tagBytes}, in base64url`);
  const sealedToken = isObject(token) ? boxOf(token) : null;
  if (sealedToken === null) return fault('token', 'iv and box in base64url');
  return { ...own, salt, publicKey, token: sealedToken };
}

/** Returns the opened key; null for another phrase, or a box that was changed. Cost: one scrypt. */
export async function openSealedKey(file: SealedKey, phrase: string): Promise<OpenedKey | null> {
  const key = await keyOf(phrase, file.salt);
  try {
    const der = opened(key, file);
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    const own = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
    if (!own.equals(file.publicKey)) return null;
    return { privateKey, token: opened(key, file.token).toString() };
  } catch {
    return null;
  }
}

/** People type a phrase with blanks or with hyphens. */
const plain = (phrase: string): string =>
  phrase
    .normalize('NFKC')
    .trim()
    .replaceAll(/[\s-]+/g, '-');

/** How many characters of a phrase count. */
export const phraseLength = (phrase: string): number => [...plain(phrase)].length;

function keyOf(phrase: string, salt: Buffer): Promise<Buffer> {
  const options = { ...cost, maxmem: 2 * 128 * cost.N * cost.r };
  return new Promise((resolve, reject) => {
    scrypt(plain(phrase), salt, 32, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

function sealed(key: Buffer, bytes: Buffer): { iv: string; box: string } {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  const box = Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()]);
  return { iv: iv.toString('base64url'), box: box.toString('base64url') };
}

function opened(key: Buffer, { iv, box }: Box): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, iv, { authTagLength: tagBytes });
  decipher.setAuthTag(box.subarray(-tagBytes));
  return Buffer.concat([decipher.update(box.subarray(0, -tagBytes)), decipher.final()]);
}

function boxOf(value: JsonObject): Box | null {
  const [iv, box] = [bytesOf(value, 'iv'), bytesOf(value, 'box')];
  return iv?.length === ivBytes && box !== null && box.length > tagBytes ? { iv, box } : null;
}

function bytesOf(value: JsonObject, member: string): Buffer | null {
  const text = value[member];
  const bytes = typeof text === 'string' ? Buffer.from(text, 'base64url') : null;
  return bytes !== null && bytes.toString('base64url') === text ? bytes : null;
}
