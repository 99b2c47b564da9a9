/**
 * Identifiers: TypeID 0.3.0 (`<prefix>_` and 26 characters of base32) over UUIDv7 (RFC 9562 §5.7), contract A1.
 *
 *   bits   48          4    12      2    14      48
 *          unix ms     0111 random  10   random  random; in event ids: the index in the log
 *
 * An event id contains the leaf index of its event, so the event table needs no unique index over random texts, its most
 * expensive one. A lookup by index must still compare the whole id: an index can be guessed, the 26 random bits cannot.
 * Identifiers are never an access control.
 * Proven by `test/core/id.test.ts` (TypeID and RFC 9562 known answers).
 */
const prefixes =
  'evt prf rsk job rpl grp pol pev apr apv exp rex art dlv shr lgo sch tpl key prj org usr chl urp dpl ers whe msg nsr';

type Words<Text extends string> = Text extends `${infer Word} ${infer Rest}` ? Word | Words<Rest> : Text;

/** The prefix names the kind of object: `evt` an event, `prf` a proof, … */
export type IdPrefix = Words<typeof prefixes>;

const anyTypeId = new RegExp(`^(?:${prefixes.replaceAll(' ', '|')})_[0-7][0-9a-hjkmnp-tv-z]{25}$`);
const anyEventId = /^evt_[0-7][0-9a-hjkmnp-tv-z]{25}$/;
const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/** Two characters for each value of ten bits: 128 bits are 13 look-ups. Made with the first id. */
let pairs: readonly string[] | undefined;
const allPairs = (): string[] =>
  Array.from(alphabet, (high) => Array.from(alphabet, (low) => high + low)).flat();
const pair = (tenBits: number): string => (pairs ??= allPairs())[tenBits] ?? '';

/** Value of each digit, by character code. */
const digitOf = new Uint8Array(128);
for (let digit = 0; digit < alphabet.length; digit++) digitOf[alphabet.charCodeAt(digit)] = digit;

const maxUint48 = 2 ** 48 - 1;

/**
 * Returns a TypeID from a time and randomness (at least 10 bytes, of which 74 bits are used). Throws for a time outside of
 * 0 … 2^48 − 1 or too little randomness: a bug.
 */
export function typeId(prefix: IdPrefix, unixMs: number, random: Uint8Array): string {
  if (random.length < 10) throw new Error(`expected at least 10 random bytes, got ${random.length}`);
  const bytes = new DataView(random.buffer, random.byteOffset, random.byteLength);
  const middle = ((bytes.getUint16(0) & 0xfff) << 14) | (bytes.getUint16(2) & 0x3fff);
  return encode(prefix, { unixMs, middle, last: bytes.getUint16(4) * 2 ** 32 + bytes.getUint32(6) });
}

/** Returns an event id with the log index of the event (0 … 2^48 − 1); `random`: 26 random bits. Cost: 0.2 µs. */
export function eventId(unixMs: number, index: number, random: number): string {
  return encode('evt', { unixMs, middle: random & 0x3ffffff, last: index });
}

/**
 * Returns the log index in an event id, or null for a text that is not the TypeID of an event over a UUIDv7. Attacker
 * controlled: an index does not prove that such an event exists or has this id.
 */
export function eventIndex(eventId: string): number | null {
  if (!anyEventId.test(eventId)) return null;
  const head = decode(eventId, 14, 20); // version, 12 random bits, variant, 12 of 14 random bits
  if (head >>> 26 !== 0b0111 || ((head >>> 12) & 0b11) !== 0b10) return null;
  return decode(eventId, 20, 30) % 2 ** 48;
}

/** Returns whether a text is one of our TypeIDs, of one kind if a prefix is given. Accepts every UUID version. */
export function isTypeId(text: string, prefix?: IdPrefix): boolean {
  return (prefix === undefined || text.startsWith(`${prefix}_`)) && anyTypeId.test(text);
}

/** Returns the Unix milliseconds in one of our TypeIDs. */
export const typeIdMs = (id: string): number => decode(id, id.indexOf('_') + 1, id.indexOf('_') + 11);

interface Uuid {
  readonly unixMs: number;
  /** 26 bits, around the variant. */
  readonly middle: number;
  /** 48 bits. */
  readonly last: number;
}

function encode(prefix: IdPrefix, { unixMs, middle, last }: Uuid): string {
  assertUint48('a time in milliseconds', unixMs);
  assertUint48('an index', last);
  // 4 bits of version, 12 random, 2 of variant, 12 random make 30 bits; 2 random bits go with the next 48
  const head = (0b0111 << 26) | ((middle >>> 14) << 14) | (0b10 << 12) | ((middle >>> 2) & 0xfff);
  return `${prefix}_${fiftyBits(0, unixMs)}${thirtyBits(head)}${fiftyBits(middle & 0b11, last)}`;
}

const thirtyBits = (value: number): string =>
  pair(value >>> 20) + pair((value >>> 10) & 1023) + pair(value & 1023);

function fiftyBits(two: number, fortyEight: number): string {
  const high = two * 2 ** 18 + Math.floor(fortyEight / 2 ** 30);
  return pair(high >>> 10) + pair(high & 1023) + thirtyBits(fortyEight % 2 ** 30);
}

/** Returns the number in the characters [from, to) of a checked TypeID; exact up to ten characters. */
function decode(id: string, from: number, to: number): number {
  let value = 0;
  for (let at = from; at < to; at++) value = value * 32 + (digitOf[id.charCodeAt(at)] ?? 0);
  return value;
}

function assertUint48(what: string, value: number): void {
  if (!(Number.isInteger(value) && value >= 0 && value <= maxUint48)) {
    throw new Error(`expected ${what} of 0 to 2^48-1, got ${value}`);
  }
}
