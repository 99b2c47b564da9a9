/**
 * The outbox of a plane, `telemetry.db`: usage reports and challenge answers as sent, with their receipts.
 * The local copy stays permanently. One step makes and inserts a report. (plane, epoch, sequence) is unique:
 * where two processes make the same report, the second insert fails and that process looks again. A crash
 * before the insert leaves nothing, and after it the whole report. The outbox marks a message (`handed`)
 * before it can leave the machine. Its bytes never change after that. The first stored answer to a challenge
 * stays. Proven by `test/plane/telemetry/outbox-held.test.ts`.
 */
import { join } from 'node:path';
import { GovError } from '../../src/contract/problems.ts';
import { connect, type Connection, type Value } from '../../src/store/file/connection.ts';
import { opening } from '../../src/store/file/faults.ts';
import { migrate } from '../../src/store/file/migrate.ts';
import { makePrivate } from '../../src/store/file/paths.ts';
import { OutboxFile } from './outbox-file.ts';
import { OutboxHeld } from './outbox-held.ts';
import { outboxMigrations } from './outbox-schema.ts';
import {
  challengeColumns,
  type Contact,
  type OutboxReport,
  type SettledMessage,
  type StoredChallenge,
  type StoredReport,
} from './outbox-rows.ts';

export type { Contact, OutboxReport, SettledMessage, StoredChallenge, StoredReport } from './outbox-rows.ts';

/** 'govt' */
const applicationId = 0x676f7674;
/** Size of the write-ahead log at which SQLite copies its pages into the file: 2 MiB. */
const walPages = 256;

export const outboxFile = (dataDir: string): string => join(dataDir, 'telemetry.db');

/** Opens or makes the outbox. STORAGE_FAULT where it is damaged or cannot be opened. */
export const openOutbox = (dataDir: string): Outbox =>
  opened(dataDir, (path) => {
    makePrivate(path);
    const db = connect(path, { applicationId, cacheKiB: 1024 });
    try {
      migrate(db, outboxMigrations);
      db.pragma(`wal_autocheckpoint = ${walPages}`);
      // Commands write while the plane serves.
      db.pragma('busy_timeout = 5000');
      return new Outbox(db);
    } catch (error) {
      db.close();
      throw error;
    }
  });

/** Opens an existing outbox read-only. Prepares all statements at once, so that a damaged file fails here. */
export const readOutbox = (dataDir: string): Outbox =>
  opened(dataDir, (path) => {
    const db = connect(path, { applicationId, readonly: true, cacheKiB: 256 });
    try {
      db.prepare('SELECT state FROM report LIMIT 1').get();
      return new Outbox(db);
    } catch (error) {
      db.close();
      throw error;
    }
  });

function opened(dataDir: string, open: (path: string) => Outbox): Outbox {
  const path = outboxFile(dataDir);
  try {
    return opening(path, () => open(path));
  } catch (cause) {
    const isFile = cause instanceof Error && 'syscall' in cause;
    if (!isFile && !(cause instanceof GovError && cause.code === 'STORAGE_FAULT')) throw cause;
    const detail =
      `${cause.message}; recording goes on without it. Where it is damaged, move ${path} away, with the -wal and -shm ` +
      'beside it: the plane makes another one and goes on behind what its service holds';
    throw new GovError('STORAGE_FAULT', detail, { cause });
  }
}

export class Outbox {
  /** The reports of this plane at the service. */
  readonly held: OutboxHeld;
  readonly #file: OutboxFile;

  constructor(db: Connection) {
    this.#file = new OutboxFile(db);
    this.held = new OutboxHeld(this.#file);
  }

  close(): void {
    this.#file.close();
  }

  /** Returns the newest report of a plane in any state. The next report follows it. */
  newest(planeId: string): StoredReport | null {
    return this.#file.report(
      "WHERE plane_id = ? AND state <> 'replaced' ORDER BY epoch DESC, sequence DESC LIMIT 1",
      planeId,
    );
  }

  /** Returns the first report of a plane without a final result. */
  next(planeId: string): StoredReport | null {
    return this.#file.report(
      "WHERE plane_id = ? AND state = 'queued' ORDER BY epoch, sequence LIMIT 1",
      planeId,
    );
  }

  /** The first report of a plane that never left the machine. */
  firstKept(planeId: string): StoredReport | null {
    return this.#file.report(
      "WHERE plane_id = ? AND state = 'queued' AND handed = 0 ORDER BY epoch, sequence LIMIT 1",
      planeId,
    );
  }

  /** The newest report that may have left the machine. */
  lastHanded(planeId: string): StoredReport | null {
    return this.#file.report(
      "WHERE plane_id = ? AND handed = 1 AND state <> 'replaced' ORDER BY epoch DESC, sequence DESC LIMIT 1",
      planeId,
    );
  }

  /** Challenges about a report. */
  challengesOf(planeId: string, reportId: string): StoredChallenge[] {
    const select = `SELECT ${challengeColumns} FROM challenge WHERE plane_id = ? AND report_id = ?`;
    return this.#file.prepare<StoredChallenge>(select).all(planeId, reportId);
  }

  report(planeId: string, reportId: string): StoredReport | null {
    return this.#file.report('WHERE plane_id = ? AND report_id = ?', planeId, reportId);
  }

  /** Reports of a plane in order, one read at a time; those that wait alone, or all. */
  *reports(planeId: string, { queued }: { queued: boolean }): Generator<StoredReport> {
    const more = queued ? "AND state = 'queued'" : "AND state <> 'replaced'";
    let place = { epoch: -1, sequence: 0 };
    for (;;) {
      const found = this.#file.report(
        `WHERE plane_id = ? ${more} AND (epoch, sequence) > (?, ?) ORDER BY epoch, sequence LIMIT 1`,
        planeId,
        place.epoch,
        place.sequence,
      );
      if (found === null) return;
      yield found;
      place = found;
    }
  }

  /** Inserts the next report. False where another process inserted one of its place meanwhile: look again. */
  insert(report: OutboxReport): boolean {
    const { planeId, epoch, sequence, reportId, body, hash, treeSize, periodEndMs, builtMs } = report;
    const insert = this.#file.prepare(
      `INSERT INTO report (plane_id, epoch, sequence, report_id, body, hash, tree_size, period_end_ms, built_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (plane_id, epoch, sequence) WHERE state <> 'replaced' DO NOTHING`,
    );
    const values = [planeId, epoch, sequence, reportId, body, hash, treeSize, periodEndMs, builtMs];
    return insert.run(...values).changes === 1;
  }

  /** Marks durably that this report, and up to `ahead` reports after it, may leave the machine. */
  hand({ planeId, epoch, sequence }: OutboxReport, ahead = 0): void {
    this.#file
      .prepare(
        `UPDATE report SET handed = 1 WHERE plane_id = ? AND epoch = ? AND sequence BETWEEN ? AND ? AND handed = 0`,
      )
      .run(planeId, epoch, sequence, sequence + ahead);
  }

  /** Stores the result of a report with its challenge. False and no change where it already had a result. */
  settle(
    { planeId, reportId }: Pick<OutboxReport, 'planeId' | 'reportId'>,
    { state, receipt, reason, atMs }: SettledMessage & { readonly state: 'accepted' | 'refused' },
    challenge: { readonly challengeId: string; readonly text: string } | null,
  ): boolean {
    return this.#file.atomically(() => {
      if (challenge !== null) this.#challenged({ planeId, reportId }, challenge, atMs);
      const update = this.#file.prepare(
        `UPDATE report SET state = ?, receipt = ?, reason = ?, settled_ms = ?, handed = 1
         WHERE plane_id = ? AND report_id = ? AND state NOT IN ('accepted', 'replaced')`,
      );
      return update.run(state, receipt, reason, atMs, planeId, reportId).changes === 1;
    });
  }

  #challenged(
    { planeId, reportId }: Pick<OutboxReport, 'planeId' | 'reportId'>,
    { challengeId, text }: { readonly challengeId: string; readonly text: string },
    atMs: number,
  ): void {
    this.#file
      .prepare(
        `INSERT INTO challenge (challenge_id, plane_id, report_id, challenge, received_ms) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO NOTHING`,
      )
      .run(challengeId, planeId, reportId, text, atMs);
  }

  #challenge(condition: string, ...values: Value[]): StoredChallenge | null {
    const select = this.#file.prepare<StoredChallenge>(
      `SELECT ${challengeColumns} FROM challenge ${condition}`,
    );
    return select.get(...values) ?? null;
  }

  challenge(planeId: string, challengeId: string): StoredChallenge | null {
    return this.#challenge('WHERE plane_id = ? AND challenge_id = ?', planeId, challengeId);
  }

  /** Returns the first open challenge after the given place, in order of arrival. */
  openChallenge(planeId: string, after = ''): StoredChallenge | null {
    return this.#challenge(
      `WHERE plane_id = ? AND state = 'open' AND no > coalesce((SELECT no FROM challenge WHERE challenge_id = ?), 0)
       ORDER BY no LIMIT 1`,
      planeId,
      after,
    );
  }

  /** Stores the first answer to a challenge durably, and returns the stored answer. */
  answer(planeId: string, challengeId: string, answer: string): string {
    this.#file
      .prepare('UPDATE challenge SET answer = ? WHERE plane_id = ? AND challenge_id = ? AND answer IS NULL')
      .run(answer, planeId, challengeId);
    const kept = this.challenge(planeId, challengeId)?.answer;
    if (kept === undefined || kept === null) throw new Error(`no challenge ${challengeId} in the outbox`);
    return kept;
  }

  /** False where the challenge already had a result. */
  settleChallenge(
    planeId: string,
    challengeId: string,
    { state, receipt, reason, atMs }: SettledMessage & { readonly state: 'answered' | 'refused' },
  ): boolean {
    const update = this.#file.prepare(
      `UPDATE challenge SET state = ?, receipt = ?, reason = ?, settled_ms = ?
       WHERE plane_id = ? AND challenge_id = ? AND state <> 'answered'`,
    );
    return update.run(state, receipt, reason, atMs, planeId, challengeId).changes === 1;
  }

  /** Replaces unsent reports in one step by fewer reports, or by reports with other predecessors. */
  replace(planeId: string, epoch: number, fromSequence: number, reports: readonly OutboxReport[]): void {
    this.#file.atomically(() => {
      const dropped = this.#file
        .prepare('DELETE FROM report WHERE plane_id = ? AND epoch = ? AND sequence >= ? AND handed = 0')
        .run(planeId, epoch, fromSequence);
      if (dropped.changes < reports.length) throw new Error('expected reports that never left');
      for (const report of reports) if (!this.insert(report)) throw new Error('expected free places');
    });
  }

  contact(): Contact {
    const select = this.#file.prepare<Contact>(
      `SELECT reached_ms AS reachedMs, failing_since_ms AS failingSinceMs, failure FROM contact`,
    );
    return select.get() ?? { reachedMs: null, failingSinceMs: null, failure: null };
  }

  /** Records a response, which ends a failure, or records a failure. */
  note(failure: string | null, atMs: number): void {
    const sql =
      failure === null
        ? 'UPDATE contact SET reached_ms = ?, failing_since_ms = NULL, failure = ?'
        : 'UPDATE contact SET failing_since_ms = coalesce(failing_since_ms, ?), failure = ?';
    this.#file.prepare(sql).run(atMs, failure);
  }

  /** Counts waiting reports and recent refusals of a plane. O(n) in open rows, and uses only indexes. */
  summary(planeId: string, refusedSinceMs: number): OutboxSummary {
    const waiting = this.#file
      .prepare<{ reports: number }>(
        "SELECT count(*) AS reports FROM report WHERE plane_id = ? AND state = 'queued'",
      )
      .get(planeId);
    const oldest = this.#file
      .prepare<{ atMs: number }>(
        `SELECT built_ms AS atMs FROM report WHERE plane_id = ? AND state = 'queued' ORDER BY epoch, sequence LIMIT 1`,
      )
      .get(planeId);
    const refused = this.#file
      .prepare<{ reports: number; reason: string | null }>(
        `SELECT count(*) AS reports, max(reason) AS reason FROM report
       WHERE plane_id = ? AND state = 'refused' AND settled_ms > ?`,
      )
      .get(planeId, refusedSinceMs) ?? { reports: 0, reason: null };
    const challenges = this.#file
      .prepare<{ open: number; refused: number }>(
        `SELECT coalesce(sum(state = 'open'), 0) AS open, coalesce(sum(state = 'refused'), 0) AS refused
       FROM challenge WHERE plane_id = ? AND (state = 'open' OR state = 'refused' AND settled_ms > ?)`,
      )
      .get(planeId, refusedSinceMs) ?? { open: 0, refused: 0 };
    return {
      waiting: { reports: waiting?.reports ?? 0, oldestMs: oldest?.atMs ?? null },
      refused,
      challenges,
    };
  }
}

export interface OutboxSummary {
  readonly waiting: {
    readonly reports: number;
    /** Creation time of the oldest one. */
    readonly oldestMs: number | null;
  };
  readonly refused: { readonly reports: number; readonly reason: string | null };
  readonly challenges: { readonly open: number; readonly refused: number };
}
