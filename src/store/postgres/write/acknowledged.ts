/**
 * Compares logs with their acknowledged heads in this process's data directory (`src/store/acked/heads.ts`). A standby
 * that lags lacks the newest acknowledged leaves when it takes over. A log is compared at its first use after the start
 * or after a lost connection. The next commit of the log then begins with a `gov.loss/1` leaf, written under the lock
 * of the log: other processes that lost the same leaves find it there.
 * A crash before the leaf leaves the acknowledged head, and the next comparison finds the loss again.
 * Proven by `test/store/postgres/write/acknowledged.test.ts`.
 */
import type { GovError } from '../../../contract/problems.ts';
import { lossOf, readLoss, type AckedHead, type Loss, type LossRecord } from '../../../core/decided/loss.ts';
import { meterTime } from '../../../core/planes/metering.ts';
import { formatTimestamp } from '../../../core/time.ts';
import type { Ledger } from '../../append/ledger.ts';
import type { AckedHeads } from '../../acked/heads.ts';
import { lossRefused } from '../../acked/compare.ts';
import type { OnLoss } from '../../acked/losses.ts';
import { sql, step } from '../../read/queries.ts';
import { typeNumbers } from '../../rules/decided.ts';
import type { Database, Transaction } from '../connection/database.ts';
import type { ProjectRow } from '../read/leaves.ts';
import { positionBits } from '../schema/tables.ts';
import { rootAt } from './roots.ts';

type Log = Pick<ProjectRow, 'project' | 'project_id' | 'audit_origin'>;

const size = sql<{ size: number }>('SELECT size FROM head WHERE project = $1 AND tree = 0');
/** `OFFSET 0` makes PostgreSQL look the leaf up by its key, for any statistics. */
const newestLoss = sql<{ record: string }>(
  `SELECT l.record FROM (SELECT ($1::int8 << ${positionBits}) + idx AS position FROM decided
     WHERE project = $1 AND type = ${typeNumbers['gov.loss/1']} ORDER BY idx DESC LIMIT 1) d
   CROSS JOIN LATERAL (SELECT record FROM leaf WHERE position = d.position OFFSET 0) l`,
);
const sizeAt = sql<{ size: number }>(
  `SELECT first_index + leaf_count AS size FROM meter WHERE position >= ($1::int8 << ${positionBits})
   AND position < (($1::int8 + 1) << ${positionBits}) AND ${meterTime} <= $2 ORDER BY position DESC LIMIT 1`,
);

export class AcknowledgedHeads {
  readonly #database: Database;
  readonly #acked: AckedHeads;
  readonly #onLoss: OnLoss;
  /** Called for a log that lacks leaves; an append records the loss. */
  readonly #found: (projectId: string) => void;
  readonly #lacked = new Map<string, AckedHead>();

  constructor(
    database: Database,
    { acked, onLoss, found }: { acked: AckedHeads; onLoss: OnLoss; found: (projectId: string) => void },
  ) {
    this.#database = database;
    this.#acked = acked;
    this.#onLoss = onLoss;
    this.#found = found;
  }

  /** Compares a log. Returns the refusal if it lacks acknowledged leaves and `onLoss` refuses it. Cost: 2 reads. */
  async judge({ project, project_id: projectId, audit_origin: origin }: Log): Promise<GovError | null> {
    // before the log is read, so that leaves that are acknowledged meanwhile do not count against it
    const head = this.#acked.find(projectId);
    if (head === null) return null;
    const [{ rows }] = await this.#database.read({ project }, [step(size, project)]);
    const got = rows[0]?.size ?? 0;
    const log = { project, tree: 'audit' } as const;
    if (got >= head.size && (await rootAt(this.#database, log, head.size)).equals(head.root)) {
      this.#lacked.delete(projectId);
      return null;
    }
    if (this.#onLoss === 'refuse') return lossRefused('STORAGE_FAULT', origin, { acked: head.size, got });
    this.#lacked.set(projectId, head);
    this.#found(projectId);
    return null;
  }

  /** The loss that a commit must record, or null. `transaction` holds the lock of the log. */
  async lossOf(projectId: string, ledger: Ledger, { run }: Pick<Transaction, 'run'>): Promise<Loss | null> {
    const head = this.#lacked.get(projectId);
    if (head === undefined) return null;
    const { no, audit, lastMs } = ledger;
    const [losses, sizes] = await run([step(newestLoss, no), step(sizeAt, no, formatTimestamp(head.atMs))]);
    const newest = losses.rows[0] === undefined ? null : readLoss(losses.rows[0].record);
    const loss = lossOf(head, { newest, sizeThen: sizes.rows[0]?.size ?? 0 });
    if (loss === null && newest !== null)
      this.settle(projectId, { size: audit.size, root: audit.root(), atMs: lastMs }, newest);
    return loss;
  }

  /** Remembers the head of a durable commit. `loss`: the one that the log has recorded, or null. */
  settle(projectId: string, head: AckedHead, loss: LossRecord | null): void {
    if (loss === null) return this.#acked.raise(projectId, head);
    this.#acked.recorded(projectId, head, loss);
    this.#lacked.delete(projectId);
  }
}
