/**
 * The answer to a question about a log, `*.govanswer.json`: how many events of a run or of a type it has, or that it has none,
 * in all or recorded in a period. One JSON object (I-JSON; unknown members are refused):
 *
 *   mediaType   application/vnd.gov.answer.v1+json
 *   question    { key, since, until }: a key of the map; server times, or null. `since` is in the period, `until` is not
 *   checkpoint  the signed note of a tree that has the index leaf
 *   index       { index, record, inclusion }: the `gov.index/1` leaf
 *   entry       what its map says of the key
 *   range?      { from, to, items }: for a period, the items [from, to) of the list are in it; `items` shows those around
 *               its ends, as { position, inclusion, index, ms, clientMs? } or { position, inclusion, record }
 *
 * Verifying: 1 strict parse; 2 a trusted key signed the checkpoint; 3 the index leaf is in its tree; 4 the path of the key
 * leads to its root; 5 the index covers the period, and each end of the range is between two items whose times say so.
 * Attacker controlled; nothing here throws. Proven by `test/core/proofs/answer.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { isListed, openEntry, readEntry, type MapEntry } from '../completeness/entry.ts';
import type { ListValue } from '../completeness/map.ts';
import { definesKey, keyText, placeItem, readMapped } from '../completeness/map-function.ts';
import { canonicalText, parseJson, type Json, type JsonObject } from '../json/parse.ts';
import { count, hash, list, object, refuse, text, type Location, type Shape } from '../json/shape.ts';
import { SignedHead } from '../note/heads.ts';
import { leafHash } from '../merkle/tree.ts';
import { openTrustedCheckpoint, type Trust } from '../note/checkpoint.ts';
import { missingNotes, signedBy, unsigned, type SignatureFacts } from '../note/signed-by.ts';
import { ceilTimestamp } from '../time.ts';
import { readIncluded } from './read-bundle.ts';
import { pathHashes, type IncludedRecord } from './bundle.ts';
import type { VerifyOptions } from './verify.ts';
import { derivedFrom, Fault, openIndex, type OpenIndex } from './completeness.ts';
import { completenessOf, type Completeness } from './strength.ts';
import { signatureCode, type VerdictCode } from './verdict.ts';

export const answerMediaType = 'application/vnd.gov.answer.v1+json';

/** An item of a list, with what its place in time follows from. */
export interface ShownItem {
  readonly position: number;
  readonly inclusion: readonly string[];
  /** Of a list of places: index in the log, and server time; for events by `gov.mapfn/2` also the client time. */
  readonly index?: number;
  readonly ms?: number;
  readonly clientMs?: number;
  /** Of a list of leaves. */
  readonly record?: string;
}

export interface AnswerRange {
  readonly from: number;
  readonly to: number;
  readonly items: readonly ShownItem[];
}

interface Question {
  readonly key: readonly string[];
  readonly since: string | null;
  readonly until: string | null;
}

export interface Answer {
  readonly mediaType: typeof answerMediaType;
  readonly question: Question;
  readonly checkpoint: string;
  readonly index: IncludedRecord;
  readonly entry: MapEntry;
  readonly range?: AnswerRange;
}

export interface AnswerVerdict extends SignatureFacts {
  readonly verified: boolean;
  readonly code: VerdictCode | null;
  readonly detail: string | null;
  readonly question: Question | null;
  /** How many there are; null unless verified. */
  readonly count: number | null;
  /** The answer is about the leaves below this index. */
  readonly below: number | null;
  /** Whether enough trusted witnesses cosigned the checkpoint. */
  readonly witnesses: number;
  readonly completeness: Completeness;
  /** Sentences that every output shows with the result. */
  readonly notes: readonly string[];
}

export const answerText = (answer: Answer): string => canonicalText(answer);

/** Until which server time the map of an index leaf has everything. */
export const coveredUntil = ({ index, size, atMs, throughMs }: OpenIndex): number =>
  index === size ? Math.max(atMs, throughMs) : throughMs;

/** Verifies the answer in these bytes with the trust of the caller. Without trust nothing is verified. */
export function verifyAnswer(
  bytes: Uint8Array,
  trust: Trust | null,
  { seen, derived }: Pick<VerifyOptions, 'seen' | 'derived'> = {},
): AnswerVerdict {
  const nothing = { ...unanswered, question: null, count: null, below: null, witnesses: 0 };
  const failed = ({ code, detail }: Fault, question: Question | null = null): AnswerVerdict => ({
    ...nothing,
    verified: false,
    code,
    detail,
    question,
  });
  const answer = orFault(
    () => 'MALFORMED_BUNDLE',
    () => readAnswer(bytes),
  );
  if (answer instanceof Fault) return failed(answer);
  const { question } = answer;
  if (trust === null || trust.keys.length === 0)
    return failed(new Fault('NO_TRUSTED_KEY', 'expected a key or a trust file, got none'), question);
  const opened = orFault(signatureCode, () => openTrustedCheckpoint(answer.checkpoint, trust));
  if (opened instanceof Fault) return failed(opened, question);
  const witnesses = opened.witnessedBy.length;
  if (witnesses < trust.quorum) {
    const detail = `expected ${trust.quorum} witnesses, got ${witnesses}`;
    return failed(new Fault('WITNESS_QUORUM_NOT_MET', detail), question);
  }
  if (seen !== undefined) {
    const head = new SignedHead(answer.checkpoint, opened.checkpoint);
    const { index: at, record, inclusion } = answer.index;
    head.add({ index: at, leaf: leafHash(record), path: pathHashes(inclusion) });
    seen([head]);
  }
  const index = openIndex(answer.index, opened.checkpoint);
  const found = index instanceof Fault ? index : countOf(answer, index);
  const records = derivedFrom(answer.index, derived ?? null);
  if (index instanceof Fault) return failed(index, question);
  if (records instanceof Fault) return failed(records, question);
  if (found instanceof Fault) return failed(found, question);
  const signed = signedBy([opened]);
  return {
    verified: true,
    code: null,
    detail: null,
    question,
    count: found,
    below: index.size,
    witnesses,
    ...signed,
    completeness: completenessOf([{ id: 'completeness', result: 'passed' }], trust.origin, {
      cosigners: opened.index,
      records,
    }),
    notes: missingNotes(signed),
  };
}

const unanswered = { ...unsigned, completeness: completenessOf([], null), notes: [] } as const;

function orFault<Value>(codeOf: (error: GovError) => VerdictCode, work: () => Value): Value | Fault {
  try {
    return work();
  } catch (error) {
    if (error instanceof GovError) return new Fault(codeOf(error), error.message);
    throw error;
  }
}

/** Steps 4 and 5. */
function countOf({ question, entry, range }: Answer, index: OpenIndex): number | Fault {
  if (keyText(entry.key) !== keyText(question.key) || entry.growth !== undefined)
    return new Fault('ANSWER_INVALID', 'the entry is of another key than the question');
  // an index has nothing under a key that its function does not define: that would be no answer
  if (!definesKey(index.fn, question.key))
    return new Fault('ANSWER_INVALID', `the map function ${index.fn} has no lists of this key`);
  const value = openEntry(entry, index.root);
  if (value === null) return new Fault('INDEX_INVALID', 'the index has no such list');
  const since = question.since === null ? null : ceilTimestamp(question.since);
  const until = question.until === null ? null : ceilTimestamp(question.until);
  if ((question.since !== null && since === null) || (question.until !== null && until === null))
    return new Fault('ANSWER_INVALID', 'expected times as RFC 3339 texts');
  if (until !== null && until > coveredUntil(index)) {
    const at = new Date(coveredUntil(index)).toISOString();
    return new Fault(
      'PERIOD_NOT_COVERED',
      `the index covers the time until ${at}, not until ${question.until}`,
    );
  }
  const whole = value === 'absent' || (since === null && until === null);
  if (whole !== (range === undefined))
    return new Fault('ANSWER_INVALID', 'expected a range for a period alone');
  if (value === 'absent') return 0;
  return range === undefined ? value.n : countIn(range, { value, key: question.key, since, until });
}

function countIn(
  { from, to, items }: AnswerRange,
  of: { value: ListValue; key: readonly string[]; since: number | null; until: number | null },
): number | Fault {
  const { value, key, since, until } = of;
  const { n } = value;
  const times = new Map([
    [0, value.firstMs],
    [n - 1, value.lastMs],
  ]);
  for (const item of items) {
    const time = timeOf(item, value, key);
    if (time === null) return new Fault('ANSWER_INVALID', `item ${item.position} is not in the list`);
    times.set(item.position, time);
  }
  const isBefore = (position: number, end: number | null): boolean => {
    const time = times.get(position);
    return end !== null && time !== undefined && time < end;
  };
  const isFrom = (position: number, end: number | null): boolean => {
    const time = times.get(position);
    return end !== null && time !== undefined && time >= end;
  };
  const isRange = from <= to && to <= n;
  const begins = from === 0 || isBefore(from - 1, since);
  const isIn = from === n || from === to || since === null || isFrom(from, since);
  const ends = to === n || isFrom(to, until);
  const isLast = to === 0 || from === to || until === null || isBefore(to - 1, until);
  const isExact = isRange && begins && isIn && ends && isLast && (since !== null || from === 0);
  return isExact ? to - from : new Fault('ANSWER_INVALID', 'the items shown do not bound the period');
}

/** The server time of an item that is in the list; else null. */
function timeOf(item: ShownItem, value: ListValue, key: readonly string[]): number | null {
  const { position, inclusion: path, index, ms, clientMs, record } = item;
  const isOfLeaves = key[0] === 'run';
  if (isOfLeaves) {
    if (record === undefined || (index ?? ms ?? clientMs) !== undefined) return null;
    return isListed(value, { position, leaf: leafHash(record), path }) ? readMapped(record).ms : null;
  }
  if (index === undefined || ms === undefined || record !== undefined) return null;
  const leaf = Buffer.from(placeItem(index, ms, clientMs), 'latin1');
  return isListed(value, { position, leaf, path }) ? ms : null;
}

const root: Location = { file: 'answer' };
const answerShape: Shape = {
  required: ['checkpoint', 'entry', 'index', 'mediaType', 'question'],
  optional: ['range'],
};
const questionShape: Shape = { required: ['key', 'since', 'until'] };
const rangeShape: Shape = { required: ['from', 'to', 'items'] };
const itemShape: Shape = {
  required: ['position', 'inclusion'],
  optional: ['clientMs', 'index', 'ms', 'record'],
};
const pathItems = { max: limits.proofPathHashes, read: hash };
/** Two items around each end of a period. */
const mostItems = 4;
const bounds = {
  depth: limits.jsonDepth,
  values: limits.jsonValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.bundleStringBytes,
};

/** Reads an answer; throws VALIDATION_ERROR with the pointer of the wrong member. */
export function readAnswer(bytes: Uint8Array): Answer {
  if (bytes.length > limits.answerBytes) {
    const detail = `expected an answer of at most ${limits.answerBytes} bytes, got ${bytes.length}`;
    throw new GovError('PAYLOAD_TOO_LARGE', detail);
  }
  const answer = object(parseJson(bytes, bounds), root, answerShape);
  const { mediaType, range } = answer;
  if (mediaType !== answerMediaType) refuse({ up: root, name: 'mediaType' }, answerMediaType, mediaType);
  const at: Location = { up: root, name: 'question' };
  const question = object(answer['question'], at, questionShape);
  return {
    mediaType: answerMediaType,
    question: {
      key: list(question, 'key', at, {
        max: 3,
        read: (item, place) => (typeof item === 'string' ? item : refuse(place, 'text', item)),
      }),
      since: timeText(question, 'since', at),
      until: timeText(question, 'until', at),
    },
    checkpoint: text(answer, 'checkpoint', root),
    index: readIncluded(answer['index'], { up: root, name: 'index' }),
    entry: readEntry(answer['entry'] ?? null, { up: root, name: 'entry' }),
    ...(range === undefined ? {} : { range: readRange(range, { up: root, name: 'range' }) }),
  };
}

const timeText = (parent: JsonObject, name: string, up: Location): string | null =>
  parent[name] === null ? null : text(parent, name, up);

function readRange(value: Json, at: Location): AnswerRange {
  const range = object(value, at, rangeShape);
  return {
    from: count(range, 'from', at),
    to: count(range, 'to', at),
    items: list(range, 'items', at, { max: mostItems, read: readItem }),
  };
}

function readItem(value: Json, at: Location): ShownItem {
  const item = object(value, at, itemShape);
  return {
    position: count(item, 'position', at),
    inclusion: list(item, 'inclusion', at, pathItems),
    ...(item['index'] === undefined ? {} : { index: count(item, 'index', at) }),
    ...(item['ms'] === undefined ? {} : { ms: count(item, 'ms', at) }),
    ...(item['clientMs'] === undefined ? {} : { clientMs: count(item, 'clientMs', at) }),
    ...(item['record'] === undefined ? {} : { record: text(item, 'record', at) }),
  };
}
