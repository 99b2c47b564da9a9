/**
 * One event of a run for proofs and graphs: the clear members of its `gov.event/1` record, and its leaf hash.
 * A proof reads up to a million records, so one regular expression matches our own spelling. A match contains no escape,
 * so every JSON reader agrees with it. Any other text is parsed strictly and must be canonical.
 * Proven by `test/core/events/run-entry.test.ts` (with the parser as oracle).
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import {
  canonicalize,
  defaultBounds,
  parseJson,
  type Json,
  type JsonBounds,
  type JsonObject,
} from '../json/parse.ts';
import { leafHash } from '../merkle/tree.ts';

/** A leaf as stored. `disclosures`: `JCS([[salt, pointer, value], …])`, null if erased or not read. */
export interface RunLeaf {
  readonly index: number;
  readonly record: string;
  readonly disclosures: string | null;
  /** Present if fields were erased (`erased.ts`). */
  readonly erased?: string;
}

/** The clear members of an event record. */
export interface ClearEvent {
  readonly eventId: string;
  readonly runId: string;
  readonly runSeq: number;
  readonly eventType: string;
  readonly timestamp: string;
  readonly serverTimestamp: string;
  readonly causedBy: readonly string[];
}

export interface RunEvent extends RunLeaf {
  /** RFC 6962 leaf hash of the record, 32 bytes. */
  readonly hash: Buffer;
  /** Null if the record is not a canonical `gov.event/1` record. */
  readonly clear: ClearEvent | null;
  /** Values at the pointers of `links.ts`, if the disclosures were parsed already. */
  readonly fields?: ReadonlyMap<string, Json>;
}

/** Reads a leaf. Attacker controlled; never throws. Cost: one hash, about 2 µs for 700 bytes. */
export function readRunEvent({ index, record, disclosures }: RunLeaf): RunEvent {
  return { index, record, disclosures, hash: leafHash(record), clear: readRecord(record) };
}

const digest = '"[A-Za-z0-9_-]{43}"';
const word = '[A-Za-z0-9._:/-]{1,128}';
const time = '[0-9TZ:.+-]{20,35}';
const own = new RegExp(
  `^\\{"_sd":\\[(?:${digest}(?:,${digest})*)?\\],"_sd_alg":"sha-256",(?:"_sd_hash":${digest},)?` +
    `(?:"aiSystemId":"${word}",)?(?:"causedBy":\\[((?:"${word}"(?:,"${word}")*)?)\\],)?"eventId":"(${word})","eventType":"(${word})",` +
    `"runId":"(${word})","runSeq":(0|[1-9][0-9]{0,14}),"serverTimestamp":"(${time})","timestamp":"(${time})",` +
    '"type":"gov\\.event/1"\\}$',
);

/** Returns the clear members, or null if the text is not a canonical event record. Never throws. */
export function readRecord(record: string): ClearEvent | null {
  if (record.length > limits.recordBytes) return null;
  const match = own.exec(record);
  if (match === null) return readOther(record);
  const [
    ,
    causes,
    eventId = '',
    eventType = '',
    runId = '',
    runSeq = '',
    serverTimestamp = '',
    timestamp = '',
  ] = match;
  const causedBy = causes === undefined || causes === '' ? [] : causes.slice(1, -1).split('","');
  return { eventId, runId, runSeq: Number(runSeq), eventType, timestamp, serverTimestamp, causedBy };
}

/** Reads a record with escapes, or with members that this version does not define. */
function readOther(record: string): ClearEvent | null {
  const value = strictObject(record);
  if (value === null || value['type'] !== 'gov.event/1') return null;
  const { eventId, runId, runSeq, eventType, timestamp, serverTimestamp, causedBy = [] } = value;
  if (typeof eventId !== 'string' || typeof runId !== 'string' || typeof eventType !== 'string') return null;
  if (typeof timestamp !== 'string' || typeof serverTimestamp !== 'string') return null;
  if (!Number.isSafeInteger(runSeq) || !isTextList(causedBy)) return null;
  return { eventId, runId, runSeq: Number(runSeq), eventType, timestamp, serverTimestamp, causedBy };
}

/** Returns the object that a canonical text contains, or null. Attacker controlled; never throws. */
export function strictObject(text: string): JsonObject | null {
  const value = strictValue(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
}

/** Returns the value that a canonical text contains, or undefined. Attacker controlled; never throws. */
export function strictValue(text: string, bounds: JsonBounds = defaultBounds): Json | undefined {
  try {
    const value = parseJson(Buffer.from(text, 'utf8'), bounds);
    return canonicalize(value) === text ? value : undefined;
  } catch (error) {
    if (error instanceof GovError) return undefined;
    throw error;
  }
}

const isTextList = (value: Json): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const digestPattern = /^[A-Za-z0-9_-]{43}$/;

/** Returns the salted digests (`_sd`) of a record that `readRecord` accepts; null if they are malformed or repeated. */
export function recordDigests(record: string): readonly string[] | null {
  const isOwn = record.length <= limits.recordBytes && own.test(record);
  if (!isOwn && readRecord(record) === null) return null;
  const digests = isOwn ? ownDigests(record) : (strictObject(record)?.['_sd'] ?? null);
  const wellFormed = isOwn || (isTextList(digests) && digests.every((digest) => digestPattern.test(digest)));
  return isTextList(digests) && wellFormed && new Set(digests).size === digests.length ? digests : null;
}

/** In our own spelling the digests come first, and contain no bracket. */
function ownDigests(record: string): string[] {
  const list = record.slice('{"_sd":['.length, record.indexOf(']'));
  return list === '' ? [] : list.slice(1, -1).split('","');
}
