/**
 * The store of a witness, one SQLite file: keys of its logs, and the newest cosigned checkpoint of each log.
 * The decision and its storage are one transaction, durable when it returns. No cosignature leaves before its
 * checkpoint is stored. A crash in between leaves a checkpoint that the log gets cosigned again. Triggers
 * prevent that a log shrinks. Commands add logs while a process serves. Proven by
 * `test/host/witness/server.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { sha256 } from '../../core/hash.ts';
import { parseVerifierKey, type VerifierKey } from '../../core/note/key.ts';
import {
  decideWitness,
  originOf,
  type WitnessDecision,
  type WitnessRequest,
} from '../../core/note/witness.ts';
import { connect, type Value } from '../../store/file/connection.ts';
import { noRoomToOpen, problemOf, troubleAt } from '../../store/file/faults.ts';
import { migrate, type MigrationStep } from '../../store/file/migrate.ts';
import { indexSchema, indexTables, type IndexTables } from './derived/tables.ts';

/** 'govw' */
export const witnessApplicationId = 0x676f7677;

const schema = `
CREATE TABLE log_key (
  origin TEXT NOT NULL,
  vkey TEXT NOT NULL,
  PRIMARY KEY (origin, vkey)
) STRICT, WITHOUT ROWID;

-- Where the store lies (witnessplace.ts).
CREATE TABLE place (one INTEGER PRIMARY KEY CHECK (one = 1), place TEXT NOT NULL) STRICT;

CREATE TABLE witnessed (
  origin TEXT PRIMARY KEY,
  origin_hash TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  root BLOB NOT NULL CHECK (length(root) = 32),
  at_seconds INTEGER NOT NULL,
  note TEXT NOT NULL
) STRICT;
CREATE TRIGGER witnessed_update BEFORE UPDATE ON witnessed
WHEN NEW.origin <> OLD.origin OR NEW.size < OLD.size OR NEW.at_seconds < OLD.at_seconds
  OR (NEW.size = OLD.size AND NEW.root <> OLD.root)
BEGIN SELECT RAISE(ABORT, 'a witnessed log never goes backwards'); END;
CREATE TRIGGER witnessed_delete BEFORE DELETE ON witnessed
BEGIN SELECT RAISE(ABORT, 'what was cosigned is never forgotten'); END;
`;

/** Pages of the write-ahead log before SQLite copies them into the file: 512 KiB. */
const walPages = 64;
/** Milliseconds that a command and a serving process wait for each other. */
const busyMs = 5000;

export interface WitnessedRow {
  readonly origin: string;
  readonly keys: readonly string[];
  /** Size of the newest cosigned checkpoint. Null before the first. */
  readonly size: number | null;
  readonly cosignedAtSeconds: number | null;
}

/** Returns the signature lines of the witness for a text and a time. */
export type Cosign = (text: string, timestampSeconds: number) => string;

export interface WitnessStore extends IndexTables {
  /** Decides as `add` does, and stores and signs nothing. */
  decide(request: WitnessRequest): WitnessDecision;
  /**
   * Decides, and for status 200 stores the checkpoint durably before it returns the lines. Cost: one fsync.
   * Raises `nowSeconds` to the time of the last cosignature of this log, so that times never go back. A crash
   * leaves the former checkpoint or this one.
   */
  add(request: WitnessRequest, nowSeconds: number, cosign: Cosign): WitnessDecision & { lines?: string };
  /** The newest note with its cosignatures, of the log whose origin has this SHA-256 in lower-case hex. */
  note(originHash: string): string | null;
  /** False where the key was known. VALIDATION_ERROR for too many logs or keys. */
  addKey(key: VerifierKey): boolean;
  /** False where the key was unknown. The cosigned checkpoint stays. */
  removeKey(vkey: string): boolean;
  logs(): WitnessedRow[];
  /**
   * Total leaves of the newest cosigned checkpoints of all logs. Never decreases. Cost: reads the size of each
   * log.
   */
  leaves(): bigint;
  /**
   * STORAGE_FAULT where the file is damaged, since an index without a row would forget a log. Cost: reads the
   * whole file.
   */
  check(): void;
  /** The identity of the original or moved file. Null where none is stored. */
  place(): string | null;
  settle(place: string): void;
  close(): void;
}

/**
 * Runs on the store at `path`, or opens it. STORAGE_FAULT with the next step where it is damaged, STORAGE_FULL,
 * OVERLOADED.
 */
export function onWitnessStore<Result>(path: string, run: () => Result): Result {
  try {
    return run();
  } catch (error) {
    const trouble = troubleAt(path, error);
    switch (trouble) {
      case 'bug':
        throw error;
      case 'full':
        throw noRoomToOpen(path, error);
      case 'fault':
        throw damaged(path, String(error), error);
      case 'busy':
      case 'files':
        throw problemOf(trouble, error);
    }
  }
}

const damaged = (path: string, got: string, cause?: unknown): GovError =>
  new GovError(
    'STORAGE_FAULT',
    `expected the database of a witness in ${path}, got ${got}. Where the disk is well, what was cosigned is lost with ` +
      'it: make a new witness under a new name with gov witness init, and never put an older copy back',
    { cause },
  );

/** Opens the store, and reports a migration. Throws as `connect` and `onWitnessStore` do. */
export const openWitnessStore = (path: string, onMigration?: (step: MigrationStep) => void): WitnessStore =>
  onWitnessStore(path, () => opened(path, onMigration));

function opened(path: string, onMigration?: (step: MigrationStep) => void): WitnessStore {
  const db = connect(path, { applicationId: witnessApplicationId, cacheKiB: 1024 });
  migrate(
    db,
    [
      { version: 1, sql: schema },
      { version: 2, sql: indexSchema },
    ],
    onMigration,
  );
  db.pragma(`wal_autocheckpoint = ${walPages}`);
  db.pragma(`busy_timeout = ${busyMs}`);
  const keysOf = db.prepare<Value[], string>('SELECT vkey FROM log_key WHERE origin = ?').pluck();
  const sizes = db.prepare<Value[], number>('SELECT size FROM witnessed').pluck();
  const latestOf = db.prepare<Value[], Latest>(
    'SELECT size, root, at_seconds FROM witnessed WHERE origin = ?',
  );
  const keep = db.prepare<Value[]>(
    `INSERT INTO witnessed (origin, origin_hash, size, root, at_seconds, note) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (origin) DO UPDATE SET size = excluded.size, root = excluded.root, at_seconds = excluded.at_seconds,
       note = excluded.note`,
  );
  const decide: WitnessStore['decide'] = (request) => {
    const origin = originOf(request.note) ?? '';
    const keys = keysOf.all(origin).map(parseVerifierKey);
    return decideWitness(request, keys.length === 0 ? null : { keys, latest: latestOf.get(origin) ?? null });
  };
  const add: WitnessStore['add'] = (request, nowSeconds, cosign) => {
    const decision = decide(request);
    if (decision.status !== 200) return decision;
    const { origin, size, root } = decision.checkpoint;
    const latest = latestOf.get(origin);
    const atSeconds = Math.max(nowSeconds, latest?.at_seconds ?? 0);
    const lines = cosign(decision.text, atSeconds);
    keep.run(origin, sha256(origin).toString('hex'), size, root, atSeconds, request.note + lines);
    return { ...decision, lines };
  };
  return {
    add: (...given) => db.transaction(add).immediate(...given),
    decide,
    ...lists(db),
    ...indexTables(db),
    leaves: () => sizes.all().reduce((sum, size) => sum + BigInt(size), 0n),
    check: () => {
      const found = onWitnessStore(path, () => db.pragma('integrity_check(1)', { simple: true }));
      if (found !== 'ok') throw damaged(path, String(found));
    },
    place: () => db.prepare<Value[], string>('SELECT place FROM place').pluck().get() ?? null,
    settle: (place) => void db.prepare<Value[]>('INSERT OR REPLACE INTO place VALUES (1, ?)').run(place),
    close: () => db.close(),
  };
}

interface Latest {
  readonly size: number;
  readonly root: Buffer;
  readonly at_seconds: number;
}

function lists(db: ReturnType<typeof connect>): Pick<WitnessStore, 'note' | 'addKey' | 'removeKey' | 'logs'> {
  const origins = db.prepare<Value[], { origin: string; keys: number }>(
    'SELECT origin, count(*) AS keys FROM log_key GROUP BY origin',
  );
  const insert = db.prepare<Value[]>('INSERT INTO log_key (origin, vkey) VALUES (?, ?)');
  const remove = db.prepare<Value[]>('DELETE FROM log_key WHERE vkey = ?');
  const all = db.prepare<Value[], { origin: string; vkeys: string; size: number | null; at: number | null }>(
    `SELECT origin, group_concat(vkey, ' ' ORDER BY vkey) AS vkeys, size, at_seconds AS at
     FROM log_key LEFT JOIN witnessed USING (origin) GROUP BY origin ORDER BY origin`,
  );
  const noteOf = db.prepare<Value[], string>('SELECT note FROM witnessed WHERE origin_hash = ?').pluck();
  const isKnown = db.prepare<Value[]>('SELECT 1 FROM log_key WHERE origin = ? AND vkey = ?');
  const addKey: WitnessStore['addKey'] = ({ name, text }) => {
    if (isKnown.get(name, text) !== undefined) return false;
    const known = origins.all();
    const own = known.find(({ origin }) => origin === name);
    if (own === undefined && known.length >= limits.witnessLogs) throw tooMany(`${limits.witnessLogs} logs`);
    if ((own?.keys ?? 0) >= limits.trustKeys) throw tooMany(`${limits.trustKeys} keys of a log`);
    insert.run(name, text);
    return true;
  };
  return {
    note: (originHash) => noteOf.get(originHash) ?? null,
    addKey: (key) => db.transaction(addKey).immediate(key),
    removeKey: (vkey) => remove.run(vkey).changes > 0,
    logs: () =>
      all.all().map(({ origin, vkeys, size, at }) => ({
        origin,
        keys: vkeys.split(' '),
        size,
        cosignedAtSeconds: at,
      })),
  };
}

const tooMany = (what: string): GovError =>
  new GovError('VALIDATION_ERROR', `expected at most ${what}; remove one with gov witness remove-log`);
