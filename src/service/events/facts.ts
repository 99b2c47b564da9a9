/**
 * What received telemetry made known to a project: facts by name, read once, changed here, and written with the request
 * that changes them. The sweep deletes a fact that no request has used for `limits.intakeFactDays`.
 * Proven by `test/http/otlp/receive.engines.test.ts` and `test/service/events/silence.test.ts`.
 */
import type { Fact, FactChange } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';
import type { PlainEffect } from '../writes/append.ts';

/** The beginnings of the names of facts. */
export const factNames = {
  /** A source: `service.name` and `service.instance.id`. */
  source: 's:',
  /** All instances of a service. */
  service: 'v:',
  /** Numbers of the records of a session. */
  sequence: 'q:',
  /** The run of a trace. */
  trace: 't:',
  /** What became of the records of a source on a day, and the newest day with records. */
  day: 'b:',
  newestDay: 'd:',
  /** What was reported of a prompt, a message or the calls of a model. */
  report: 'h:',
  /** Spans of tools and models in a trace. */
  spans: 'k:',
  /** The signal that reported a tool call. */
  call: 'c:',
  /** A run in which `gov run` started a program, and a conversation that the program named. */
  link: 'l:',
  /** Permissions of a call that wait for its second gate (`src/service/approvals/joins.ts`). */
  join: 'j:',
} as const;

const dayMs = 86_400_000;

export class Facts {
  readonly #read: (names: readonly string[]) => Promise<ReadonlyMap<string, Fact>>;
  readonly #day: number;
  readonly #before = new Map<string, Fact>();
  readonly #after = new Map<string, string>();

  constructor({ store }: Pick<Services, 'store'>, of: { readonly projectId: string; readonly atMs: number }) {
    this.#read = (names) => store.facts(of.projectId, names);
    this.#day = Math.floor(of.atMs / dayMs);
  }

  async load(names: readonly string[]): Promise<void> {
    for (const [name, fact] of await this.#read([...new Set(names)])) this.#before.set(name, fact);
  }

  get(name: string): string | null {
    return this.#after.get(name) ?? this.#before.get(name)?.value ?? null;
  }

  /** A state that an earlier request wrote. */
  json<State>(name: string): State | null {
    const value = this.get(name);
    return value === null ? null : (JSON.parse(value) as State);
  }

  /** Sets a fact, and keeps it from being deleted: a fact in use is written once a day. */
  set(name: string, value: string): void {
    const isUsedToday = (this.#before.get(name)?.day ?? 0) >= this.#day;
    if (this.get(name) !== value || !isUsedToday) this.#after.set(name, value);
  }

  get isEmpty(): boolean {
    return this.#after.size === 0;
  }

  effects(): PlainEffect[] {
    const facts = [...this.#after].map(([name, to]): FactChange => ({
      name,
      from: this.#before.get(name)?.value ?? null,
      to,
    }));
    return facts.length === 0 ? [] : [{ kind: 'saveFacts', facts, day: this.#day }];
  }
}
