/**
 * Fits recordings of other programs to the contract (A6, A7, E3 to E5). Content over a limit becomes
 * `{sha256, size, truncated: true, head}`; text that JSON cannot carry is repaired. Each change is counted, so that an
 * import can report it. Tested by `test/core/intake/fit.test.ts`.
 */
import { hash } from 'node:crypto';
import { limits } from '../../contract/limits.ts';
import { canonicalize, type Json, type JsonObject } from '../json/canonical.ts';

/** Changes to source content. People see these names. */
export const changeLabels = {
  kept_by_hash: 'values over a limit, kept as hash, size and beginning',
  text_repaired: 'texts with lone surrogates or U+0000, repaired',
  number_as_text: 'numbers that JSON cannot carry exactly, kept as text',
  clipped: 'names or actions over their length, clipped',
  call_id_renamed: 'tool call ids used twice in a run, numbered',
  call_unknown: 'results of calls that the source does not contain',
  result_by_order:
    'results that name no call of their own, joined in order (matchedBy: order; of unknown outcome where several calls were open)',
  result_ambiguous: 'results that fit several calls or none, marked ambiguous',
  unknown_part: 'parts that gov does not understand, recorded as x.unknown',
  bookkeeping: 'records of the source about itself, not recorded',
  version_replaced: 'older versions of an observation, replaced by the newest',
  block_repeated: 'parts of an answer or results that came again, recorded once',
  inherited: 'events of another run that the recording repeats, counted and not recorded',
  id_repeated: 'parts that the source contains twice, recorded once',
  id_numbered: 'parts that share an id and differ, numbered',
  observation_numbered: 'observations that share an id and differ, numbered',
  call_merged: 'tool calls reported twice, by a span and a log, recorded once',
  cause_unknown: 'causes that the source does not contain',
  parent_unknown: 'parents that the source does not contain',
  time_unreadable: 'unreadable times',
} as const;
export type Change = keyof typeof changeLabels;

export class Changes {
  readonly counts = new Map<Change, number>();

  add(change: Change): void {
    this.counts.set(change, this.of(change) + 1);
  }

  of(change: Change): number {
    return this.counts.get(change) ?? 0;
  }
}

const headChars = 1024;
/** Containers below the event itself: one less than the limit, however a reader counts the root. */
const deepest = limits.metadataDepth - 1;
/** Leaves room for the other members of an event within the limit of one body. */
const mostValues = limits.jsonValues - 200;
/** Of a UTF-16 unit in UTF-8. */
const mostBytesOfChar = 3;
/** Leaves room for the members that each event gets beside those of its source. */
const mostBytes = limits.metadataBytes - 200;

/** Returns `{sha256, size, truncated, head}` of a text's UTF-8 bytes, or of a value's canonical JSON (contract E5). */
export function digest(value: Json): JsonObject {
  const text = typeof value === 'string' ? value : canonicalize(value);
  return {
    sha256: hash('sha256', text, 'hex'),
    size: Buffer.byteLength(text),
    truncated: true,
    head: beginning(text, headChars),
  };
}

/** Returns the first `chars` UTF-16 units of a text, and never half a character. */
function beginning(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const cut = text.slice(0, chars);
  return cut.isWellFormed() ? cut : cut.slice(0, -1);
}

/** Returns text that I-JSON accepts: U+0000 becomes U+2400, a lone surrogate U+FFFD. */
export function repair(text: string, changes: Changes): string {
  if (text.isWellFormed() && !text.includes('\0')) return text;
  changes.add('text_repaired');
  return text.toWellFormed().replaceAll('\0', '\u2400');
}

/** Returns one line of at most `chars` without control characters; `fallback` if nothing remains. */
export function line(text: string, chars: number, options: { fallback: string; changes: Changes }): string {
  // contract E3 rejects C0 and C1 control characters
  const clean = repair(text, options.changes)
    .replace(/[\u0000-\u001f\u007f-\u009f]+/g, ' ') // oxlint-disable-line no-control-regex
    .trim();
  if (clean === '') return options.fallback;
  if (clean.length <= chars) return clean;
  options.changes.add('clipped');
  return `${beginning(clean, chars - 1)}…`;
}

/**
 * Returns metadata within the limits of contract E5, without members that are undefined or null. The source controls every
 * value.
 */
export function fitMetadata(source: Readonly<Record<string, unknown>>, changes: Changes): JsonObject {
  const metadata: JsonObject = {};
  for (const [key, value] of Object.entries(source))
    if (value !== undefined && value !== null) metadata[key] = fit(value, 1, changes);
  // a character has at most three bytes, and no value is shorter than one
  const { length } = JSON.stringify(metadata);
  if (length * mostBytesOfChar < mostBytes && length < mostValues) return metadata;
  const cost: Costs = new Map(
    Object.entries(metadata).map(([key, value]) => [
      key,
      {
        bytes: Buffer.byteLength(JSON.stringify(value)) + Buffer.byteLength(JSON.stringify(key)) + 2,
        values: countValues(value),
      },
    ]),
  );
  for (const unit of ['bytes', 'values'] as const) {
    const limit = unit === 'bytes' ? mostBytes : mostValues;
    while (sum(cost, unit) > limit) keepDearestByHash(metadata, { cost, unit, changes });
  }
  return metadata;
}

type Costs = Map<string, { bytes: number; values: number }>;
const sum = (costs: Costs, unit: 'bytes' | 'values'): number =>
  costs.values().reduce((total, cost) => total + cost[unit], 2);

function keepDearestByHash(
  metadata: JsonObject,
  { cost, unit, changes }: { cost: Costs; unit: 'bytes' | 'values'; changes: Changes },
): void {
  const dearest = [...cost].reduce((a, b) => (b[1][unit] > a[1][unit] ? b : a));
  const key = dearest[0];
  const replaced = digest(metadata[key] ?? null);
  changes.add('kept_by_hash');
  metadata[key] = replaced;
  cost.set(key, { bytes: Buffer.byteLength(JSON.stringify(replaced)) + key.length + 4, values: 5 });
}

/** Returns a value that the contract accepts. `level` counts the containers around it. */
function fit(value: unknown, level: number, changes: Changes): Json {
  switch (typeof value) {
    case 'string':
      return fitText(value, changes);
    case 'boolean':
      return value;
    case 'number':
      return fitNumber(value, changes);
    case 'object':
      return value === null ? null : fitContainer(value, level, changes);
    default:
      // JSON has no other types, so an importer has a bug
      throw new Error(`expected a JSON value, got ${typeof value}`);
  }
}

function fitText(text: string, changes: Changes): Json {
  const clean = repair(text, changes);
  if (clean.length * 3 <= limits.stringBytes || Buffer.byteLength(clean) <= limits.stringBytes) return clean;
  changes.add('kept_by_hash');
  return digest(clean);
}

function fitNumber(value: number, changes: Changes): Json {
  if (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))) return value;
  changes.add('number_as_text');
  return String(value);
}

function fitContainer(container: object, level: number, changes: Changes): Json {
  // content that is too deep is fitted as if it were at the top, and then hashed
  const tooDeep = level >= deepest;
  const inner = tooDeep ? 1 : level + 1;
  let unfit = tooDeep;
  let fitted: Json;
  if (Array.isArray(container)) {
    fitted = container.map((item) => fit(item, inner, changes));
  } else {
    fitted = Object.create(null) as JsonObject; // `__proto__` is an ordinary name here
    for (const [name, member] of Object.entries(container)) {
      if (member === undefined) continue;
      unfit ||= name.length > limits.memberNameChars;
      let clean = repair(name, changes);
      while (clean in fitted) clean += '\ufffd';
      fitted[clean] = fit(member, inner, changes);
    }
    fitted = Object.fromEntries(Object.entries(fitted));
  }
  if (!unfit) return fitted;
  changes.add('kept_by_hash');
  return digest(fitted);
}

function countValues(value: Json): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((count: number, item) => count + countValues(item), 1);
}
