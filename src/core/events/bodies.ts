/**
 * The committed fields of a leaf as stored next to its record: `JCS([[salt, pointer, value], …])`.
 * They are read as text. Each disclosure is hashed as stored, so a text with a committed digest is the original text;
 * only requested values are parsed. The text may have been altered in the store; the hash of the record must have been
 * checked. Proven by `test/core/events/bodies.test.ts`.
 */
import {
  digestOf,
  digestsWithin,
  disclosureTexts,
  tupleBounds,
  tupleEnd,
  textDigest,
  readDisclosures,
  type Disclosure,
} from './disclosure.ts';
import { readJson, type Json } from '../json/parse.ts';

/**
 * Returns whether the record committed to every stored disclosure; false for any other text. Fewer disclosures than
 * digests are valid: the others were erased. A repeated disclosure is invalid, because it would hide a missing one.
 * Cost: 0.6 µs a disclosure.
 */
export const disclosuresMatch = (record: string, disclosures: string): boolean =>
  committedBounds(record, disclosures) !== null;

/** Returns start and end of each stored disclosure, alternating; null where `disclosuresMatch` is false. */
export function committedBounds(record: string, disclosures: string): number[] | null {
  const bounds = tupleBounds(disclosures);
  return bounds !== null && areCommitted(record, digestsWithin(disclosures, bounds)) ? bounds : null;
}

/**
 * Returns whether the record committed to the stored text as a whole (`_sd_hash`): one hash for any number of fields.
 * False after an erasure; null if the record commits to single fields only, as all leaves but events do.
 */
export function isCommittedText(record: string, disclosures: string): boolean | null {
  const at = record.startsWith(sdStart) ? record.indexOf(']') : -1;
  if (at === -1 || !record.startsWith(textDigestStart, at)) return null;
  return record.startsWith(`${textDigest(disclosures)}"`, at + textDigestStart.length);
}

/**
 * Returns the stored disclosures at `pointer`, in the same form; null if the record did not commit to the stored text.
 * A field that is present is checked alone. An absent field requires a check of the whole body, so that renaming a
 * field does not hide it. Cost: 1 µs, or that of `disclosuresMatch`.
 */
export function disclosuresAt(record: string, disclosures: string, pointer: string): string | null {
  const likely = likelyAt(disclosures, pointer);
  if (likely !== null && areCommitted(record, [digestOf(likely)]) && fieldOf(likely).pointer === pointer) {
    return `[${likely}]`;
  }
  const texts = disclosureTexts(disclosures);
  if (texts === null) return null;
  if (isCommittedText(record, disclosures) !== true && !areCommitted(record, texts.map(digestOf)))
    return null;
  return `[${texts.filter((text) => fieldOf(text).pointer === pointer).join(',')}]`;
}

/** Returns the values of stored disclosures at the `wanted` pointers; the last one for a repeated pointer. */
export function valuesAt(disclosures: string, wanted: ReadonlySet<string>): Map<string, Json> {
  const values = new Map<string, Json>();
  const texts = disclosureTexts(disclosures);
  if (texts === null) {
    // A text in another spelling than that of `Committer`.
    for (const [, pointer, value] of readDisclosures(disclosures)) {
      if (wanted.has(pointer)) values.set(pointer, value);
    }
    return values;
  }
  for (const text of texts) {
    const { pointer, value } = fieldOf(text);
    // Copies the value: a slice would keep the whole text in memory.
    if (wanted.has(pointer)) values.set(pointer, readJson(value));
  }
  return values;
}

const sdStart = '{"_sd":[';
/** The text between the digests and the digest of the whole text. */
const textDigestStart = '],"_sd_alg":"sha-256","_sd_hash":"';

/** Whether all digests are in `_sd` of a record, each once; in our spelling `_sd` is the first member. */
function areCommitted(record: string, digests: readonly string[]): boolean {
  if (digests.length > searched || !record.startsWith(sdStart)) {
    const known = new Set((readJson(record) as { _sd: string[] })._sd);
    return digests.every((digest) => known.delete(digest));
  }
  const end = record.indexOf(']');
  return digests.every((digest, nth) => {
    if (digests.indexOf(digest) !== nth) return false;
    const at = placeOf(record, digest, end);
    return at !== -1 && at < end && record[at - 1] === '"' && record[at + digest.length] === '"';
  });
}

/** Position of a digest, −1 if absent: usually one of the fixed positions that our spelling has for digests. */
function placeOf(record: string, digest: string, end: number): number {
  const first = digest.charCodeAt(0);
  for (let at = sdStart.length + 1; at < end; at += digestChars) {
    if (record.charCodeAt(at) === first && record.startsWith(digest, at)) return at;
  }
  return record.indexOf(digest);
}

/** `"`, the digest, `"`, and the separator. */
const digestChars = 46;

/** Up to this number of digests, a text search is faster than a set of all digests. */
const searched = 24;

/** Returns a candidate for the disclosure at a pointer; the same text may also occur within a value. */
function likelyAt(disclosures: string, pointer: string): string | null {
  const start = disclosures.indexOf(`,${JSON.stringify(pointer)},`) - saltEnd;
  const end = start > 0 ? tupleEnd(disclosures, start) : -1;
  return end === -1 ? null : disclosures.slice(start, end);
}

/** Length of `["`, the salt and `"`. */
const saltEnd = 25;

/** Returns the pointer of a disclosure, and the text of its value. */
function fieldOf(text: string): { readonly pointer: string; readonly value: string } {
  const nameEnd = text.indexOf('"', saltEnd + 2);
  const isOurs =
    text.indexOf('"', 2) === saltEnd - 1 &&
    text.startsWith(',"', saltEnd) &&
    text.startsWith('",', nameEnd) &&
    text.lastIndexOf('\\', nameEnd) === -1;
  if (isOurs) return { pointer: text.slice(saltEnd + 2, nameEnd), value: text.slice(nameEnd + 2, -1) };
  const [, pointer, value] = readJson(text) as unknown as Disclosure;
  return { pointer, value: JSON.stringify(value) };
}
