/**
 * SHA-256 (FIPS 180-4) and how hashes are written. In JSON a hash is `sha256:` and 64 lower-case hex digits.
 * Every hash that is not an RFC 6962 leaf or node is SHA-256(label "\n" JCS(object)): its preimage is a text
 * file, so `sha256sum file` reproduces it, and its first byte `g` (0x67) keeps it apart from leaves (0x00)
 * and nodes (0x01). Proven by `test/core/hash.test.ts` (FIPS 180-4 known answers).
 */
import { hash, timingSafeEqual } from 'node:crypto';
import { canonicalize } from './json/canonical.ts';
import type { Json } from './json/canonical.ts';

const hashPattern = /^sha256:[0-9a-f]{64}$/;

/** SHA-256 of bytes, or of the UTF-8 form of a text: 32 bytes. About 1 µs for 600 bytes. */
export function sha256(data: string | Uint8Array): Buffer {
  // by way of a one-byte string: measured a third faster than asking for a Buffer
  return Buffer.from(hash('sha256', data, 'binary'), 'binary');
}

/** `sha256:` and 64 lower-case hex digits of a 32-byte hash. */
export function hashText(hash: Uint8Array): string {
  if (hash.length !== 32) throw new Error(`expected a hash of 32 bytes, got ${hash.length}`);
  const bytes = Buffer.isBuffer(hash) ? hash : Buffer.from(hash.buffer, hash.byteOffset, 32);
  return `sha256:${bytes.toString('hex')}`;
}

/** The 32 bytes of a hash text, or null for anything but the exact form. The text may be an attacker's. */
export function parseHash(text: string): Buffer | null {
  return hashPattern.test(text) ? Buffer.from(text.slice(7), 'hex') : null;
}

/** SHA-256 as text, without a buffer in between. */
export function sha256Text(data: string | Uint8Array): string {
  return `sha256:${hash('sha256', data, 'hex')}`;
}

/**
 * The hash of a labelled object, `sha256:…`, and the text it was taken of, to be stored or shown beside it.
 * A label that does not start with `gov.` or holds a line break is a bug and throws.
 */
export function labelled(label: string, object: Json): { preimage: string; hash: string } {
  if (!label.startsWith('gov.') || label.includes('\n')) {
    throw new Error(`expected a one-line label that starts with gov., got ${JSON.stringify(label)}`);
  }
  const preimage = `${label}\n${canonicalize(object)}`;
  return { preimage, hash: sha256Text(preimage) };
}

/** Whether two hashes are equal, in time that does not depend on where they differ. */
export function equalHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && timingSafeEqual(a, b);
}
