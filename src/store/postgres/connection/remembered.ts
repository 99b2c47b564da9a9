/**
 * Compares the database with the signed heads in this process's data directory
 * (`src/store/file/signed-heads.ts`). If a log is shorter than its signed head, or has another root at that
 * size, the database is an older copy or was changed. Signing from it would make a second history. The store
 * refuses such a project until the database has those leaves again. It checks a project at its first use
 * after the start or after a lost connection, and before each checkpoint. A start checks only the newest
 * signed head. A longer log is normal: other processes signed it.
 * Source: C2SP tlog-checkpoint; RFC 9162 §2.1.4 (consistency).
 * Proven by `test/store/postgres/connection/remembered.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import type { TreeName } from '../../port/store.ts';
import type { SignedHeads } from '../../file/signed-heads.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { problemOf } from './faults.ts';
import type { ProjectRow } from '../read/leaves.ts';
import type { AcknowledgedHeads } from '../write/acknowledged.ts';
import { rootAt } from '../write/roots.ts';
import { sql, step } from '../../read/queries.ts';

type SeenHeads = Pick<SignedHeads, 'find' | 'newest'>;

export type Logs = Pick<ProjectRow, 'project' | 'project_id' | 'audit_origin' | 'metering_origin'>;

/**
 * How many refused projects are reported and checked again. Beyond that limit, refusals continue unreported.
 */
const maxReported = 1000;

const sizes = sql<{ size: number }>('SELECT size FROM head WHERE project = $1 ORDER BY tree');
const byOrigin = sql<Logs>(
  `SELECT project, project_id, audit_origin, metering_origin FROM project WHERE audit_origin = $1
   UNION ALL SELECT project, project_id, audit_origin, metering_origin FROM project WHERE metering_origin = $1`,
);

export class RememberedHeads {
  readonly #database: Database;
  readonly #heads: SeenHeads;
  readonly #warn: (text: string) => void;
  readonly #acknowledged: AcknowledgedHeads | null;
  readonly #refused = new Map<string, Logs>();

  constructor(
    database: Database,
    heads: SeenHeads,
    {
      warn = () => {},
      acknowledged = null,
    }: { warn?: (text: string) => void; acknowledged?: AcknowledgedHeads | null } = {},
  ) {
    this.#database = database;
    this.#heads = heads;
    this.#warn = warn;
    this.#acknowledged = acknowledged;
  }

  /** The reasons for `/health`. Only the operator's log names the logs. */
  get reasons(): readonly string[] {
    if (this.#refused.size === 0) return [];
    return [
      "database_behind: the database lacks signed or acknowledged leaves of a log; the operator's log names the log",
    ];
  }

  /**
   * STORAGE_FAULT if a log of the project contradicts its signed head. Cost: 3 reads, none for an unknown
   * log.
   */
  async judge(logs: Logs): Promise<void> {
    try {
      await this.#compare(logs);
      this.#refused.delete(logs.project_id);
    } catch (error) {
      if (error instanceof Behind) this.#refuse(logs, error);
      throw error;
    }
  }

  /** Like `judge`, and compares the acknowledged head: the check of a first use. */
  async judgeFirst(logs: Logs): Promise<void> {
    await this.judge(logs);
    const refusal = (await this.#acknowledged?.judge(logs)) ?? null;
    if (refusal === null) return;
    this.#refuse(logs, refusal);
    throw refusal;
  }

  /** Like `judge`, for the log with the newest signed head: the check of a start. */
  async judgeNewest(): Promise<void> {
    const newest = this.#heads.newest();
    if (newest === null) return;
    const { origin, size } = newest;
    const [{ rows }] = await this.#database.read({ duty: 'check' }, [step(byOrigin, origin)]);
    if (rows[0] === undefined) throw new Behind(origin, `a log of at least ${size} leaves`, 'no such log');
    await this.judge(rows[0]);
  }

  /** Checks refused projects again, and stops at the first that is still refused. */
  async judgeRefused(): Promise<void> {
    for (const logs of this.#refused.values()) {
      try {
        await this.judgeFirst(logs);
      } catch {
        return;
      }
    }
  }

  async #compare({ project, audit_origin: audit, metering_origin: metering }: Logs): Promise<void> {
    // before the sizes are read, so that heads that others raise meanwhile do not count against the logs
    const kept = Object.entries({ audit, metering }).map(([tree, origin], at) => ({
      tree: tree as TreeName,
      at,
      origin,
      head: this.#heads.find(origin),
    }));
    if (kept.every(({ head }) => head === null)) return;
    const [{ rows }] = await this.#database.read({ project }, [step(sizes, project)]);
    for (const { tree, at, origin, head } of kept) {
      if (head === null) continue;
      const { size, root } = head;
      const stored = rows[at]?.size ?? 0;
      if (stored < size) throw new Behind(origin, `a log of at least ${size} leaves`, `${stored} leaves`);
      const own = (await rootAt(this.#database, { project, tree }, size)).toString('hex');
      const signed = root.toString('hex');
      if (own !== signed) throw new Behind(origin, `root ${signed} at size ${size}`, `root ${own}`);
    }
  }

  #refuse(logs: Logs, { message }: GovError): void {
    if (this.#refused.has(logs.project_id) || this.#refused.size >= maxReported) return;
    this.#refused.set(logs.project_id, logs);
    this.#warn(`database_behind: ${message}`);
  }
}

class Behind extends GovError {
  constructor(origin: string, expected: string, got: string) {
    super(
      'STORAGE_FAULT',
      `log ${origin}: expected ${expected}, as the signed head says, got ${got}; the database is an older copy or was ` +
        'changed, and signing from it would make a second history; restore the newest copy, or, after an ' +
        'investigation, start once with gov service serve --rebuild-heads',
      { extensions: { origin } },
    );
  }
}

/** The check of a start, over a separate connection: `Remembered.judgeNewest`. */
export async function inspectHeads(options: DatabaseOptions, heads: SeenHeads): Promise<void> {
  const database = new Database(options);
  try {
    await new RememberedHeads(database, heads).judgeNewest();
  } catch (error) {
    throw problemOf(error);
  } finally {
    await database.close();
  }
}
