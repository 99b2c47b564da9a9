/**
 * Holds the database to the heads that the data directory of this process has seen signed (`src/store/file/signed-heads.ts`):
 * where one of its logs is shorter, or has another root there, the database is an older copy, or was changed, and what
 * is signed from it would make a second history. Such a project is refused until the database has those leaves again.
 * Looked at when a project is first used after the start or a lost connection, and before each checkpoint; at a start
 * only the head that was raised last. A log that is longer is what other processes signed.
 * Proven by `test/store/postgres/connection/remembered.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import type { TreeName } from '../../port/store.ts';
import type { SignedHeads } from '../../file/signed-heads.ts';
import { Database, type DatabaseOptions } from './database.ts';
import { problemOf } from './faults.ts';
import type { ProjectRow } from '../read/leaves.ts';
import { rootAt } from '../write/roots.ts';
import { sql, step } from './wire.ts';

type Seen = Pick<SignedHeads, 'find' | 'newest'>;

export type Logs = Pick<ProjectRow, 'project' | 'project_id' | 'audit_origin' | 'metering_origin'>;

/** Refused projects that are told of and looked at again; where there are more, all of them are refused. */
const refusedTold = 1000;

const sizes = sql<{ size: number }>('SELECT size FROM head WHERE project = $1 ORDER BY tree');
const byOrigin = sql<Logs>(
  `SELECT project, project_id, audit_origin, metering_origin FROM project WHERE audit_origin = $1
   UNION ALL SELECT project, project_id, audit_origin, metering_origin FROM project WHERE metering_origin = $1`,
);

export class Remembered {
  private readonly database: Database;
  private readonly heads: Seen;
  private readonly told: (text: string) => void;
  private readonly refused = new Map<string, Logs>();

  constructor(database: Database, heads: Seen, told: (text: string) => void = () => {}) {
    this.database = database;
    this.heads = heads;
    this.told = told;
  }

  /** What `/health` says; of whom, only the operator's log does. */
  get reasons(): readonly string[] {
    if (this.refused.size === 0) return [];
    return ["database_behind: the database lacks what was signed of a log; the operator's log says which"];
  }

  /** STORAGE_FAULT where a log of the project is not what was signed of it. Cost: 3 reads, none for an unknown log. */
  async judge(logs: Logs): Promise<void> {
    try {
      await this.compare(logs);
      this.refused.delete(logs.project_id);
    } catch (error) {
      if (error instanceof Behind) this.refuse(logs, error);
      throw error;
    }
  }

  /** As `judge`, of the log that was signed last: what a start looks at. */
  async judgeNewest(): Promise<void> {
    const newest = this.heads.newest();
    if (newest === null) return;
    const { origin, size } = newest;
    const [{ rows }] = await this.database.read({ duty: 'check' }, [step(byOrigin, origin)]);
    if (rows[0] === undefined) throw new Behind(origin, `a log of at least ${size} leaves`, 'no such log');
    await this.judge(rows[0]);
  }

  /** Looks at what is refused once more, until something still is. */
  async judgeRefused(): Promise<void> {
    for (const logs of this.refused.values()) {
      try {
        await this.judge(logs);
      } catch {
        return;
      }
    }
  }

  private async compare({ project, audit_origin: audit, metering_origin: metering }: Logs): Promise<void> {
    // before the sizes are read: what others raise meanwhile is not held against them
    const kept = Object.entries({ audit, metering }).map(([tree, origin], at) => ({
      tree: tree as TreeName,
      at,
      origin,
      head: this.heads.find(origin),
    }));
    if (kept.every(({ head }) => head === null)) return;
    const [{ rows }] = await this.database.read({ project }, [step(sizes, project)]);
    for (const { tree, at, origin, head } of kept) {
      if (head === null) continue;
      const { size, root } = head;
      const stored = rows[at]?.size ?? 0;
      if (stored < size) throw new Behind(origin, `a log of at least ${size} leaves`, `${stored} leaves`);
      const own = (await rootAt(this.database, { project, tree }, size)).toString('hex');
      const signed = root.toString('hex');
      if (own !== signed) throw new Behind(origin, `root ${signed} at size ${size}`, `root ${own}`);
    }
  }

  private refuse(logs: Logs, { message }: Behind): void {
    if (this.refused.has(logs.project_id) || this.refused.size >= refusedTold) return;
    this.refused.set(logs.project_id, logs);
    this.told(`database_behind: ${message}`);
  }
}

class Behind extends GovError {
  constructor(origin: string, expected: string, got: string) {
    super(
      'STORAGE_FAULT',
      `log ${origin}: expected ${expected}, as it was signed, got ${got}; the database is an older copy or was ` +
        'changed, and signing from it would make a second history; restore the newest one, or, after an ' +
        'investigation, start once with gov service serve --rebuild-heads',
      { extensions: { origin } },
    );
  }
}

/** What a start would refuse: as `Remembered.judgeNewest`, over a connection of its own. */
export async function inspectHeads(options: DatabaseOptions, heads: Seen): Promise<void> {
  const database = new Database(options);
  try {
    await new Remembered(database, heads).judgeNewest();
  } catch (error) {
    throw problemOf(error);
  } finally {
    await database.close();
  }
}
