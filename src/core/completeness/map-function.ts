/**
 * The map function `gov.mapfn/1`: which keys of the map a leaf of the log belongs to, and its item in each list. It reads
 * clear members only, so erasures change nothing. Times are server times, because only these never go back; a record
 * without one takes that of the newest record below it that has one.
 *
 *   key            leaves                                   item
 *   ["run", R]     events of run R                          the leaf, so that the list's root is `runRoot`
 *   ["type", E]    events of type E                         "<index> <serverMs>"
 *   ["runs"]       the first event of each run              "<index> <serverMs>"
 *   ["types"]      the first event of each type             the name of the type
 *   ["leaf", T]    other records of type T                  "<index> <serverMs>"
 *   ["of", T, R]   other records of type T about run R      the leaf
 *
 * Proven by `test/core/completeness/map-function.test.ts`.
 */
import { hash } from 'node:crypto';
import { readRecord } from '../event/run-entry.ts';
import { readJson, type JsonObject } from '../json/parse.ts';
import { parseTimestamp } from '../time.ts';
import type { MapKey } from './map.ts';

export const mapFunction = 'gov.mapfn/1';

/** The leaf hash of an item "<index> <serverMs>", 32 one-byte characters. */
export const placeItem = (index: number, ms: number): string => hash('sha256', `\0${index} ${ms}`, 'binary');

/** The leaf hash of the name of a type. */
export const nameItem = (name: string): string => hash('sha256', `\0${name}`, 'binary');

/** The item of a leaf in one list: its own leaf hash, or its place. */
interface Item {
  /** The key as `keyText` spells it. */
  readonly text: string;
  readonly item: 'leaf' | 'place';
}

/** What a record says of its keys. */
export interface MappedRecord {
  /** The server time of the record; null for a record without one. */
  readonly ms: number | null;
  /** Its number in its run, and its type; null for a record that is not an event. */
  readonly event: { readonly runSeq: number; readonly eventType: string } | null;
  /** The lists that the record is added to. The first event of a run or type is added to one more each. */
  readonly items: readonly Item[];
}

/** One text for each key. The names in a key have no control characters. */
export const keyText = (key: MapKey): string => key.join(separator);
export const keyOfText = (text: string): MapKey => text.split(separator);
const separator = '\u0000';

const nothing: MappedRecord = { ms: null, event: null, items: [] };

let newest = { text: '', ms: 0 };

/** The events of a commit share their time, so the newest text is remembered. */
function timeOf(text: string): number | null {
  if (text === newest.text) return newest.ms;
  const ms = parseTimestamp(text);
  if (ms !== null) newest = { text, ms };
  return ms;
}

const eventEnding = '"type":"gov.event/1"}';

/** Reads a record of any content; never throws. Cost: 2 µs for an event. */
export function readMapped(record: string): MappedRecord {
  if (record.endsWith(eventEnding)) {
    const clear = readRecord(record);
    if (clear === null) return nothing;
    const { runId, runSeq, eventType, serverTimestamp } = clear;
    const items: Item[] = [
      { text: `run${separator}${runId}`, item: 'leaf' },
      { text: `type${separator}${eventType}`, item: 'place' },
    ];
    return { ms: timeOf(serverTimestamp), event: { runSeq, eventType }, items };
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
