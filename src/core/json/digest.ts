/**
 * What is kept in place of content: its SHA-256 over canonical JSON (RFC 8785), and its size. It equals the `argumentsHash`
 * of a tool evaluation. Tested by `test/core/intake/otlp/capture.test.ts`.
 */
import { hash } from 'node:crypto';
import { canonicalize, type Json } from './canonical.ts';
import { isObject } from './object.ts';

interface Digest {
  readonly hash: string;
  readonly bytes: number;
}

export const isDigest = (value: unknown): value is Digest =>
  isObject(value) && Object.keys(value).length === 2 && 'hash' in value && 'bytes' in value;

export function digestOf(value: unknown): Digest {
  const text = canonicalOf(value);
  return { hash: `sha256:${hash('sha256', text, 'hex')}`, bytes: Buffer.byteLength(text) };
}

/** Numbers and texts that JSON cannot carry are hashed as the texts that would be recorded. */
function canonicalOf(value: unknown): string {
  try {
    return canonicalize(value as Json);
  } catch (error) {
    if (error instanceof RangeError) throw error;
    const repaired = JSON.stringify(value, (_name, each: unknown) => {
      if (typeof each === 'string') return each.toWellFormed();
      return typeof each === 'number' && !Number.isFinite(each) ? String(each) : each;
    });
    return canonicalize(JSON.parse(repaired) as Json);
  }
}
