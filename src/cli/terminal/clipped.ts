/**
 * Long values on a terminal: the beginning, the size and a hash, so that one of them does not hide the others.
 * Tested by `test/cli/terminal/clipped.test.ts`.
 */
import { isObject } from '../../core/json/object.ts';
import { shortHash } from '../program/short-hash.ts';

/** Characters of a value in a list, and in a view of one resource. */
const cellChars = 40;
const viewChars = 200;

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** The value on one line; of a long one the beginning, its bytes, and the start of the SHA-256 of its text. */
export function clipped(value: unknown, chars: number = viewChars): string {
  const text = textOf(value);
  if (text.length <= chars) return text;
  return `${text.slice(0, chars).toWellFormed()}… (${Buffer.byteLength(text)} bytes, sha256:${shortHash(text)}…)`;
}

/** An object as JSON on one line, with every name; in a long one the long values are clipped. */
export function clippedObject(value: unknown): string {
  const text = textOf(value);
  if (text.length <= viewChars || !isObject(value)) return clipped(value);
  const members = Object.entries(value).map(
    ([name, each]) => `${JSON.stringify(name)}:${clipped(JSON.stringify(each), cellChars)}`,
  );
  return `{${members.join(',')}}`;
}
