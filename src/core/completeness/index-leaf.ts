/**
 * The leaf `gov.index/1`: the root of the map (`map.ts`) of all leaves below `size`, in the log that it indexes. So a
 * checkpoint, its witnesses and every copy of the log cover it.
 *
 * `through` is the server time of the newest leaf below `size` that has one: every later leaf has this time or a later one.
 * `at` is the server time of the leaf itself, which the sequencer sets. If `size` is the leaf's own index, no leaf is between
 * them, and the map is complete up to `at`.
 *
 * Proven by `test/core/completeness/index-leaf.test.ts`.
 */
import { hashText, parseHash } from '../hash.ts';
import { canonicalize, readJson, type JsonObject } from '../json/parse.ts';
import type { OtherDraft } from '../events/record.ts';
import { formatTimestamp, parseTimestamp } from '../time.ts';
import type { MapFunction } from './map-function.ts';

export interface IndexRecord {
  readonly size: number;
  /** 32 bytes. */
  readonly root: Buffer;
  readonly keys: number;
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly throughMs: number;
  /** The map function by name. */
  readonly fn: string;
}

/** Before the sequencer sets the time, the record has this text in its place. */
const unset = '"at":"",';

/** Drafts the leaf; the sequencer sets `at`. */
export function draftIndex(map: {
  readonly size: number;
  readonly root: Uint8Array;
  readonly keys: number;
  readonly ms: number;
  readonly fn: MapFunction;
}): OtherDraft {
  const fields = {
    _sd: [],
    _sd_alg: 'sha-256',
    at: '',
    fn: map.fn,
    keys: map.keys,
    root: hashText(map.root),
    size: map.size,
    through: formatTimestamp(map.ms),
    type: 'gov.index/1',
  };
  const record = canonicalize(fields);
  const timeAt = record.indexOf(unset) + unset.length - 2;
  return { kind: 'other', type: 'gov.index/1', runId: null, id: null, record, timeAt, disclosures: null };
}

/** Reads the leaf; null for another record. Attacker controlled; never throws. */
export function readIndex(record: string): IndexRecord | null {
  if (!record.endsWith('"type":"gov.index/1"}')) return null;
  let value: JsonObject;
  try {
    value = readJson(record) as JsonObject;
  } catch {
    return null;
  }
  const { size, root, keys, at, through, fn } = value;
  if (typeof root !== 'string' || typeof at !== 'string' || typeof through !== 'string') return null;
  const rootHash = parseHash(root);
  const atMs = parseTimestamp(at);
  const throughMs = parseTimestamp(through);
  if (rootHash === null || atMs === null || throughMs === null || typeof fn !== 'string') return null;
  if (typeof size !== 'number' || typeof keys !== 'number') return null;
  if (!Number.isSafeInteger(size) || !Number.isSafeInteger(keys) || size < 0 || keys < 0) return null;
  return { size, root: rootHash, keys, atMs, throughMs, fn };
}
