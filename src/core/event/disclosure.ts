/**
 * Salted field commitments in the form of RFC 9901 (SD-JWT) disclosures. A disclosure is
 * `base64url(JCS([salt, pointer, value]))`, its digest `base64url(SHA-256(ASCII(disclosure)))`. Digests stand
 * in the log for ever; salt and value can be deleted, after which nothing can open the digest.
 * Proven by `test/core/event/disclosure.test.ts` (RFC 9901 §4.2.1 known answers).
 */
import { hash } from 'node:crypto';
import { canonicalize, parseJson, type Json } from '../json/parse.ts';

export const saltBytes = 16;
const poolSalts = 256;

/** One opened commitment: 22 base64url characters of salt, an RFC 6901 pointer, the value. */
export type Disclosure = readonly [salt: string, pointer: string, value: Json];

/**
 * Salts of 16 bytes as base64url, drawn from one pooled call of `randomBytes`. In the pool each salt is
 * followed by two zero bytes: base64url then is 24 characters a piece, of which the first 22 are the salt's.
 */
export function saltPool(randomBytes: (size: number) => Buffer): () => string {
  const bytesApart = saltBytes + 2;
  const charsApart = 24;
  let texts = '';
  let at = 0;
  return () => {
    if (at === texts.length) {
      const pool = randomBytes(bytesApart * poolSalts);
      for (let end = saltBytes; end < pool.length; end += bytesApart) pool.fill(0, end, end + 2);
      texts = pool.toString('base64url');
      at = 0;
    }
    at += charsApart;
    return texts.slice(at - charsApart, at - 2);
  };
}

/** Sorts in place by UTF-16 code units; an event has few fields, and insertion beats the general sort there. */
function sortDigests(digests: string[]): string[] {
  if (digests.length > 24) return digests.sort();
  for (let at = 1; at < digests.length; at++) {
    const digest = digests[at] ?? '';
    let to = at;
    for (; to > 0 && (digests[to - 1] ?? '') > digest; to--) digests[to] = digests[to - 1] ?? '';
    digests[to] = digest;
  }
  return digests;
}

/** Escapes one member name for an RFC 6901 pointer. */
export const pointerToken = (name: string): string =>
  name.includes('~') || name.includes('/') ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name;

/** Where texts become bytes: disclosures are short, and a buffer for each would cost a quarter of its digest. */
const page = Buffer.allocUnsafe(64 * 1024);

const base64url = (text: string): string =>
  text.length * 3 <= page.length
    ? page.toString('base64url', 0, page.write(text))
    : Buffer.from(text, 'utf8').toString('base64url');

/** The digest of a disclosure given as the JSON text `JCS([salt, pointer, value])`. Cost: 0.6 µs. */
export const digestOf = (text: string): string => hash('sha256', base64url(text), 'base64url');

/** What `_sd_hash` of a record is, of its disclosures as they are stored. Cost: 0.8 µs. */
export const textDigest = (disclosures: string): string => hash('sha256', disclosures, 'base64url');

/** What JSON writes as it stands; most names are. */
const plain = /^[\w/.~-]*$/;

/** Collects commitments one field at a time; the text of each value is canonicalised exactly once. */
export class Committer {
  readonly #salt: () => string;
  readonly #texts: string[] = [];

  constructor(salt: () => string) {
    this.#salt = salt;
  }

  /**
   * Commits to `value` at `pointer`; returns the length of its canonical text in UTF-16 units. `canonical`: that
   * text, where the caller made it already.
   */
  add(pointer: string, value: Json, canonical = canonicalize(value)): number {
    const name = plain.test(pointer) ? `"${pointer}"` : JSON.stringify(pointer);
    const text = `["${this.#salt()}",${name},${canonical}]`;
    this.#texts.push(text);
    return canonical.length;
  }

  /** How many fields were committed to. */
  get fields(): number {
    return this.#texts.length;
  }

  /** The disclosures as they are stored, `JCS([[salt, pointer, value], …])`; `sortedDigests` is what is committed. */
  finish(): string {
    return `[${this.#texts.join(',')}]`;
  }
}

/** The digests of what a `Committer` made, as a record lists them. Cost: 0.6 µs a disclosure. */
export function sortedDigests(disclosures: string): string[] {
  const digests = storedDigests(disclosures);
  if (digests === null) throw new Error('expected disclosures as a committer makes them');
  return sortDigests(digests);
}

/** The digest of an opened disclosure; an attacker controls it, so it is rebuilt from its parts. */
export const disclosureDigest = (disclosure: Disclosure): string => digestOf(canonicalize([...disclosure]));

/** RFC 9901 wire form of a disclosure. */
export const disclosureText = (disclosure: Disclosure): string => base64url(canonicalize([...disclosure]));

/** Reads a wire-form disclosure; `null` when it is not one. Attacker controlled. */
export function parseDisclosure(text: string): Disclosure | null {
  if (!/^[A-Za-z0-9_-]+$/.test(text)) return null;
  let parsed: unknown;
  try {
    parsed = parseJson(Buffer.from(text, 'base64url'));
  } catch {
    return null;
  }
  if (!Array.isArray(parsed) || parsed.length !== 3) return null;
  const [salt, pointer, value] = parsed as unknown[];
  if (typeof salt !== 'string' || typeof pointer !== 'string' || value === undefined) return null;
  const disclosure: Disclosure = [salt, pointer, value as Json];
  return disclosureText(disclosure) === text ? disclosure : null;
}

/**
 * The digests of stored disclosures, in their order; null for a text that is no list of arrays. The text of each
 * is hashed as it stands, so what has a known digest is what was written. Cost: 0.5 µs a disclosure.
 */
export function storedDigests(disclosures: string): string[] | null {
  const bounds = tupleBounds(disclosures);
  return bounds === null ? null : digestsWithin(disclosures, bounds);
}

/** The same where it is known already where each begins and ends (`tupleBounds`). */
export function digestsWithin(disclosures: string, bounds: readonly number[]): string[] {
  const digests: string[] = [];
  // in ASCII the places of characters are those of bytes
  const isOnPage = disclosures.length * 3 <= page.length && page.write(disclosures) === disclosures.length;
  for (let at = 0; at < bounds.length; at += 2) {
    const [from, to] = [bounds[at] ?? 0, bounds[at + 1] ?? 0];
    digests.push(
      isOnPage
        ? hash('sha256', page.toString('base64url', from, to), 'base64url')
        : digestOf(disclosures.slice(from, to)),
    );
  }
  return digests;
}

/** The texts of stored disclosures; null for a text that is no list of arrays without spaces between them. */
export function disclosureTexts(disclosures: string): string[] | null {
  const bounds = tupleBounds(disclosures);
  if (bounds === null) return null;
  const texts: string[] = [];
  for (let at = 0; at < bounds.length; at += 2) texts.push(disclosures.slice(bounds[at], bounds[at + 1]));
  return texts;
}

/** Where stored disclosures begin and end, by turns; null as above. */
export function tupleBounds(disclosures: string): number[] | null {
  if (disclosures === '[]') return [];
  const bounds: number[] = [];
  let before = 0; // the bracket that opens the list, then the commas
  do {
    const end = tupleEnd(disclosures, before + 1);
    if (end === -1) return null;
    bounds.push(before + 1, end);
    before = end;
  } while (disclosures.charCodeAt(before) === COMMA);
  const isList =
    disclosures.charCodeAt(0) === ARRAY &&
    disclosures.charCodeAt(before) === ARRAY_END &&
    before === disclosures.length - 1;
  return isList ? bounds : null;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const ARRAY_END = 0x5d;
const OBJECT = 0x7b;
const OBJECT_END = 0x7d;

/** Where the array that begins at `start` ends, −1 where none begins or it does not end. */
export function tupleEnd(text: string, start: number): number {
  if (text.charCodeAt(start) !== ARRAY) return -1;
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text.charCodeAt(at);
    if (char === QUOTE) {
      at = closingQuote(text, at);
      if (at === -1) return -1;
    } else if (char === ARRAY || char === OBJECT) {
      depth += 1;
    } else if (char === ARRAY_END || char === OBJECT_END) {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return -1;
}

/** Where the string that opens at `open` ends, −1 where it does not. */
function closingQuote(text: string, open: number): number {
  for (let end = text.indexOf('"', open + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return -1;
}
