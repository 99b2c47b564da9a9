/**
 * Salted field commitments in the form of RFC 9901 (SD-JWT) disclosures. A disclosure is
 * `base64url(JCS([salt, pointer, value]))`, its digest `base64url(SHA-256(ASCII(disclosure)))`. Digests stand
 * in the log for ever; salt and value can be deleted, after which nothing can open the digest.
 * Proven by `test/core/disclosure.test.ts` (RFC 9901 §4.2.1 known answers).
 */
import { hash } from 'node:crypto';
import { canonicalize, parseJson, type Json } from './json.ts';

export const saltBytes = 16;
const poolSalts = 256;

/** One opened commitment: 22 base64url characters of salt, an RFC 6901 pointer, the value. */
export type Disclosure = readonly [salt: string, pointer: string, value: Json];

/** Fields committed together: sorted digests, and `JCS([[salt, pointer, value], …])` as it is stored. */
export interface Committed {
  readonly digests: readonly string[];
  readonly disclosures: string;
}

/** Salts of 16 bytes, drawn from one pooled call of `randomBytes`. */
export function saltPool(randomBytes: (size: number) => Buffer): () => string {
  let pool: Buffer = Buffer.alloc(0);
  let at = 0;
  return () => {
    if (at === pool.length) {
      pool = randomBytes(saltBytes * poolSalts);
      at = 0;
    }
    return pool.toString('base64url', at, (at += saltBytes));
  };
}

/** Escapes one member name for an RFC 6901 pointer. */
export const pointerToken = (name: string): string =>
  name.includes('~') || name.includes('/') ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name;

/** The digest of a disclosure given as the JSON text `JCS([salt, pointer, value])`. */
export const digestOf = (text: string): string =>
  hash('sha256', Buffer.from(text, 'utf8').toString('base64url'), 'base64url');

/** Collects commitments one field at a time; the text of each value is canonicalised exactly once. */
export class Committer {
  readonly #salt: () => string;
  readonly #digests: string[] = [];
  #text = '';

  constructor(salt: () => string) {
    this.#salt = salt;
  }

  /** Commits to `value` at `pointer`; returns the length of its canonical text in UTF-16 units. */
  add(pointer: string, value: Json): number {
    const canonical = canonicalize(value);
    const text = `["${this.#salt()}",${JSON.stringify(pointer)},${canonical}]`;
    this.#digests.push(digestOf(text));
    this.#text += this.#text === '' ? text : `,${text}`;
    return canonical.length;
  }

  finish(): Committed {
    return { digests: this.#digests.sort(), disclosures: `[${this.#text}]` };
  }
}

/** The digest of an opened disclosure; an attacker controls it, so it is rebuilt from its parts. */
export const disclosureDigest = (disclosure: Disclosure): string => digestOf(canonicalize([...disclosure]));

/** RFC 9901 wire form of a disclosure. */
export const disclosureText = (disclosure: Disclosure): string =>
  Buffer.from(canonicalize([...disclosure]), 'utf8').toString('base64url');

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
 * Whether every stored disclosure (`JCS([[salt, pointer, value], …])`) was committed to by one of `digests`.
 * Fewer disclosures than digests are fine: the others were erased. Cost: one hash a disclosure.
 */
export function disclosuresMatch(digests: readonly string[], disclosures: string): boolean {
  const known = new Set(digests);
  const opened = JSON.parse(disclosures) as Disclosure[];
  return opened.every((disclosure) => known.has(disclosureDigest(disclosure)));
}
