/**
 * What the parts of a long recording became (`reader.ts`), up to a place, as it is kept until the file has grown. Tested by
 * `test/core/intake/parts/reader.test.ts`.
 */
import { fromEach, readBalance, type Balance, type Counts } from '../../balance/statement.ts';
import type { JsonObject } from '../../json/canonical.ts';
import { isObject } from '../../json/object.ts';
import { changeLabels, type Change } from '../fit.ts';
import type { EventCounts } from '../run.ts';

/** The balance of the lines so far, without the name and the hash of the file. */
export interface PartBalance {
  readonly balance: Balance;
  /** Bytes of the remainder, of which the balance lists the first parts alone. */
  readonly left: number;
}

/** What the parts of a file became, up to a place. It is JSON, and has no content of the file but ids. */
export interface PartsState {
  readonly bytes: number;
  /** The line that comes next, from 1. */
  readonly line: number;
  readonly items: number;
  readonly runId: string;
  readonly format: string;
  readonly counts: EventCounts;
  /** Events by the kind of fact. */
  readonly facts: Counts;
  readonly lastTimestamp: string;
  readonly changes: readonly (readonly [Change, number])[];
  readonly numbered: readonly string[];
  readonly balance: PartBalance;
  /** What the format keeps. */
  readonly own: JsonObject;
}

/** A place between two parts. */
export interface PartsPlace {
  readonly state: PartsState;
  /** Names of earlier parts: `NameSet`. */
  readonly names: string;
}

/** Reads a state after its way through a file. Undefined: it is something else. */
export function readPartsState(value: unknown): PartsState | undefined {
  if (!isObject(value)) return undefined;
  const { bytes, line, items, runId, format, counts, facts, lastTimestamp, numbered, own } = value;
  const changes: unknown = value['changes'];
  const balance = readPartBalance(value['balance']);
  if (balance === undefined || !isObject(counts) || !isObject(own) || !isObject(facts) || !isChanges(changes))
    return undefined;
  const { events, keyless } = counts;
  if (typeof bytes !== 'number' || typeof line !== 'number' || typeof items !== 'number') return undefined;
  if (typeof events !== 'number' || typeof keyless !== 'number') return undefined;
  if (typeof runId !== 'string' || typeof format !== 'string' || typeof lastTimestamp !== 'string')
    return undefined;
  return {
    bytes,
    line,
    items,
    runId,
    format,
    counts: { events, keyless },
    facts: fromEach((kind) => Number(facts[kind] ?? 0)),
    lastTimestamp,
    changes,
    numbered: Array.isArray(numbered) ? numbered.map(String) : [],
    balance,
    own,
  };
}

/** Reads a balance after its way through a file. Undefined: it is something else. */
function readPartBalance(value: unknown): PartBalance | undefined {
  if (!isObject(value)) return undefined;
  const balance = readBalance(value['balance']);
  const { left } = value;
  return balance === undefined || typeof left !== 'number' ? undefined : { balance, left };
}

const isChanges = (value: unknown): value is [Change, number][] =>
  Array.isArray(value) &&
  value.every(
    (each) =>
      Array.isArray(each) && Object.hasOwn(changeLabels, String(each[0])) && typeof each[1] === 'number',
  );
