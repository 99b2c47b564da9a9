/**
 * The committed fields of a leaf as they are stored beside its record, `JCS([[salt, pointer, value], …])`. They
 * are read as text: each disclosure is hashed as it stands, so that what has a committed digest is what was
 * written, and only the values that are wanted are parsed. The text may have been altered below the log; the
 * record must be one whose hash was checked. Proven by `test/core/event/bodies.test.ts`.
 */
import {
  digestOf,
  digestsWithin,
  disclosureTexts,
  tupleBounds,
  tupleEnd,
  textDigest,
  type Disclosure,
} from './disclosure.ts';
import { readJson, type Json } from '../json/parse.ts';

/**
 * Whether every stored disclosure was committed to by the record; false for any other text. Fewer disclosures
 * than digests are fine: the others were erased. One that stands twice is none: it would stand where another is
 * missing. Cost: 0.6 µs a disclosure.
 */
export const disclosuresMatch = (record: string, disclosures: string): boolean =>
  committedBounds(record, disclosures) !== null;

/** Where each stored disclosure begins and ends, by turns; null where `disclosuresMatch` is false. */
export function committedBounds(record: string, disclosures: string): number[] | null {
  const bounds = tupleBounds(disclosures);
  return bounds !== null && areCommitted(record, digestsWithin(disclosures, bounds)) ? bounds : null;
}

/**
 * Whether the stored text is the one that the record committed to as a whole (`_sd_hash`): one hash, whatever the number of
 * fields. False after an erasure too; null where the record commits to its fields alone, as all but those of events do.
 */
export function isCommittedText(record: string, disclosures: string): boolean | null {
  const at = record.startsWith(sdStart) ? record.indexOf(']') : -1;
  if (at === -1 || !record.startsWith(textDigestStart, at)) return null;
  return record.startsWith(`${textDigest(disclosures)}"`, at + textDigestStart.length);
}

/**
 * Of the stored disclosures those at `pointer`, in the same form; null where the record did not commit to what
 * is stored. A field that is there is checked alone. That it is not there is believed only of a body that is
 * checked whole, so renaming it does not hide it. Cost: 1 µs, or that of `disclosuresMatch`.
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

/** The values of stored disclosures whose pointers are `wanted`; the last one where a pointer stands twice. */
export function valuesAt(disclosures: string, wanted: ReadonlySet<string>): Map<string, Json> {
  const values = new Map<string, Json>();
  const texts = disclosureTexts(disclosures);
  if (texts === null) {
    // another spelling than ours
    for (const [, pointer, value] of readJson(disclosures) as unknown as Disclosure[]) {
      if (wanted.has(pointer)) values.set(pointer, value);
    }
    return values;
  }
  for (const text of texts) {
    const { pointer, value } = fieldOf(text);
    // a slice would keep the whole text alive for as long as somebody remembers the value
    if (wanted.has(pointer)) values.set(pointer, readJson(value));
  }
  return values;
}

const sdStart = '{"_sd":[';
/** What stands behind the digests before that of the text. */
const textDigestStart = '],"_sd_alg":"sha-256","_sd_hash":"';

/** Whether digests stand in the `_sd` of a record, each once; in our spelling that is its first member. */
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

/** Where a digest stands, −1 where it does not: mostly at one of the places that our spelling has for digests. */
function placeOf(record: string, digest: string, end: number): number {
  const first = digest.charCodeAt(0);
  for (let at = sdStart.length + 1; at < end; at += digestChars) {
    if (record.charCodeAt(at) === first && record.startsWith(digest, at)) return at;
  }
  return record.indexOf(digest);
}

/** `"`, the digest, `"`, and what separates it from the next. */
const digestChars = 46;

/** So many digests are searched for in the text; above, a set of all is less work. */
const searched = 24;

/** What seems to be the disclosure at a pointer; what looks like one may stand within a value. */
function likelyAt(disclosures: string, pointer: string): string | null {
  const start = disclosures.indexOf(`,${JSON.stringify(pointer)},`) - saltEnd;
  const end = start > 0 ? tupleEnd(disclosures, start) : -1;
  return end === -1 ? null : disclosures.slice(start, end);
}

/** `["`, the salt, `"` */
const saltEnd = 25;

/** The pointer of a disclosure, and the text of its value. */
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
