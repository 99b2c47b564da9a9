/**
 * What `/health` reports of the database: trouble from the first verb that met it until the database answers again,
 * which is asked every second; and what an operator must know until the end, such as an altered leaf.
 */
import type { GovError } from '../../contract/problems.ts';
import { isAltered } from '../altered.ts';
import type { Database } from './database.ts';
import { problemOf, troubleOf } from './faults.ts';
import { sql, step } from './wire.ts';

const probeMs = 1000;
const probe = sql('SELECT pg_is_in_recovery()');
/** A record in the log of the database that changes nothing: COMMIT waits until it is on the disk. */
const writeProbe = sql("SELECT pg_logical_emit_message(true, 'gov', '')");

export class Condition {
  private readonly database: Database;
  private readonly told: (text: string) => void;
  private readonly notices: string[] = [];
  private trouble: GovError | null = null;
  private probing: NodeJS.Timeout | undefined;

  constructor(database: Database, told: (text: string) => void) {
    this.database = database;
    this.told = told;
  }

  get current(): { readonly writable: boolean; readonly reasons: readonly string[] } {
    const { trouble, notices } = this;
    const reasons = trouble === null ? [] : [`${trouble.code.toLowerCase()}: ${trouble.message}`];
    return { writable: trouble === null, reasons: [...reasons, ...notices] };
  }

  /** Runs a verb; what goes wrong below it becomes a problem. */
  async watch<Value>(verb: () => Promise<Value>): Promise<Value> {
    try {
      return await verb();
    } catch (error) {
      const problem = problemOf(error);
      const altered: boolean = isAltered(problem);
      if (altered) this.note(problem);
      else if (['lost', 'full', 'fault'].includes(troubleOf(problem.cause ?? error))) this.enter(problem);
      throw problem;
    }
  }

  /** Commits something that changes nothing. Rejects where a write now would not be durable. */
  async probe(): Promise<void> {
    await this.watch(async () => this.database.write({ project: 0 }, [step(writeProbe)]));
  }

  /** Takes note of an altered leaf, where the error says so. */
  note(error: unknown): void {
    if (isAltered(error)) this.notice(`integrity_violation: ${error.message}`);
  }

  close(): void {
    clearInterval(this.probing);
  }

  private enter(problem: GovError): void {
    this.trouble = problem;
    clearInterval(this.probing);
    this.probing = setInterval(() => void this.look(), probeMs).unref();
  }

  private async look(): Promise<void> {
    try {
      await this.database.read({ project: 0 }, [step(probe)]);
      this.trouble = null;
      clearInterval(this.probing);
    } catch {
      // as before; asked again in a second
    }
  }

  /** Told once for each code, kept until the end. */
  private notice(reason: string): void {
    const code = reason.slice(0, reason.indexOf(':') + 1);
    if (this.notices.some((known) => known.startsWith(code))) return;
    this.notices.push(reason);
    this.told(reason);
  }
}
