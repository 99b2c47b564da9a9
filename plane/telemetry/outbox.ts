/**
 * The outbox of a plane, `telemetry.db`: usage reports as the exact bytes that are sent, challenges with their answers,
 * and the receipts of both. A local copy of everything stays.
 *
 * A report is made and inserted in one step; (plane, epoch, sequence) is unique, so of two processes that make the same
 * one the second is refused and looks again. A crash before the insert leaves nothing, after it the whole report. What
 * may have left the machine is marked before it does (`handed`): from then on its bytes never change. The first answer
 * that is stored for a challenge stays. Proven by `test/plane/telemetry/outbox-held.test.ts`.
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
  type Settled,
  type StoredChallenge,
  type StoredReport,
} from './outbox-rows.ts';

export type { Contact, OutboxReport, Settled, StoredChallenge, StoredReport } from './outbox-rows.ts';

/** 'govt' */
const applicationId = 0x676f7674;
/** Pages in the write-ahead log from which they are copied into the file: 2 MiB. */
const walPages = 256;

export const outboxFile = (dataDir: string): string => join(dataDir, 'telemetry.db');

/** Opens or makes it. STORAGE_FAULT where it is damaged or cannot be opened. */
export const openOutbox = (dataDir: string): Outbox =>
  opened(dataDir, (path) => {
    makePrivate(path);
    const db = connect(path, { applicationId, cacheKiB: 1024 });
    try {
      migrate(db, outboxMigrations);
      db.pragma(`wal_autocheckpoint = ${walPages}`);
      // commands write beside the serving plane
      db.pragma('busy_timeout = 5000');
      return new Outbox(db);
    } catch (error) {
      db.close();
      throw error;
    }
  });

/** The same to read only; it must be there. Statements are made at once, so that a damaged file is found out here. */
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
  /** What the service holds of this plane. */
  readonly held: OutboxHeld;
  readonly #file: OutboxFile;

  constructor(db: Connection) {
    this.#file = new OutboxFile(db);
    this.held = new OutboxHeld(this.#file);
  }

  close(): void {
    this.#file.close();
  }

  /** The newest report of a plane, of any state: what the next one follows. */
  newest(planeId: string): StoredReport | null {
    return this.#file.report(
      "WHERE plane_id = ? AND state <> 'replaced' ORDER BY epoch DESC, sequence DESC LIMIT 1",
      planeId,
    );
  }

  /** The first report of a plane that is not settled. */
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

  /** Durably: these bytes, and those of reports up to `ahead` places after it, may leave the machine from now on. */
  hand({ planeId, epoch, sequence }: OutboxReport, ahead = 0): void {
    this.#file
      .prepare(
        `UPDATE report SET handed = 1 WHERE plane_id = ? AND epoch = ? AND sequence BETWEEN ? AND ? AND handed = 0`,
      )
      .run(planeId, epoch, sequence, sequence + ahead);
  }

  /** A report's fate, with the challenge that came with it. False where it was settled before; nothing changes then. */
  settle(
    { planeId, reportId }: Pick<OutboxReport, 'planeId' | 'reportId'>,
    { state, receipt, reason, atMs }: Settled & { readonly state: 'accepted' | 'refused' },
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

  /** The first challenge after the given place that is not settled, in the order in which they came. */
  openChallenge(planeId: string, after = ''): StoredChallenge | null {
    return this.#challenge(
      `WHERE plane_id = ? AND state = 'open' AND no > coalesce((SELECT no FROM challenge WHERE challenge_id = ?), 0)
       ORDER BY no LIMIT 1`,
      planeId,
      after,
    );
  }

  /** Keeps the first answer to a challenge, durably, and answers the one that is kept. */
  answer(planeId: string, challengeId: string, answer: string): string {
    this.#file
      .prepare('UPDATE challenge SET answer = ? WHERE plane_id = ? AND challenge_id = ? AND answer IS NULL')
      .run(answer, planeId, challengeId);
    const kept = this.challenge(planeId, challengeId)?.answer;
    if (kept === undefined || kept === null) throw new Error(`no challenge ${challengeId} in the outbox`);
    return kept;
  }

  /** False where it was settled before. */
  settleChallenge(
    planeId: string,
    challengeId: string,
    { state, receipt, reason, atMs }: Settled & { readonly state: 'answered' | 'refused' },
  ): boolean {
    const update = this.#file.prepare(
      `UPDATE challenge SET state = ?, receipt = ?, reason = ?, settled_ms = ?
       WHERE plane_id = ? AND challenge_id = ? AND state <> 'answered'`,
    );
    return update.run(state, receipt, reason, atMs, planeId, challengeId).changes === 1;
  }

  /** Replaces reports that never left by fewer, or by ones that follow other bytes, in one step. */
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

  /** The service answered, which ends a failure; or it did not, as it was told. */
  note(failure: string | null, atMs: number): void {
    const sql =
      failure === null
        ? 'UPDATE contact SET reached_ms = ?, failing_since_ms = NULL, failure = ?'
        : 'UPDATE contact SET failing_since_ms = coalesce(failing_since_ms, ?), failure = ?';
    this.#file.prepare(sql).run(atMs, failure);
  }

  /** What waits, and what was refused since a time, of one plane. O(n) of what is not settled, by indexes alone. */
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
    /** When the oldest of them was made. */
    readonly oldestMs: number | null;
  };
  readonly refused: { readonly reports: number; readonly reason: string | null };
  readonly challenges: { readonly open: number; readonly refused: number };
}
