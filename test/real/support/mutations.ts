/** Small changes of a bundle's bytes, and what a changed bundle still says. */
import { canonicalize, type Json, type JsonObject, parseJson } from '../../../src/core/json/parse.ts';
import { limits } from '../../../src/contract/limits.ts';

/** The file with one bit flipped. */
export function flipped(bytes: Buffer, at: number, bit: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ (1 << bit);
  return copy;
}

const replaced = (bytes: Buffer, at: number, { drop, put }: { drop: number; put: Uint8Array }): Buffer =>
  Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + drop)]);

/** Changes of one place that damaged copies and clumsy forgers make. */
export const edits: Readonly<Record<string, (bytes: Buffer, at: number) => Buffer>> = {
  'a byte deleted': (bytes, at) => replaced(bytes, at, { drop: 1, put: Buffer.alloc(0) }),
  'a byte doubled': (bytes, at) => replaced(bytes, at, { drop: 0, put: bytes.subarray(at, at + 1) }),
  'two bytes exchanged': (bytes, at) =>
    replaced(bytes, at, { drop: 2, put: Buffer.from(bytes.subarray(at, at + 2)).reverse() }),
  'a space inserted': (bytes, at) => replaced(bytes, at, { drop: 0, put: Buffer.from(' ') }),
  'a comma inserted': (bytes, at) => replaced(bytes, at, { drop: 0, put: Buffer.from(',') }),
  'a zero inserted': (bytes, at) => replaced(bytes, at, { drop: 0, put: Buffer.from('0') }),
  'a quote put': (bytes, at) => replaced(bytes, at, { drop: 1, put: Buffer.from('"') }),
  'an A put': (bytes, at) => replaced(bytes, at, { drop: 1, put: Buffer.from('A') }),
  'cut off': (bytes, at) => bytes.subarray(0, at),
};

const bounds = { depth: limits.jsonDepth, values: 1e6, nameChars: 1e3, stringBytes: 1e7 };

/**
 * All that a bundle says, as one text: its JSON value, with the signature lines of both notes taken off. Null
 * where it is no JSON object.
 */
export function meaningOf(bytes: Buffer): string | null {
  let value: Json;
  try {
    value = parseJson(bytes, bounds);
  } catch {
    return null;
  }
  const bundle = value as JsonObject;
  const signed = (name: string): Json => String(bundle[name]).split('\n\n')[0] ?? '';
  return canonicalize({
    ...bundle,
    checkpoint: signed('checkpoint'),
    proofCheckpoint: signed('proofCheckpoint'),
  });
}

/** Byte offsets of the signature lines of both notes, each [start, end) of what follows `— `. */
export function signatureLines(bytes: Buffer): { readonly start: number; readonly end: number }[] {
  const text = bytes.toString('latin1');
  const dash = Buffer.from('\\n— ').toString('latin1');
  return [...text.matchAll(new RegExp(`${dash.replace('\\', '\\\\')}([^\\\\]*)`, 'g'))].map((match) => {
    const start = match.index + dash.length;
    return { start, end: start + (match[1]?.length ?? 0) };
  });
}
