/**
 * The lists of the index that the rows of an export make, in one pass over them. The maker of an export and its verifier
 * use the same code. Memory: 100 bytes for each row of a list in which items that no row has may be between the rows: the
 * first and the last day of a period, and a run or type of which a filter excludes events. Otherwise one hash for each
 * bit of a list's count.
 * Proven by `test/core/exports/completeness.test.ts`.
 */
import { KeyList } from '../completeness/key-list.ts';
import { dayOf, placeItem } from '../completeness/map-function.ts';
import type { JsonObject } from '../json/parse.ts';
import { readRecord } from '../events/run-entry.ts';
import { parseTimestamp } from '../time.ts';
import { excludes, isIn, periodOf, type ListPlan } from './filters.ts';

/** `at`: the index of an event, or its number in its run. `item`: its leaf hash in the list, 32 one-byte characters. */
export interface ListItem {
  readonly at: number;
  readonly item: string;
}

class RowList {
  readonly #list = new KeyList();
  readonly #held: ListItem[] | null;

  constructor(isHeld: boolean) {
    this.#held = isHeld ? [] : null;
  }

  add(item: ListItem): void {
    if (this.#held === null) this.#list.add(item.item, 0, 0);
    else this.#held.push(item);
  }

  /** The whole list with the items that no row has, which ascend. */
  with(others: readonly ListItem[]): KeyList {
    const list = KeyList.from(this.#list.stored()) ?? new KeyList();
    let next = 0;
    const addUpTo = (end: number): void => {
      for (let other = others[next]; other !== undefined && other.at < end; other = others[next]) {
        list.add(other.item, 0, 0);
        next += 1;
      }
    };
    for (const { at, item } of this.#held ?? []) {
      addUpTo(at);
      list.add(item, 0, 0);
    }
    addUpTo(Infinity);
    return list;
  }
}

const dayMs = 86_400_000;

export class RowLists {
  readonly plan: ListPlan;
  readonly #isSplit: (name: string) => boolean;
  readonly #lists = new Map<string, RowList>();
  rows = 0;

  constructor(plan: ListPlan, asked: JsonObject) {
    this.plan = plan;
    const period = periodOf(asked);
    const isSplit = excludes(plan, asked);
    // every event of a day within the period is a row
    this.#isSplit =
      plan.kind === 'days'
        ? (day) => {
            const startMs = Date.parse(`${day}T00:00:00Z`);
            return !isIn(startMs, period) || !isIn(startMs + dayMs - 1, period);
          }
        : () => isSplit;
  }

  /** Names of the lists: types, days, or one empty text. */
  get names(): Iterable<string> {
    return this.#lists.keys();
  }

  /** Adds the next row. `hash`: its leaf hash. False for a record that is not of this plan. Attacker controlled. */
  add(index: number, record: string, hash: Uint8Array): boolean {
    const { plan } = this;
    this.rows += 1;
    if (plan.kind === 'run' && plan.key[0] === 'of') {
      this.#listOf('').add({ at: index, item: latin1(hash) });
      return true;
    }
    const clear = readRecord(record);
    if (clear === null) return false;
    if (plan.kind === 'run') {
      this.#listOf('').add({ at: clear.runSeq, item: latin1(hash) });
      return true;
    }
    const [serverMs, clientMs] = [parseTimestamp(clear.serverTimestamp), parseTimestamp(clear.timestamp)];
    if (serverMs === null || clientMs === null) return false;
    const name = plan.kind === 'type' ? '' : plan.kind === 'types' ? clear.eventType : dayOf(clientMs);
    this.#listOf(name).add({ at: index, item: placeItem(index, serverMs, clientMs) });
    return true;
  }

  #listOf(name: string): RowList {
    let found = this.#lists.get(name);
    if (found === undefined) this.#lists.set(name, (found = new RowList(this.#isSplit(name))));
    return found;
  }

  /** The list of a name with the items that no row has; null without any item. */
  whole(name: string, others: readonly ListItem[]): KeyList | null {
    const found = this.#lists.get(name) ?? (others.length === 0 ? null : new RowList(false));
    return found?.with(others) ?? null;
  }
}

const latin1 = (hash: Uint8Array): string =>
  Buffer.from(hash.buffer, hash.byteOffset, hash.length).toString('latin1');
