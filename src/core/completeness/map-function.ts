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

/** What a record says of its keys. */
export interface MappedRecord {
  /** The server time of the record; null for a record without one. */
  readonly ms: number | null;
  readonly event: { readonly runId: string; readonly runSeq: number; readonly eventType: string } | null;
  /** Of a record that is not an event; null for a text that is not a record. */
  readonly other: { readonly type: string; readonly runId: string | null } | null;
}

const nothing: MappedRecord = { ms: null, event: null, other: null };

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
    return { ms: timeOf(serverTimestamp), event: { runId, runSeq, eventType }, other: null };
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
  return { ms, event: null, other: { type, runId: typeof runId === 'string' ? runId : null } };
}

/** The item of a leaf in one list: its own leaf hash, its place, or the name of its type. */
export interface Item {
  readonly key: MapKey;
  readonly item: 'leaf' | 'place' | 'name';
}

/** The lists that a record is added to, always. The first event of a run or type is added to one more each. */
export function itemsOf({ event, other }: MappedRecord): readonly Item[] {
  if (event !== null) {
    return [
      { key: ['run', event.runId], item: 'leaf' },
      { key: ['type', event.eventType], item: 'place' },
    ];
  }
  if (other === null) return [];
  const { type, runId } = other;
  return [
    { key: ['leaf', type], item: 'place' },
    ...(runId === null ? [] : [{ key: ['of', type, runId], item: 'leaf' } as const]),
  ];
}
