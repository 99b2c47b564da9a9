/**
 * The clock of the database beside that of a serving process. Credentials expire, and leaves are stamped, by the clock of
 * the process: one that is off is told as long as it is. Proven by `test/store/postgres/connection/clock.test.ts`.
 */
import { aheadMs, isApart, skewAdvice, skewText, type ClockLook } from '../../append/clock-skew.ts';
import type { Database } from './database.ts';
import { sql, step } from './wire.ts';

/** Unix milliseconds. */
export const clockSql = '(extract(epoch FROM clock_timestamp()) * 1000)::float8';
const databaseClock = sql<{ ms: number }>(`SELECT ${clockSql} AS ms`);

/** From which a process says so. */
const mostMs = 5000;
const everyMs = 60_000;

export class ClockWatch {
  private readonly database: Database;
  private readonly told: (text: string) => void;
  private timer: NodeJS.Timeout | undefined;
  private skew: string | null = null;

  constructor(database: Database, told: (text: string) => void) {
    this.database = database;
    this.told = told;
  }

  /** For `/health`: `clock_skew: …`, or nothing. */
  get reasons(): readonly string[] {
    return this.skew === null ? [] : [this.skew];
  }

  /** Looks at once, and every minute until `close`. Never rejects: what troubles the database is told elsewhere. */
  async watch(now: () => number): Promise<void> {
    clearInterval(this.timer);
    this.timer = setInterval(() => void this.look(now), everyMs).unref();
    await this.look(now);
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async look(now: () => number): Promise<void> {
    const askedMs = now();
    const theirsMs = await this.ask().catch(() => null);
    if (theirsMs !== null) this.judge({ askedMs, answeredMs: now(), theirsMs });
  }

  private async ask(): Promise<number | null> {
    const [{ rows }] = await this.database.read({ project: 0 }, [step(databaseClock)]);
    return rows[0]?.ms ?? null;
  }

  private judge(look: ClockLook): void {
    const before = this.skew;
    this.skew = isApart(look, mostMs) ? `clock_skew: ${skewText(aheadMs(look))}; ${skewAdvice}` : null;
    if (before === null && this.skew !== null) this.told(this.skew);
  }
}
