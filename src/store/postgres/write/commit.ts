/**
 * One commit of one project, in two round trips: (1) look up under the lock, (2) write everything and COMMIT.
 * Round trip 1 locks the heads and reads the rows that the requests name. The requests are then planned one
 * by one in memory, each with those before it. Leaves for a home are read and planned after that, in three
 * more round trips (`src/store/postgres/effects/to-home.ts`).
 *
 * A crash or a lost connection before COMMIT leaves nothing of the commit; after COMMIT it leaves everything.
 * While the response to (2) is missing, nobody knows which: callers get STORAGE_FAULT and repeat with their
 * keys. Processes take turns by the lock; the heads still move by compare-and-swap.
 * Source: PostgreSQL 18, chapter 13.3 (explicit locking).
 * Proven by `test/store/postgres/suite.alone.test.ts` and `test/store/postgres/processes.long.test.ts`.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { GovError } from '../../../contract/problems.ts';
import type { AppendRequest } from '../../port/store.ts';
import type { RandomPool } from '../../append/random.ts';
import { scoped, type Database, type Transaction } from '../connection/database.ts';
import { factsOf, lookupsOf } from './facts.ts';
import type { Facts } from './known.ts';
import { problemOf, stateOf, troubleOf, type Faults } from '../connection/faults.ts';
import type { AcknowledgedHeads } from './acknowledged.ts';
import { bothHeads, isCurrent, lockHeads, openLedger, type HeadRow, type OpenLedger } from './ledger.ts';
import { CommitPlan, type RequestOutcome } from './plan.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { keyLookups } from '../effects/subject-keys.ts';
import { organizationLookups } from './tenant-facts.ts';
import { logBeside, planAll } from '../effects/to-home.ts';
import { step, type Result } from '../../read/queries.ts';

/** Tries of a commit that conflicts with others on the same rows. */
const tries = 6;

export interface CommitterOptions {
  readonly database: Database;
  readonly numberOf: ProjectNumber;
  readonly clock: { now(): number };
  readonly random: RandomPool;
  readonly faults?: Faults | undefined;
  /** Remembers what commits acknowledge. Absent: nothing does. */
  readonly acknowledged?: AcknowledgedHeads | undefined;
}

export class Committer {
  readonly #options: CommitterOptions;
  readonly #ledgers = new Map<string, OpenLedger>();

  constructor(options: CommitterOptions) {
    this.#options = options;
  }

  /**
   * Settles requests of one project, in their order. Commits of one project must not overlap. Rejects if it
   * stored none of them.
   */
  async commit(projectId: string, requests: readonly AppendRequest[]): Promise<readonly RequestOutcome[]> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await this.#attempt(projectId, requests);
      } catch (error) {
        this.#ledgers.delete(projectId);
        const unsent = error instanceof Unsent;
        const cause = unsent ? error.cause : error;
        const trouble = troubleOf(isFault(cause) ? cause.cause : cause);
        const isOnes = stateOf(cause) !== null || requests.some(({ toHome }) => toHome !== undefined);
        if (trouble === 'bug' && isOnes && requests.length > 1) {
          return this.#oneByOne(projectId, requests);
        }
        if ((trouble !== 'again' && !(unsent && trouble === 'lost')) || tried === tries) throw cause;
        await pause(tried * tried * 5);
      }
    }
  }

  /**
   * Gives each request its own commit, because any of them may have caused the row or the home to be refused.
   */
  async #oneByOne(projectId: string, requests: readonly AppendRequest[]): Promise<RequestOutcome[]> {
    const settled: RequestOutcome[] = [];
    for (const request of requests) {
      try {
        settled.push(...(await this.commit(projectId, [request])));
      } catch (error) {
        settled.push({ done: false, error: problemOf(error) });
      }
    }
    return settled;
  }

  async #attempt(projectId: string, requests: readonly AppendRequest[]): Promise<readonly RequestOutcome[]> {
    const { database, numberOf, faults, acknowledged } = this.#options;
    return before(async () => {
      // after a lost connection the project is checked again: another server may answer
      const project = await numberOf(projectId);
      return database.transaction({ project }, async (transaction) => {
        const { ledger, facts } = await before(async () => {
          await faults?.before('read', transaction.backend);
          return this.#read(transaction, { project, projectId }, requests);
        });
        // under the lock, so that no other process records the same loss
        const loss = await before(async () => acknowledged?.lossOf(projectId, ledger, transaction) ?? null);
        const commit = new CommitPlan({
          ...this.#options,
          ledger,
          facts,
          loss,
          acknowledged: (id, head, recorded) => acknowledged?.settle(id, head, recorded),
        });
        const { settled, forHomes } = planAll(commit, requests, facts);
        const steps = commit.steps();
        for (const [home, leaves] of forHomes) {
          steps.push(...(await logBeside(transaction, this.#options, { projectId: home, leaves })));
        }
        // the look-ups of homes changed the scope
        if (forHomes.size > 0) steps.unshift(scoped({ project }));
        if (steps.length > 0) {
          await before(async () => faults?.before('write', transaction.backend));
          await transaction.commit(steps).catch((error: unknown) => {
            throw new Sent(error);
          });
        }
        commit.settle();
        this.#ledgers.set(projectId, ledger);
        return settled;
      });
    });
  }

  /**
   * Locks the heads, looks up the rows that the requests name, and reads the ledger if another process moved
   * a head.
   */
  async #read(
    transaction: Transaction,
    { project, projectId }: { readonly project: number; readonly projectId: string },
    requests: readonly AppendRequest[],
  ): Promise<{ ledger: OpenLedger; facts: Facts }> {
    const before = organizationLookups(project, requests);
    const after = [
      ...lookupsOf(project, requests),
      ...keyLookups(project, requests, this.#options.database.seal),
    ];
    const results: readonly Result[] = await transaction.run([
      ...before.map((lookup) => lookup.step),
      step(lockHeads, project),
      ...after.map((lookup) => lookup.step),
    ]);
    const locked = results[before.length];
    const found = results.filter((_, at) => at !== before.length);
    const heads = bothHeads(project, (locked?.rows ?? []) as HeadRow[]); // the rows of `lockHeads`
    const held = this.#ledgers.get(projectId);
    const ledger =
      held !== undefined && isCurrent(held, heads) ? held : await openLedger(transaction, project, heads);
    return { ledger, facts: factsOf([...before, ...after], found) };
  }
}

/** The form in which a read reports trouble with the connection. */
const isFault = (error: unknown): error is GovError =>
  error instanceof GovError && error.code === 'STORAGE_FAULT';

/** An error before the first statement that stores anything. */
class Unsent extends Error {}

/** An error of a commit. */
class Sent extends Error {
  constructor(cause: unknown) {
    super('expected a commit, got an error', { cause });
  }
}

async function before<Value>(body: () => Promise<Value>): Promise<Value> {
  try {
    return await body();
  } catch (error) {
    if (error instanceof Sent) throw error.cause;
    throw error instanceof Unsent ? error : new Unsent('before the commit', { cause: error });
  }
}
