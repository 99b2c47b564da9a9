/**
 * The part of the outbox about reports at the service: accepted, adopted and remade reports.
 * Proven by `test/plane/telemetry/outbox-held.test.ts`.
 */
import type { OutboxFile } from './outbox-file.ts';
import type { ServiceState, OutboxReport, StoredReport } from './outbox-rows.ts';

export class OutboxHeld {
  readonly #file: OutboxFile;

  constructor(file: OutboxFile) {
    this.#file = file;
  }

  /** Returns the newest report that the service accepted. */
  newestAccepted(planeId: string): StoredReport | null {
    return this.#file.report(
      "WHERE plane_id = ? AND state = 'accepted' ORDER BY epoch DESC, sequence DESC LIMIT 1",
      planeId,
    );
  }

  /** Returns the report of a log with the largest tree, for any plane. There are few. */
  largest(epoch: number): StoredReport | null {
    return this.#file.report('WHERE epoch = ? ORDER BY tree_size DESC LIMIT 1', epoch);
  }

  /** Whether the service received all reports of the epoch before this one. */
  isWhole({ planeId, epoch, sequence }: OutboxReport): boolean {
    const condition = `WHERE plane_id = ? AND epoch = ? AND sequence < ? AND state IN ('queued', 'refused') LIMIT 1`;
    return this.#file.report(condition, planeId, epoch, sequence) === null;
  }

  /**
   * Removes these reports and their successors from the sequence, for others to replace. Keeps sent reports.
   */
  remake(planeId: string, epoch: number, fromSequence: number, reason: string): void {
    const place = 'plane_id = ? AND epoch = ? AND sequence >= ?';
    this.#file.atomically(() => {
      this.#file
        .prepare(`DELETE FROM report WHERE ${place} AND handed = 0`)
        .run(planeId, epoch, fromSequence);
      this.#file
        .prepare(`UPDATE report SET state = 'replaced', reason = ? WHERE ${place} AND state <> 'replaced'`)
        .run(reason, planeId, epoch, fromSequence);
    });
  }

  /**
   * Makes a report of the service the newest one, with its receipt. The next report follows it. Removes from
   * the sequence the reports at or after its place, and reports that the service never accepted.
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
    this.#file.atomically(() => {
      this.remake(planeId, epoch, sequence, reason);
      this.#file
        .prepare(
          `UPDATE report SET state = 'replaced', reason = ? WHERE plane_id = ? AND epoch = ? AND state IN ('queued', 'refused')`,
        )
        .run(reason, planeId, epoch);
      const revive = this.#file.prepare(
        `UPDATE report SET state = 'accepted', handed = 1, receipt = ?, reason = NULL, settled_ms = ?
         WHERE plane_id = ? AND report_id = ? AND body = ?`,
      );
      if (revive.run(receipt, atMs, planeId, reportId, body).changes === 1) return;
      this.#file
        .prepare(
          `INSERT INTO report (plane_id, epoch, sequence, report_id, body, hash, tree_size, period_end_ms, built_ms,
           state, handed, receipt, settled_ms)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 'accepted', 1, ?, ?)`,
        )
        .run(...values);
    });
  }

  /** Sends accepted reports in these places again. */
  requeue(planeId: string, epoch: number, from: number, to: number): void {
    this.#file
      .prepare(
        `UPDATE report SET state = 'queued' WHERE plane_id = ? AND epoch = ? AND sequence BETWEEN ? AND ? AND state = 'accepted'`,
      )
      .run(planeId, epoch, from, to);
  }

  /** Returns the known state of the service. */
  known(): ServiceState {
    const row = this.#file
      .prepare<Omit<ServiceState, 'isBehind'> & { isBehind: number }>(
        'SELECT asked_for AS askedFor, is_behind AS isBehind, held, held_reason AS heldReason FROM contact',
      )
      .get();
    if (row === undefined) throw new Error('an outbox has a row of its contact');
    return { ...row, isBehind: row.isBehind === 1 };
  }

  /** Marks that the plane must ask the service. `isBehind`: the service holds other reports. */
  ask({ isBehind }: { readonly isBehind: boolean }): void {
    this.#file
      .prepare('UPDATE contact SET asked_for = NULL, is_behind = max(is_behind, ?)')
      .run(Number(isBehind));
  }

  /** Records the question for this enrolment. `held` is a report that the log lacks, or null. */
  asked(askedFor: string | null, held: { readonly report: string; readonly reason: string } | null): void {
    this.#file
      .prepare(
        'UPDATE contact SET asked_for = coalesce(?, asked_for), is_behind = 0, held = ?, held_reason = ?',
      )
      .run(askedFor, held?.report ?? null, held?.reason ?? null);
  }
}
