/**
 * Compares a log in a SQLite database with its acknowledged head in `acked.bin`. An older copy of the database lacks
 * the newest acknowledged leaves.
 * Proven by `test/store/sqlite/write/lost.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { lossOf, readLoss, type Loss } from '../../core/decided/loss.ts';
import { rootFromTiles } from '../../core/merkle/tile.ts';
import { meterTime } from '../../core/planes/metering.ts';
import { formatTimestamp } from '../../core/time.ts';
import { typeNumbers } from '../rules/decided.ts';
import type { AckedHeads, AckedHead } from './heads.ts';
import type { Connection, Value } from '../file/connection.ts';
import { endOf, positionOf, positionSql } from '../file/position.ts';
import { tileReader } from '../file/tiles.ts';

export const lossRefused = (
  code: 'CONFLICT' | 'STORAGE_FAULT',
  origin: string,
  { acked, got }: { readonly acked: number; readonly got: number },
): GovError =>
  new GovError(
    code,
    `log ${origin}: expected the ${acked} acknowledged leaves, got another copy of the database, with ${got} leaves; ` +
      'restore the newest copy, or set onLoss to record to go on without them',
    { extensions: { origin } },
  );

/** An audit log as the database has it. */
export interface StoredLog {
  readonly projectId: string;
  readonly project: number;
  readonly size: number;
  readonly root: Buffer;
}

/** The acknowledged head that a log lacks, or null. Cost: 5 µs if it is the newest one of the log. */
export function lackedFinder(db: Connection, acked: AckedHeads): (log: StoredLog) => AckedHead | null {
  const read = tileReader(db);
  return ({ projectId, project, size, root }) => {
    const head = acked.find(projectId);
    if (head === null || head.size > size) return head;
    const own =
      head.size === size
        ? root
        : rootFromTiles(head.size, (level, index) => read(project, 'audit', { level, index }));
    return own.equals(head.root) ? null : head;
  };
}

/** Returns the loss that the next append of a log must record, or null. `lastMs`: the newest time of the log. */
export function lossFinder(
  db: Connection,
  acked: AckedHeads,
): (log: StoredLog, lastMs: number) => Loss | null {
  const lacked = lackedFinder(db, acked);
  const newestLoss = db
    .prepare<Value[], string>(
      `SELECT record FROM decided d JOIN leaf ON leaf.position = ${positionSql('d')}
       WHERE d.project = ? AND d.type = ${typeNumbers['gov.loss/1']} ORDER BY d.idx DESC LIMIT 1`,
    )
    .pluck();
  const sizeThen = db
    .prepare<Value[], number>(
      `SELECT first_index + leaf_count FROM meter WHERE position >= ? AND position < ? AND ${meterTime} <= ?
       ORDER BY position DESC LIMIT 1`,
    )
    .pluck();
  return (log, lastMs) => {
    const head = lacked(log);
    if (head === null) return null;
    const { project, projectId, size, root } = log;
    const record = newestLoss.get(project);
    const newest = record === undefined ? null : readLoss(record);
    const then = sizeThen.get(positionOf(project, 0), endOf(project), formatTimestamp(head.atMs)) ?? 0;
    const loss = lossOf(head, { newest, sizeThen: then });
    if (loss === null && newest !== null) acked.recorded(projectId, { size, root, atMs: lastMs }, newest);
    return loss;
  };
}
