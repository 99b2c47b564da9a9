/**
 * The map functions: which keys of the map a leaf of the log belongs to, and its item in each list. They read clear members
 * only, so erasures change nothing. Server times order the items, because only these never go back; a record without one
 * takes that of the newest record below it that has one.
 *
 *   key            leaves                                   item
 *   ["run", R]     events of run R                          the leaf, so that the list's root is `runRoot`
 *   ["type", E]    events of type E                         "<index> <serverMs> <clientMs>"
 *   ["day", D]     events of client day D, in UTC           "<index> <serverMs> <clientMs>"
 *   ["runs"]       the first event of each run              "<index> <serverMs>"
 *   ["types"]      the first event of each type             the name of the type
 *   ["days"]       the first event of each client day       the day, such as 2026-01-05
 *   ["leaf", T]    other records of type T                  "<index> <serverMs>"
 *   ["of", T, R]   other records of type T about run R      the leaf
 *
 * This is `gov.mapfn/2`. `gov.mapfn/1` lacks `day` and `days`, and its items of `type` have no client time. Index leaves of
 * both are verified. A log is indexed by the newer one, unless its leaves were pruned while the older one indexed them.
 *
 * Proven by `test/core/completeness/map-function.test.ts`.
 */
import { hash } from 'node:crypto';
import { readRecord } from '../events/run-entry.ts';
import { readJson, type JsonObject } from '../json/parse.ts';
import { parseTimestamp } from '../time.ts';
import type { MapKey } from './map.ts';

export const mapFunctions = ['gov.mapfn/1', 'gov.mapfn/2'] as const;
export type MapFunction = (typeof mapFunctions)[number];
/** The function of new indexes. */
export const mapFunction: MapFunction = 'gov.mapfn/2';

export const isMapFunction = (name: string): name is MapFunction =>
  (mapFunctions as readonly string[]).includes(name);

/** The leaf hash of an item "<index> <serverMs>" or "<index> <serverMs> <clientMs>", 32 one-byte characters. */
export const placeItem = (index: number, ms: number, clientMs?: number): string =>
  textItem(clientMs === undefined ? `${index} ${ms}` : `${index} ${ms} ${clientMs}`);

/** The leaf hash of an item that is a text, such as the name of a type. */
export const textItem = (text: string): string => hash('sha256', `\0${text}`, 'binary');

/** The item of a leaf in one list: its own leaf hash, its place, or its place with the client time. */
interface Item {
  /** The key as `keyText` spells it. */
  readonly text: string;
  readonly item: 'leaf' | 'place' | 'event';
  /** The list that the first item of this list is added to as well. */
  readonly opens?: 'runs' | 'types' | 'days';
}

/** What a record says of its keys. */
export interface MappedRecord {
  /** The server time of the record; null for a record without one. */
  readonly ms: number | null;
  /** Its number in its run, and its client time; null for a record that is not an event. */
  readonly event: { readonly runSeq: number; readonly clientMs: number } | null;
  /** The lists that the record is added to. */
  readonly items: readonly Item[];
}

/** One text for each key. The names in a key have no control characters. */
export const keyText = (key: MapKey): string => key.join(separator);
export const keyOfText = (text: string): MapKey => text.split(separator);
const separator = '\u0000';

/** How many names follow the first one of a key. */
const namesAfter = { run: 1, type: 1, day: 1, runs: 0, types: 0, days: 0, leaf: 1, of: 2 } as const;
/** Records that a list of `leaf` never has: events are in `run` and `type`. */
const eventLeaf = 'gov.event/1';

/** Whether a map of this function has lists of this key. Of any other key it has none, whatever the log has. */
export function definesKey(fn: MapFunction, [kind = '', ...names]: MapKey): boolean {
  if (!isKind(kind) || names.length !== namesAfter[kind]) return false;
  if (fn === 'gov.mapfn/1' && (kind === 'day' || kind === 'days')) return false;
  return !names.some((name) => name.includes(separator)) && (kind !== 'leaf' || names[0] !== eventLeaf);
}

const isKind = (kind: string): kind is keyof typeof namesAfter => Object.hasOwn(namesAfter, kind);

const nothing: MappedRecord = { ms: null, event: null, items: [] };

let newest = { text: '', ms: 0 };

/** The events of a commit share their time, so the newest text is remembered. */
function timeOf(text: string): number | null {
  if (text === newest.text) return newest.ms;
  const ms = parseTimestamp(text);
  if (ms !== null) newest = { text, ms };
  return ms;
}

const dayMs = 86_400_000;
let newestDay = { number: 0, text: '1970-01-01' };

/** The day of a time, in UTC. */
export function dayOf(ms: number): string {
  const number = Math.floor(ms / dayMs);
  if (number !== newestDay.number) newestDay = { number, text: new Date(ms).toISOString().slice(0, 10) };
  return newestDay.text;
}

const eventEnding = '"type":"gov.event/1"}';

/** Reads a record of any content; never throws. Cost: 2 µs for an event. */
export function readMapped(record: string, fn: MapFunction = mapFunction): MappedRecord {
  if (record.endsWith(eventEnding)) {
    const clear = readRecord(record);
    if (clear === null) return nothing;
    const { runId, runSeq, eventType, timestamp, serverTimestamp } = clear;
    // every event that is accepted has a client time
    const clientMs = parseTimestamp(timestamp) ?? 0;
    const run = { text: `run${separator}${runId}`, item: 'leaf', opens: 'runs' } as const;
    const type = `type${separator}${eventType}`;
    const items: Item[] =
      fn === 'gov.mapfn/1'
        ? [run, { text: type, item: 'place', opens: 'types' }]
        : [
            run,
            { text: type, item: 'event', opens: 'types' },
            { text: `day${separator}${dayOf(clientMs)}`, item: 'event', opens: 'days' },
          ];
    return { ms: timeOf(serverTimestamp), event: { runSeq, clientMs }, items };
  }
  let value: JsonObject;
  try {
    value = readJson(record) as JsonObject;
  } catch {
    return nothing;
  }
  const { type, runId, at } = value ?? {};
  if (typeof type !== 'string' || type === 'gov.event/1') return nothing;
  const ms = type === 'gov.index/1' && typeof at === 'string' ? timeOf(at) : null;
  const items: Item[] = [{ text: keyText(['leaf', type]), item: 'place' }];
  if (typeof runId === 'string') items.push({ text: keyText(['of', type, runId]), item: 'leaf' });
  return { ms, event: null, items };
}
