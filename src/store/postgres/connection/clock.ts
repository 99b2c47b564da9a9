/**
 * Compares the clock of the database with the clock of a serving process. Credentials expire by the clock of
 * the process, and leaves carry its time: a skew is reported as long as it lasts.
 * Proven by `test/store/postgres/connection/clock.test.ts`.
 */
import { aheadMs, isApart, skewAdvice, skewText, type ClockLook } from '../../append/clock-skew.ts';
import type { Database } from './database.ts';
import { sql, step } from '../../read/queries.ts';

/** Unix milliseconds. */
export const clockSql = '(extract(epoch FROM clock_timestamp()) * 1000)::float8';
const databaseClock = sql<{ ms: number }>(`SELECT ${clockSql} AS ms`);

/** The skew from which the process reports it. */
const mostMs = 5000;
const everyMs = 60_000;

export class ClockWatch {
  readonly #database: Database;
  readonly #warn: (text: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #skew: string | null = null;

  constructor(database: Database, warn: (text: string) => void) {
    this.#database = database;
    this.#warn = warn;
  }

  /** The reasons for `/health`: `clock_skew: …`, or none. */
  get reasons(): readonly string[] {
    return this.#skew === null ? [] : [this.#skew];
  }

  /**
   * Compares immediately and every minute until `close`. Never rejects: `Condition` reports trouble with the
   * database.
   */
  async watch(now: () => number): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = setInterval(() => void this.#look(now), everyMs).unref();
    await this.#look(now);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(now: () => number): Promise<void> {
    const askedMs = now();
    const theirsMs = await this.#ask().catch(() => null);
    if (theirsMs !== null) this.#judge({ askedMs, answeredMs: now(), theirsMs });
  }

  async #ask(): Promise<number | null> {
    const [{ rows }] = await this.#database.read({ project: 0 }, [step(databaseClock)]);
    return rows[0]?.ms ?? null;
  }

  #judge(look: ClockLook): void {
    const before = this.#skew;
    this.#skew = isApart(look, mostMs) ? `clock_skew: ${skewText(aheadMs(look))}; ${skewAdvice}` : null;
    if (before === null && this.#skew !== null) this.#warn(this.#skew);
  }
}
