/**
 * Salted field commitments as disclosures of RFC 9901 (SD-JWT). A disclosure is `base64url(JCS([salt, pointer, value]))`,
 * its digest `base64url(SHA-256(ASCII(disclosure)))`. Digests stay in the log permanently. Salt and value can be deleted;
 * without them nothing can open the digest.
 * Proven by `test/core/events/disclosure.test.ts` (RFC 9901 §4.2.1 known answers).
 */
import { hash } from 'node:crypto';
import { canonicalize, parseJson, readJson, type Json } from '../json/parse.ts';

const saltBytes = 16;
const poolSalts = 256;

/** One opened commitment: salt (22 base64url characters), RFC 6901 pointer, value. */
export type Disclosure = readonly [salt: string, pointer: string, value: Json];

/** Reads disclosures that `Committer` stored, or that a verifier has checked one by one: their form is not checked again. */
export const readDisclosures = (stored: string): readonly Disclosure[] =>
  readJson(stored) as unknown as readonly Disclosure[];

/**
 * Returns a source of salts: 16 bytes each as base64url, from one pooled call of `randomBytes`. In the pool two zero bytes
 * follow each salt: each salt is then 24 base64url characters, of which the first 22 are the salt.
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

/** Sorts in place by UTF-16 code units. An event has few fields, for which insertion sort is faster. */
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

/** Encoding buffer: disclosures are short, and a new buffer for each would cost a quarter of its digest. */
const page = Buffer.allocUnsafe(64 * 1024);

const base64url = (text: string): string =>
  text.length * 3 <= page.length
    ? page.toString('base64url', 0, page.write(text))
    : Buffer.from(text, 'utf8').toString('base64url');

/** Returns the digest of a disclosure, given as the JSON text `JCS([salt, pointer, value])`. Cost: 0.6 µs. */
export const digestOf = (text: string): string => hash('sha256', base64url(text), 'base64url');

/** Returns `_sd_hash` of a record: the digest of its disclosures as stored. Cost: 0.8 µs. */
export const textDigest = (disclosures: string): string => hash('sha256', disclosures, 'base64url');

/** Names that JSON writes without escapes; most names match. */
const plain = /^[\w/.~-]*$/;

/** Collects commitments field by field; canonicalizes each value once. */
export class Committer {
  readonly #salt: () => string;
  readonly #texts: string[] = [];

  constructor(salt: () => string) {
    this.#salt = salt;
  }

  /**
   * Commits to `value` at `pointer`; returns the length of its canonical text in UTF-16 units. `canonical`: that text, if
   * the caller has it already.
   */
  add(pointer: string, value: Json, canonical = canonicalize(value)): number {
    const name = plain.test(pointer) ? `"${pointer}"` : JSON.stringify(pointer);
    const text = `["${this.#salt()}",${name},${canonical}]`;
    this.#texts.push(text);
    return canonical.length;
  }

  /** Number of committed fields. */
  get fields(): number {
    return this.#texts.length;
  }

  /** Returns the disclosures as stored, `JCS([[salt, pointer, value], …])`; the record has their `sortedDigests`. */
  finish(): string {
    return `[${this.#texts.join(',')}]`;
  }
}

/** Returns the digests of a `Committer` text as a record lists them. Throws for another text. Cost: 0.6 µs a disclosure. */
export function sortedDigests(disclosures: string): string[] {
  const digests = storedDigests(disclosures);
  if (digests === null) throw new Error('expected the disclosures of a committer, got another text');
  return sortDigests(digests);
}

/** Returns the digest of an opened disclosure. Attacker controlled, so its text is rebuilt from its parts. */
export const disclosureDigest = (disclosure: Disclosure): string => digestOf(canonicalize([...disclosure]));

/** Returns the RFC 9901 wire forms of stored disclosures (`Committer`). Throws for another text. */
export function storedTexts(disclosures: string): string[] {
  const texts = disclosureTexts(disclosures);
  if (texts === null) throw new Error('expected the disclosures of a committer, got another text');
  return texts.map(base64url);
}

/** Returns the RFC 9901 wire form of a disclosure. */
export const disclosureText = (disclosure: Disclosure): string => base64url(canonicalize([...disclosure]));

/** Reads a wire-form disclosure; `null` if it is malformed. Attacker controlled. */
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
 * Returns the digests of stored disclosures in order; null if the text is not a list of arrays. It hashes each text as
 * stored, so a text with a known digest is the original text. Cost: 0.5 µs a disclosure.
 */
export function storedDigests(disclosures: string): string[] | null {
  const bounds = tupleBounds(disclosures);
  return bounds === null ? null : digestsWithin(disclosures, bounds);
}

/** The same for known bounds of the disclosures (`tupleBounds`). */
export function digestsWithin(disclosures: string, bounds: readonly number[]): string[] {
  const digests: string[] = [];
  // In ASCII, character positions are byte positions.
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

/** Returns the texts of stored disclosures; null if the text is not a list of arrays without spaces between them. */
export function disclosureTexts(disclosures: string): string[] | null {
  const bounds = tupleBounds(disclosures);
  if (bounds === null) return null;
  const texts: string[] = [];
  for (let at = 0; at < bounds.length; at += 2) texts.push(disclosures.slice(bounds[at], bounds[at + 1]));
  return texts;
}

/** Returns start and end of each stored disclosure, alternating; null as above. */
export function tupleBounds(disclosures: string): number[] | null {
  if (disclosures === '[]') return [];
  const bounds: number[] = [];
  let before = 0; // the opening bracket of the list, then each comma
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

/** Returns the end of the array that begins at `start`; −1 if no array begins there or it does not end. */
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

/** Returns the position of the quote that closes the string at `open`, or −1. */
function closingQuote(text: string, open: number): number {
  for (let end = text.indexOf('"', open + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
  }
  return -1;
}
