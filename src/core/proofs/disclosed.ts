/**
 * Compares the disclosures in a bundle with the digests of the event records. For an event that discloses anything, each
 * digest is *disclosed* (a text has this hash), *withheld* (listed as such), *erased* (by a leaf of the log, see
 * `erasures.ts`), or *missing*, the only one that fails. Attacker controlled; nothing here throws.
 * Proven by `test/core/proofs/disclosed.test.ts`.
 */
import { hash } from 'node:crypto';
import type { BundleEvent } from './bundle.ts';
import { type Disclosure, disclosureTexts, readDisclosures } from '../events/disclosure.ts';
import { type ErasedDigests, noErasures } from './erasures.ts';
import { type Fields, linkFields } from '../events/links.ts';
import { type Json, readJson } from '../json/parse.ts';
import { recordDigests } from '../events/run-entry.ts';
import type { CheckList, DigestCounts } from './verdict.ts';

/** One committed field of an event. */
interface DigestStatus {
  readonly digest: string;
  readonly status: 'disclosed' | 'withheld' | 'erased' | 'missing';
  /** For an erased field: index of the leaf that erased it. */
  readonly leaf?: number;
  /** For a disclosed field: its JSON pointer in the event, and its value. */
  readonly pointer?: string;
  readonly value?: Json;
}

export interface DisclosedEvent {
  /** One entry for each digest of the record, in record order; null if the record is malformed. */
  readonly digests: readonly DigestStatus[] | null;
  /** Whether every disclosed text and every listed digest belongs to the record. */
  readonly matches: boolean;
  /** `JCS([[salt, pointer, value], …])` if every field is disclosed, else null. */
  readonly bodies: string | null;
}

/** Opens one event. Cost: about 2 µs a disclosure. */
export function openEventDisclosures(
  event: BundleEvent,
  erased: ReadonlyMap<string, number> = new Map(),
): DisclosedEvent {
  const digests = recordDigests(event.record);
  if (digests === null) return { digests: null, matches: false, bodies: null };
  const unopened = new Set(digests);
  const opened = new Map<string, Disclosure>();
  const texts: string[] = [];
  let matches = true;
  for (const encoded of event.disclosures ?? []) {
    // A text with a digest of the record is, byte for byte, the text that the log committed to.
    const digest = hash('sha256', encoded, 'base64url');
    const text = Buffer.from(encoded, 'base64url').toString('utf8');
    const disclosure = readTuple(text);
    if (disclosure === null || !unopened.delete(digest)) matches = false;
    else {
      opened.set(digest, disclosure);
      texts.push(text);
    }
  }
  const withheld = new Set(event.withheld);
  for (const digest of withheld) if (!unopened.has(digest)) matches = false;
  if (withheld.size !== (event.withheld ?? []).length) matches = false;
  const bodies = matches && unopened.size === 0 ? `[${texts.join(',')}]` : null;
  if (bodies !== null && !isReadable(bodies)) matches = false;
  return {
    digests: digests.map((digest) => statusOf(digest, opened.get(digest), { withheld, erased })),
    matches,
    bodies: matches ? bodies : null,
  };
}

function statusOf(
  digest: string,
  disclosure: Disclosure | undefined,
  { withheld, erased }: { withheld: ReadonlySet<string>; erased: ReadonlyMap<string, number> },
): DigestStatus {
  if (disclosure === undefined) {
    const leaf = erased.get(digest);
    if (withheld.has(digest)) return { digest, status: 'withheld' };
    return leaf === undefined ? { digest, status: 'missing' } : { digest, status: 'erased', leaf };
  }
  const [, pointer, value] = disclosure;
  return { digest, status: 'disclosed', pointer, value };
}

/** The list is one level deeper than its tuples, and may so exceed the depth limit of `readJson`. */
function isReadable(bodies: string): boolean {
  try {
    return Array.isArray(readJson(bodies));
  } catch {
    return false;
  }
}

function readTuple(text: string): Disclosure | null {
  let tuple: Json;
  try {
    tuple = readJson(text);
  } catch {
    return null;
  }
  if (!Array.isArray(tuple) || tuple.length !== 3) return null;
  const [salt, pointer, value] = tuple;
  return typeof salt === 'string' && typeof pointer === 'string' ? [salt, pointer, value ?? null] : null;
}

/** The bodies of an event, and the fields from which links are read. */
interface OpenedBodies {
  readonly disclosures: string;
  readonly fields: Fields;
}

export interface DisclosureCheck {
  /** Every field of every event is disclosed. */
  readonly complete: boolean;
  /** Null if no event discloses or withholds anything. */
  readonly counts: DigestCounts | null;
}

/** Opens the events of a bundle one by one. A mismatch or a missing field fails the check `disclosures`. */
export class Disclosures {
  readonly #checks: CheckList;
  readonly #erased: ErasedDigests;
  readonly #counts = { disclosed: 0, withheld: 0, erased: 0, missing: 0 };
  #some = false;
  #complete = true;

  constructor(checks: CheckList, erased: ErasedDigests = noErasures) {
    this.#checks = checks;
    this.#erased = erased;
  }

  /** Whether every field of every event so far is disclosed. */
  get complete(): boolean {
    return this.#some && this.#complete;
  }

  /** Returns the bodies of the next event if all of them are disclosed, else null. */
  add(event: BundleEvent): OpenedBodies | null {
    const bodies = this.#open(event);
    if (bodies === null) this.#complete = false;
    return bodies;
  }

  #open(event: BundleEvent): OpenedBodies | null {
    if (event.disclosures === undefined && event.withheld === undefined) return null;
    this.#some = true;
    const whole = openWhole(event);
    if (whole !== null) {
      this.#counts.disclosed += event.disclosures?.length ?? 0;
      return whole;
    }
    const { digests, matches, bodies } = openEventDisclosures(event, this.#erased.get(event.index));
    for (const { status } of digests ?? []) this.#counts[status]++;
    if (!matches) {
      const detail = `leaf ${event.index}: a disclosure or withheld digest is not in the record`;
      this.#checks.fail('disclosures', 'DISCLOSURE_MISMATCH', detail);
    }
    if (bodies === null) return null;
    return { disclosures: bodies, fields: linkFields(readDisclosures(bodies)) };
  }

  finish(): DisclosureCheck {
    if (!this.#some) return { complete: false, counts: null };
    const { disclosed, withheld, erased, missing } = this.#counts;
    if (missing > 0) {
      const detail = `${missing} committed fields are neither disclosed, withheld nor erased`;
      this.#checks.fail('disclosures', 'DISCLOSURE_MISSING', detail);
    }
    const gone = erased === 0 ? '' : `, ${erased} erased`;
    this.#checks.pass('disclosures', `${disclosed} disclosed, ${withheld} withheld${gone}`);
    return { complete: this.#complete, counts: this.#counts };
  }
}

/**
 * Opens an event whose fields are all disclosed. Fast path: it parses the bodies once, as one text. Returns null for
 * every other event and for any error, which `openEventDisclosures` then reports.
 */
function openWhole({ record, disclosures = [], withheld = [] }: BundleEvent): OpenedBodies | null {
  const digests = recordDigests(record);
  if (digests === null || digests.length !== disclosures.length || withheld.length > 0) return null;
  const unopened = new Set(digests);
  const texts: string[] = [];
  for (const encoded of disclosures) {
    if (!unopened.delete(hash('sha256', encoded, 'base64url'))) return null;
    texts.push(decoded(encoded));
  }
  const bodies = `[${texts.join(',')}]`;
  // Each text is one array, so the joined text parses to the same tuples as the single texts.
  const found = disclosureTexts(bodies);
  if (found === null || !found.every((text, at) => text === texts[at])) return null;
  const tuples = readTuples(bodies);
  return tuples === null ? null : { disclosures: bodies, fields: linkFields(tuples) };
}

/** Buffer to decode texts into; most are short. */
const page = Buffer.allocUnsafe(16 * 1024);

function decoded(encoded: string): string {
  if (encoded.length > page.length) return Buffer.from(encoded, 'base64url').toString('utf8');
  return page.toString('utf8', 0, page.write(encoded, 0, 'base64url'));
}

function readTuples(bodies: string): Disclosure[] | null {
  try {
    const tuples = readJson(bodies);
    return Array.isArray(tuples) && tuples.every(isTuple) ? (tuples as unknown as Disclosure[]) : null;
  } catch {
    return null;
  }
}

const isTuple = (tuple: Json): boolean =>
  Array.isArray(tuple) && tuple.length === 3 && typeof tuple[0] === 'string' && typeof tuple[1] === 'string';
