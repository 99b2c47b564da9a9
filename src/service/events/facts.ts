/**
 * What received requests need to know of earlier ones, by name: the run of a trace, the state of a source, the signal that
 * reported a call. Tested by `test/http/otlp/receive.engines.test.ts`.
 */
import type { FactChange } from '../../store/port/store.ts';
import type { PlainEffect } from './append.ts';

/** Facts of a project: read once, changed here, written with the request. */
export class Facts {
  readonly #read: (names: readonly string[]) => Promise<ReadonlyMap<string, string>>;
  readonly #before = new Map<string, string>();
  readonly #after = new Map<string, string>();

  constructor(read: (names: readonly string[]) => Promise<ReadonlyMap<string, string>>) {
    this.#read = read;
  }

  async load(names: readonly string[]): Promise<void> {
    for (const [name, value] of await this.#read([...new Set(names)])) this.#before.set(name, value);
  }

  get(name: string): string | null {
    return this.#after.get(name) ?? this.#before.get(name) ?? null;
  }

  /** A state that an earlier request wrote. */
  json<State>(name: string): State | null {
    const value = this.get(name);
    return value === null ? null : (JSON.parse(value) as State);
  }

  set(name: string, value: string): void {
    if (this.get(name) !== value) this.#after.set(name, value);
  }

  get isEmpty(): boolean {
    return this.#after.size === 0;
  }

  effects(): PlainEffect[] {
    const facts = [...this.#after].map(([name, to]): FactChange => ({
      name,
      from: this.#before.get(name) ?? null,
      to,
    }));
    return facts.length === 0 ? [] : [{ kind: 'saveFacts', facts }];
  }
}
