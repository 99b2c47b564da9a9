/**
 * What stands in the outbox of what its service holds: reports that were accepted, those that are taken over from the
 * service, and those that are made anew. Proven by `test/plane/telemetry/outbox-held.test.ts`.
 */
import type { Connection, Value } from '../../src/store/file/connection.ts';
import type { Statement } from '../../src/store/file/statement.ts';
import {
  reportColumns,
  reportOf,
  type Known,
  type OutboxReport,
  type ReportRow,
  type StoredReport,
} from './outbox-rows.ts';

export class HeldOutbox {
  protected readonly db: Connection;
  readonly #statements = new Map<string, Statement>();

  constructor(db: Connection) {
    this.db = db;
  }

  close(): void {
    this.db.close();
  }

  protected prepare<Row = unknown>(sql: string): Statement<Row> {
    const statement = this.#statements.get(sql) ?? this.db.prepare<Value[], unknown>(sql);
    this.#statements.set(sql, statement);
    return statement as Statement<Row>; // each text is prepared for one kind of row
  }

  protected one(condition: string, ...values: Value[]): StoredReport | null {
    const row = this.prepare<ReportRow>(`SELECT ${reportColumns} FROM report ${condition}`).get(...values);
    return reportOf(row);
  }

  /** The newest report that the service took. */
  newestAccepted(planeId: string): StoredReport | null {
    return this.one(
      "WHERE plane_id = ? AND state = 'accepted' ORDER BY epoch DESC, sequence DESC LIMIT 1",
      planeId,
    );
  }

  /** The report of a log with the largest tree, whoever it was for; there are few. */
  largest(epoch: number): StoredReport | null {
    return this.one('WHERE epoch = ? ORDER BY tree_size DESC LIMIT 1', epoch);
  }

  /** Whether the service was told of all reports of the epoch before this one. */
  isWhole({ planeId, epoch, sequence }: OutboxReport): boolean {
    const condition = `WHERE plane_id = ? AND epoch = ? AND sequence < ? AND state IN ('queued', 'refused') LIMIT 1`;
    return this.one(condition, planeId, epoch, sequence) === null;
  }

  /** Takes these reports, and those behind them, out of the row: others take their places. What may have left is kept. */
  remake(planeId: string, epoch: number, fromSequence: number, reason: string): void {
    const place = 'plane_id = ? AND epoch = ? AND sequence >= ?';
    this.db.transaction(() => {
      this.prepare(`DELETE FROM report WHERE ${place} AND handed = 0`).run(planeId, epoch, fromSequence);
      this.prepare(
        `UPDATE report SET state = 'replaced', reason = ? WHERE ${place} AND state <> 'replaced'`,
      ).run(reason, planeId, epoch, fromSequence);
    })();
  }

  /**
   * Makes a report that the service holds the newest one, with its receipt: the next one follows it. What stood in its
   * place, behind it, or was never accepted is taken out of the row.
   */
  adopt(report: OutboxReport, receipt: string, atMs: number): void {
    const { planeId, epoch, sequence, reportId, body, hash, treeSize, periodEndMs, builtMs } = report;
    const values = [
      planeId,
      epoch,
      sequence,
      reportId,
      body,
      hash,
      treeSize,
      periodEndMs,
      builtMs,
      receipt,
      atMs,
    ];
    const reason = `replaced by report ${reportId}, which the service holds`;
    this.db.transaction(() => {
      this.remake(planeId, epoch, sequence, reason);
      this.prepare(
        `UPDATE report SET state = 'replaced', reason = ? WHERE plane_id = ? AND epoch = ? AND state IN ('queued', 'refused')`,
      ).run(reason, planeId, epoch);
      const revive = this.prepare(
        `UPDATE report SET state = 'accepted', handed = 1, receipt = ?, reason = NULL, settled_ms = ?
         WHERE plane_id = ? AND report_id = ? AND body = ?`,
      );
      if (revive.run(receipt, atMs, planeId, reportId, body).changes === 1) return;
      this.prepare(
        `INSERT INTO report (plane_id, epoch, sequence, report_id, body, hash, tree_size, period_end_ms, built_ms,
           state, handed, receipt, settled_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'accepted', 1, ?, ?)`,
      ).run(...values);
    })();
  }

  /** Reports of these places that were accepted are sent again. */
  requeue(planeId: string, epoch: number, from: number, to: number): void {
    this.prepare(
      `UPDATE report SET state = 'queued' WHERE plane_id = ? AND epoch = ? AND sequence BETWEEN ? AND ? AND state = 'accepted'`,
    ).run(planeId, epoch, from, to);
  }

  /** What is known of what the service holds. */
  known(): Known {
    const row = this.prepare<Omit<Known, 'isBehind'> & { isBehind: number }>(
      'SELECT asked_for AS askedFor, is_behind AS isBehind, held, held_reason AS heldReason FROM contact',
    ).get();
    if (row === undefined) throw new Error('an outbox has a row of its contact');
    return { ...row, isBehind: row.isBehind === 1 };
  }

  /** The service is to be asked what it holds; `isBehind`: since it holds other reports. */
  ask({ isBehind }: { readonly isBehind: boolean }): void {
    this.prepare('UPDATE contact SET asked_for = NULL, is_behind = max(is_behind, ?)').run(Number(isBehind));
  }

  /** It was asked for this enrolment, and holds what the log does not have, or null. */
  asked(askedFor: string | null, held: { readonly report: string; readonly reason: string } | null): void {
    this.prepare(
      'UPDATE contact SET asked_for = coalesce(?, asked_for), is_behind = 0, held = ?, held_reason = ?',
    ).run(askedFor, held?.report ?? null, held?.reason ?? null);
  }
}
