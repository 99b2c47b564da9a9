/**
 * Where the derivations of an index witness stand, one SQLite file, `index.db`: for each log the size, the peaks of its tree,
 * the map in parts, and the lists of the map. It is a cache: without it a log is derived from its first record. Nothing in it
 * is trusted: a part or list that was altered does not have the hash that the map has. Space: about 230 bytes a key.
 * Proven by `test/host/witness/derived/map-store.test.ts`.
 */
import type { DerivedState, MapStore } from '../../../core/completeness/derive.ts';
import { KeyList, type StoredList } from '../../../core/completeness/key-list.ts';
import type { ChangedList } from '../../../core/completeness/log-map.ts';
import { isMapFunction } from '../../../core/completeness/map-function.ts';
import { valueHash, type PathEnd } from '../../../core/completeness/map.ts';
import { hashBytes } from '../../../core/merkle/tree.ts';
import { connect, type Value } from '../../../store/file/connection.ts';
import { opening } from '../../../store/file/faults.ts';
import { migrate } from '../../../store/file/migrate.ts';

/** 'govx' */
const applicationId = 0x676f7678;

const schema = `
CREATE TABLE derived (
  no INTEGER PRIMARY KEY,
  origin TEXT NOT NULL UNIQUE,
  size INTEGER NOT NULL,
  ms INTEGER NOT NULL,
  fn TEXT NOT NULL,
  peaks BLOB NOT NULL,
  parts BLOB NOT NULL
) STRICT;
CREATE TABLE list (
  log INTEGER NOT NULL,
  key_hash BLOB NOT NULL,
  n INTEGER NOT NULL,
  first INTEGER NOT NULL,
  first_ms INTEGER NOT NULL,
  last INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  peaks BLOB NOT NULL,
  PRIMARY KEY (log, key_hash)
) STRICT, WITHOUT ROWID;
`;

interface StateRow {
  readonly no: number;
  readonly size: number;
  readonly ms: number;
  readonly fn: string;
  readonly peaks: Buffer;
  readonly parts: Buffer;
}
interface ListRow extends Omit<StoredList, 'firstMs' | 'lastMs'> {
  readonly key_hash: Buffer;
  readonly first_ms: number;
  readonly last_ms: number;
}

export interface LogMapStore extends MapStore {
  /** Null for a log that is derived from its first record. */
  state(): DerivedState | null;
  /** Durable when it returns. */
  save(state: DerivedState, lists: readonly ChangedList[]): void;
  drop(): void;
}

export interface MapStores {
  of(origin: string): LogMapStore;
  close(): void;
}

/** Throws as `connect` and `opening` do. */
export const openMapStores = (path: string): MapStores => opening(path, () => opened(path));

function opened(path: string): MapStores {
  const db = connect(path, { applicationId, cacheKiB: 4096 });
  migrate(db, [{ version: 1, sql: schema }]);
  db.pragma('wal_autocheckpoint = 1000');
  const stateOf = db.prepare<Value[], StateRow>('SELECT * FROM derived WHERE origin = ?');
  const keep = db.prepare<Value[]>(
    `INSERT INTO derived (origin, size, ms, fn, peaks, parts) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (origin) DO UPDATE SET size = excluded.size, ms = excluded.ms, fn = excluded.fn,
       peaks = excluded.peaks, parts = excluded.parts`,
  );
  const keepList = db.prepare<Value[]>('INSERT OR REPLACE INTO list VALUES (?, ?, ?, ?, ?, ?, ?, ?)');
  const listAt = db.prepare<Value[], ListRow>('SELECT * FROM list WHERE log = ? AND key_hash = ?');
  const between = db.prepare<Value[], ListRow>(
    'SELECT * FROM list WHERE log = ? AND key_hash BETWEEN ? AND ?',
  );
  const forget = db.prepare<Value[]>('DELETE FROM derived WHERE origin = ?');
  const forgetLists = db.prepare<Value[]>('DELETE FROM list WHERE log = ?');
  const of = (origin: string): LogMapStore => {
    const number = (): number => stateOf.get(origin)?.no ?? 0;
    return {
      state: () => stateIn(stateOf.get(origin)),
      part: ({ from, to }) => between.all(number(), from, to).map(endOf),
      list: (hash) => storedIn(listAt.get(number(), hash)),
      save: db.transaction(({ size, ms, fn, peaks, parts }: DerivedState, lists: readonly ChangedList[]) => {
        keep.run(origin, size, ms, fn, Buffer.concat(peaks), parts);
        const no = number();
        for (const { keyHash, list } of lists) {
          const { n, first, firstMs, last, lastMs } = list;
          keepList.run(no, keyHash, n, first, firstMs, last, lastMs, list.peaks);
        }
      }),
      drop: db.transaction(() => {
        forgetLists.run(number());
        forget.run(origin);
      }),
    };
  };
  return { of, close: () => db.close() };
}

function stateIn(row: StateRow | undefined): DerivedState | null {
  if (row === undefined || !isMapFunction(row.fn)) return null;
  const { size, ms, fn, peaks, parts } = row;
  const count = Math.floor(peaks.length / hashBytes);
  const hashes = Array.from({ length: count }, (_, at) =>
    peaks.subarray(at * hashBytes, (at + 1) * hashBytes),
  );
  return { size, ms, fn, peaks: hashes, parts };
}

function storedIn(row: ListRow | undefined): StoredList | null {
  if (row === undefined) return null;
  const { n, first, first_ms: firstMs, last, last_ms: lastMs, peaks } = row;
  return { n, first, firstMs, last, lastMs, peaks };
}

/** The hash of a value follows from its list. An altered list gives another one. */
function endOf(row: ListRow): PathEnd {
  const stored = storedIn(row);
  const list = stored === null ? null : KeyList.from(stored);
  const value = list === null || list.n === 0 ? Buffer.alloc(hashBytes) : valueHash(list.value());
  return { keyHash: row.key_hash, valueHash: value };
}
