/**
 * Plans a bundle: its exact size, checked against the limits of its verifier, and its text without the long lists.
 * Proven by `test/service/proofs/bundle-plan.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { listAfter, listNames, type ListPiece } from './bundle-lists.ts';
import type { BundleLists, BundlePlan } from '../call/work.ts';

type EnclosedEvents = BundleLists['events'] | 'none';
/** JSON values of an item: itself and its members. */
const itemValues = { edges: 4, nodes: 5 } as const;

/** Measures the items of the long lists, and keeps them as long as the bundle may be small. */
export class BundlePlanner {
  readonly #events: EnclosedEvents;
  readonly #bytes = { events: 0, edges: 0, nodes: 0 };
  #values = 0;
  #kept: Record<ListPiece['list'], string[]> | null = { events: [], edges: [], nodes: [] };
  lists: BundleLists | null = null;

  constructor(events: EnclosedEvents) {
    this.#events = events;
  }

  add({ list, text, items }: ListPiece): void {
    const isFirst = this.#bytes[list] === 0;
    this.#bytes[list] += Buffer.byteLength(text) + (isFirst ? 0 : 1);
    if (list !== 'events') this.#values += items * itemValues[list];
    const { events, edges, nodes } = this.#bytes;
    if (events > limits.bundleBytes || edges + nodes > limits.bundleRestBytes) throw tooLarge(this.#events);
    if (events + edges + nodes > limits.bundleWholeBytes) this.#kept = null;
    this.#kept?.[list].push(text);
  }

  /** `frame`: the canonical text of the bundle with empty lists, which has `values` values. */
  around(frame: string, values: number): Uint8Array | BundlePlan {
    const texts: string[] = [];
    let rest = frame;
    if (this.lists !== null) {
      for (const list of listNames) {
        // no text in a JSON string has an unescaped quote, so this is the member
        const empty = rest.indexOf(`"${list}":[]`);
        if (empty === -1) continue; // a proof without a graph
        const end = empty + list.length + '"":['.length;
        texts.push(rest.slice(0, end));
        rest = rest.slice(end);
      }
    }
    texts.push(rest);
    const { events, edges, nodes } = this.#bytes;
    const restBytes = Buffer.byteLength(frame) + edges + nodes;
    const bytes = restBytes + events;
    const isTooLarge =
      bytes > limits.bundleBytes ||
      restBytes > limits.bundleRestBytes ||
      values > limits.bundleValues ||
      this.#values > limits.bundleValues;
    if (isTooLarge) throw tooLarge(this.#events);
    if (this.#kept !== null && bytes <= limits.bundleWholeBytes) {
      const kept = this.#kept;
      const withItems = (text: string, at: number): string => {
        const list = listAfter(texts, at);
        return list === null ? text : text + kept[list].join(',');
      };
      return Buffer.from(texts.map(withItems).join(''));
    }
    return { texts: texts.map((text) => Buffer.from(text)), bytes, lists: this.lists };
  }
}

/** A verifier reads no larger bundle, so none is made. */
export const tooLarge = (events: EnclosedEvents): GovError =>
  new GovError(
    'VALIDATION_ERROR',
    `expected a bundle of at most ${limits.bundleBytes} bytes, of which at most ${limits.bundleRestBytes} bytes and ` +
      `${limits.bundleValues} values are not events, and at most ${limits.bundleEventBytes} one event, got more; ` +
      `ask with events=${events === 'disclosed' ? 'records' : 'none'}, or export the events with proof`,
    { extensions: { limit: limits.bundleBytes } },
  );
