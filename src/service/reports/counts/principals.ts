/**
 * For whom a credential acts, as the log records it: a key acts for the person who made it, through rotations and keys that
 * keys made. A key whose maker the log does not name as a person is nobody's: it may be anybody's, also that of the person
 * beside it. Proven by `test/service/reports/counts/principals.test.ts`.
 */
import { systemRun } from '../../../core/events/record.ts';
import { isObject } from '../../../core/json/object.ts';
import type { Json } from '../../../core/json/parse.ts';
import { eventsOf, textOf } from '../templates/read.ts';
import type { ReportSource } from '../templates/source.ts';

interface Actor {
  readonly id: string;
  readonly type: string | null;
}

/** `persons`: two persons are shown. `same`: one principal. `unknown`: two credentials that may be one person's. */
export type Separation = 'persons' | 'same' | 'unknown';

export class Principals {
  readonly #makers: ReadonlyMap<string, Actor>;
  readonly #persons: ReadonlySet<string>;

  constructor(makers: ReadonlyMap<string, Actor>) {
    this.#makers = makers;
    this.#persons = new Set([...makers.values()].filter(({ type }) => type === 'person').map(({ id }) => id));
  }

  apart(one: string, other: string): Separation {
    const [first, second] = [this.#originOf(one), this.#originOf(other)];
    if (first === second) return 'same';
    return this.#isPerson(first) && this.#isPerson(second) ? 'persons' : 'unknown';
  }

  /** The person, or the first key of the chain. A key that a person at the machine made begins a chain. */
  #originOf(id: string): string {
    const seen = new Set<string>();
    let at = id;
    for (let maker = this.#makers.get(at); maker !== undefined; maker = this.#makers.get(at)) {
      if (seen.has(at) || maker.type === 'operator') return at;
      seen.add(at);
      at = maker.id;
    }
    return at;
  }

  #isPerson(id: string): boolean {
    return this.#persons.has(id) || id.startsWith('usr_');
  }
}

/** Reads who made each key, from the whole log below the tree size. Cost: the events of keys. */
export async function principalsOf(source: ReportSource): Promise<Principals> {
  const makers = new Map<string, Actor>();
  for (const eventType of ['api_key.created', 'api_key.rotated'] as const) {
    for await (const { members, metadata } of eventsOf(source, systemRun, { eventType })) {
      const key = actorOf(members.get('resource'));
      const by = actorOf(members.get('actor'));
      const from = textOf(metadata['rotatedFrom']);
      if (key === null) continue;
      // a rotated key stays the principal of the key before; it does not matter who rotated it
      if (from !== null) makers.set(key.id, { id: from, type: 'api_key' });
      else if (by !== null) makers.set(key.id, by);
    }
  }
  return new Principals(makers);
}

function actorOf(value: Json | undefined): Actor | null {
  if (!isObject(value)) return null;
  const { id, type } = value;
  return typeof id === 'string' ? { id, type: typeof type === 'string' ? type : null } : null;
}
