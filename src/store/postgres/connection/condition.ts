/**
 * The state of the database for `/health`: writable, with the reasons if it is not. Trouble lasts from the
 * first verb that met it until the database answers a probe, sent every second. Notices for the operator,
 * such as an altered leaf, last until the process ends.
 * Proven by `test/store/postgres/connection/database.test.ts`.
 */
import type { GovError } from '../../../contract/problems.ts';
import { Notices } from '../../append/notices.ts';
import { ClockWatch } from './clock.ts';
import type { Database } from './database.ts';
import { problemOf, troubleOf } from './faults.ts';
import { TroubleReport } from '../../append/spell.ts';
import { sql, step } from '../../read/queries.ts';
import type { Store } from '../../port/store.ts';

const probeMs = 1000;
const probe = sql('SELECT pg_is_in_recovery()');
/** Writes a record to the write-ahead log that changes nothing: COMMIT waits until it is on the disk. */
const writeProbe = sql("SELECT pg_logical_emit_message(true, 'gov', '')");

export class Condition {
  readonly clock: ClockWatch;
  readonly #database: Database;
  readonly #notices: Notices;
  #trouble: GovError | null = null;
  readonly #spell: TroubleReport;
  #probing: NodeJS.Timeout | undefined;

  constructor(
    database: Database,
    { warn, now }: { readonly warn: (text: string) => void; readonly now: () => number },
  ) {
    this.#database = database;
    this.#notices = new Notices(warn);
    this.clock = new ClockWatch(database, warn);
    this.#spell = new TroubleReport({ now, warn });
  }

  get current(): Omit<ReturnType<Store['condition']>, 'queued'> {
    const { clock } = this;
    const notices = this.#notices;
    const trouble = this.#trouble;
    const reasons = trouble === null ? [] : [`${trouble.code.toLowerCase()}: ${trouble.message}`];
    const { altered } = notices;
    return {
      writable: trouble === null,
      reasons: [...reasons, ...notices.reasons, ...clock.reasons],
      altered,
    };
  }

  /** Runs a verb, and turns errors into problems. `projectId` is the project that the verb names. */
  async watch<Value>(verb: () => Promise<Value>, projectId = ''): Promise<Value> {
    try {
      return await verb();
    } catch (error) {
      const problem = problemOf(error);
      this.note(problem, projectId);
      if (['lost', 'full', 'fault'].includes(troubleOf(problem.cause ?? error))) this.#enter(problem);
      throw problem;
    }
  }

  /** Commits a record that changes nothing. Rejects if a write now would not be durable. */
  async probe(): Promise<void> {
    await this.watch(async () => this.#database.write({ project: 0 }, [step(writeProbe)]));
  }

  /** Like `PostgresStore.note`. */
  note(error: unknown, projectId: string): void {
    this.#notices.note(error, projectId);
  }

  close(): void {
    this.clock.close();
    this.#spell.close();
    clearInterval(this.#probing);
  }

  #enter(problem: GovError): void {
    this.#trouble = problem;
    this.#spell.begin(`${problem.code.toLowerCase()}: ${problem.message}`);
    clearInterval(this.#probing);
    this.#probing = setInterval(() => void this.#look(), probeMs).unref();
  }

  async #look(): Promise<void> {
    try {
      await this.#database.read({ project: 0 }, [step(probe)]);
      this.#trouble = null;
      this.#spell.end('the database takes writes again');
      clearInterval(this.#probing);
    } catch {
      // still in trouble; the next probe follows in a second
    }
  }
}
