/**
 * SHA-256 (FIPS 180-4) and the spelling of hashes. In JSON a hash is `sha256:` and 64 lower-case hex digits.
 * Every hash that is not an RFC 6962 leaf or node is SHA-256(label "\n" JCS(object)): its preimage is a text file, so
 * `sha256sum file` reproduces it. Its first byte `g` (0x67) separates it from leaves (0x00) and nodes (0x01).
 * Proven by `test/core/hash.test.ts` (FIPS 180-4 known answers).
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { canonicalize } from './json/canonical.ts';
import type { Json } from './json/canonical.ts';

const hashPattern = /^sha256:[0-9a-f]{64}$/;

/** Returns SHA-256 of bytes, or of the UTF-8 form of a text: 32 bytes. Cost: about 1 µs for 600 bytes. */
export function sha256(data: string | Uint8Array): Buffer {
  // A one-byte string in between is a third faster than a Buffer (measured).
  return Buffer.from(hash('sha256', data, 'binary'), 'binary');
}

/** Returns `sha256:` and 64 lower-case hex digits of a 32-byte hash. */
export function hashText(hash: Uint8Array): string {
  if (hash.length !== 32) throw new Error(`expected a hash of 32 bytes, got ${hash.length}`);
  const bytes = Buffer.isBuffer(hash) ? hash : Buffer.from(hash.buffer, hash.byteOffset, 32);
  return `sha256:${bytes.toString('hex')}`;
}

/** Returns the 32 bytes of a hash text, or null for any other form. Attacker controlled. */
export function parseHash(text: string): Buffer | null {
  return hashPattern.test(text) ? Buffer.from(text.slice(7), 'hex') : null;
}

/** Returns SHA-256 as text, without a buffer in between. */
export function sha256Text(data: string | Uint8Array): string {
  return `sha256:${hash('sha256', data, 'hex')}`;
}

/**
 * Returns the hash of a labelled object, `sha256:…`, and its preimage, to store or show next to it. Throws for a label
 * that does not start with `gov.` or contains a line break: a bug.
 */
export function labelled(label: string, object: Json): { preimage: string; hash: string } {
  if (!label.startsWith('gov.') || label.includes('\n')) {
    throw new Error(`expected a one-line label that starts with gov., got ${JSON.stringify(label)}`);
  }
  const preimage = `${label}\n${canonicalize(object)}`;
  return { preimage, hash: sha256Text(preimage) };
}

/** Returns whether two hashes are equal, in constant time. */
export function equalHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
