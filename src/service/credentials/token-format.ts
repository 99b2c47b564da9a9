/**
 * API keys and other tokens (contract B3, B4, B9): `gov_<kind>_` + 32 base62 characters (190 random bits) + 6
 * base62 characters of CRC-32 over everything before. The checksum is tested before any look-up, so typing
 * errors and random guesses never reach the store. The store keeps only the token's SHA-256, its first 13 and
 * last 4 characters. Proven by `test/service/credentials/token-format.test.ts`.
 */
import { crc32 } from 'node:zlib';
import { limits } from '../../contract/limits.ts';
import { sha256 } from '../../core/hash.ts';
import { typeId } from '../../core/id.ts';
import type { ApiKeyRow } from '../../store/port/store.ts';
import type { Project } from '../../store/port/store.ts';

export const keyKinds = ['live', 'test', 'hyb', 'enr', 'shr', 'cli'] as const;
export type KeyKind = (typeof keyKinds)[number];

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const randomChars = 32;
const checksumChars = 6;
const tokenPattern = /^gov_(live|test|hyb|enr|shr|cli)_[0-9A-Za-z]{38}$/;

/** The kind of key for a project's environment. */
const kindOf = (environment: Project['environment']): KeyKind =>
  environment === 'production' ? 'live' : 'test';

/** A new token. The caller shows it once and keeps only its `keyDigest`. */
export function createToken(kind: KeyKind, randomBytes: (size: number) => Uint8Array): string {
  let token = `gov_${kind}_`;
  const length = token.length + randomChars;
  while (token.length < length) {
    for (const byte of randomBytes(randomChars * 2)) {
      // 248 = 4 × 62: bytes above it would favour the first characters
      if (byte < 248 && token.length < length) token += alphabet[byte % 62];
    }
  }
  return token + checksum(token);
}

/** The kind of a well-formed token, or null, without a look-up. An attacker controls the text. */
export function tokenKind(token: string): KeyKind | null {
  const kind = tokenPattern.exec(token)?.[1];
  if (kind === undefined) return null;
  const at = token.length - checksumChars;
  return checksum(token.slice(0, at)) === token.slice(at) ? (kind as KeyKind) : null;
}

/** The 32 bytes that the store keeps and looks up. With 190 bits of entropy no slow hash is needed. */
export const keyDigest = (token: string): Buffer => sha256(token);

/** Null where it is malformed. */
type ReadToken =
  | { readonly kind: KeyKind; readonly digest: Buffer }
  | { readonly kind: null; readonly digest: null };

/**
 * Reads tokens and caches the results of a few well-formed ones, so that frequent callers are not parsed
 * again. A cached result says nothing about whether the token is valid.
 */
export class TokenReader {
  readonly #held = new Map<string, ReadToken>();

  get held(): number {
    return this.#held.size;
  }

  read(token: string): ReadToken {
    const held = this.#held.get(token);
    if (held !== undefined) return held;
    const kind = tokenKind(token);
    if (kind === null) return { kind, digest: null };
    const read = { kind, digest: keyDigest(token) };
    if (this.#held.size >= limits.tokensHeld) this.#held.clear();
    // copies the text, so that the cache does not keep the whole header alive
    this.#held.set(Buffer.from(token).toString(), read);
    return read;
  }
}

/** A new key and its row. Only the returned value contains the token. */
export function createKey(
  project: Project,
  options: {
    name: string;
    scopes: readonly string[];
    nowMs: number;
    randomBytes: (size: number) => Uint8Array;
    /** Key or user id; absent for the operator. */
    createdBy?: string;
    description?: string | null;
    expiresMs?: number | null;
    rotatedFrom?: string;
  },
): { token: string; row: ApiKeyRow } {
  const token = createToken(kindOf(project.environment), options.randomBytes);
  const row: ApiKeyRow = {
    keyId: typeId('key', options.nowMs, options.randomBytes(10)),
    projectId: project.projectId,
    digest: keyDigest(token),
    prefix: token.slice(0, limits.keyPrefixChars),
    last4: token.slice(-4),
    name: options.name,
    description: options.description ?? null,
    scopes: options.scopes,
    createdMs: options.nowMs,
    createdBy: options.createdBy ?? 'operator',
    updatedMs: options.nowMs,
    lastUsedMs: null,
    expiresMs: options.expiresMs ?? null,
    revokedMs: null,
    rotatedFrom: options.rotatedFrom ?? null,
  };
  return { token, row };
}

function checksum(text: string): string {
  let value = crc32(text);
  let result = '';
  for (let at = 0; at < checksumChars; at++) {
    result = alphabet[value % 62] + result;
    value = Math.floor(value / 62);
  }
  return result;
}
