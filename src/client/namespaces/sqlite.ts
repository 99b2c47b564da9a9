/**
 * Records of namespaces in a file of SQLite, which several processes may use. A call resolves after the change is on disk.
 * Values of `secrets` are sealed (`sealing.ts`); all other data, and the names of secrets, are plain text in the file.
 * The build for browsers and edge runtimes uses `../web/sqlite.ts`. Tested by `test/client/namespaces/client.test.ts`.
 */
import { chmodSync } from 'node:fs';
import type { NamespaceStore, PositionedRecord, Scalar, Selection, StoredRecord } from './store.ts';

export interface SqliteStoreOptions {
  /** 32 random bytes, kept elsewhere than the file. Without it, `secrets` refuses to store. */
  readonly secretsKey?: Uint8Array;
}

/** The layout of the file. A file with another number is refused. */
const layout = 1;

const schema = `
  CREATE TABLE records (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    namespace TEXT NOT NULL,
    data TEXT NOT NULL,
    status TEXT NOT NULL,
    version INTEGER NOT NULL,
    createdAt TEXT NOT NULL,
    updatedAt TEXT NOT NULL,
    archivedAt TEXT
  ) STRICT;
  CREATE INDEX records_of_namespace ON records (namespace, position);
  PRAGMA user_version = ${layout};`;

type Row = StoredRecord & { readonly position: number };

/** Opens a file, or creates it for its owner alone. Throws for a file of another program, or with another layout. */
export async function sqliteStore(
  path: string,
  { secretsKey }: SqliteStoreOptions = {},
): Promise<NamespaceStore> {
  if (secretsKey !== undefined && secretsKey.length !== 32)
    throw new TypeError(`expected a secretsKey of 32 bytes, got ${secretsKey.length}`);
  const { default: Database } = await import('better-sqlite3');
  const db = new Database(path, { timeout: 5000 });
  try {
    if (path !== ':memory:') chmodSync(path, 0o600);
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = FULL');
    db.transaction(() => prepare(db)).immediate();
  } catch (failure) {
    db.close();
    throw failure;
  }
  const find = db.prepare('SELECT * FROM records WHERE namespace = ? AND id = ?');
  const insert = db.prepare(
    `INSERT INTO records (id, namespace, data, status, version, createdAt, updatedAt, archivedAt)
     VALUES (@id, @namespace, @data, @status, @version, @createdAt, @updatedAt, @archivedAt)`,
  );
  const replace = db.prepare(
    `UPDATE records SET data = @data, status = @status, version = @version, updatedAt = @updatedAt,
     archivedAt = @archivedAt WHERE id = @id AND version = @before AND status = 'active'`,
  );
  return {
    secretsKey: secretsKey ?? null,
    // async: what SQLite throws becomes a rejection
    insert: async (record) => void insert.run(record),
    async find(namespace, id) {
      const row = find.get(namespace, id) as Row | undefined;
      return row === undefined ? null : placed(row).record;
    },
    replace: async (record, version) => replace.run({ ...record, before: version }).changes === 1,
    async select(selection) {
      const { sql, values } = queryOf(selection);
      return (db.prepare(sql).all(...values) as Row[]).map(placed);
    },
    close: () => void db.close(),
  };
}

interface SqliteDriver {
  pragma(text: string, options: { simple: true }): unknown;
  prepare(sql: string): { get(): unknown };
  exec(sql: string): unknown;
}

function prepare(db: SqliteDriver): void {
  const version = db.pragma('user_version', { simple: true });
  if (version === layout) return;
  const isEmpty = db.prepare('SELECT count(*) = 0 AS empty FROM sqlite_schema').get() as { empty: number };
  if (version !== 0 || isEmpty.empty !== 1)
    throw new TypeError(`expected an empty file or one with layout ${layout}, got another database`);
  db.exec(schema);
}

const placed = ({ position, ...record }: Row): PositionedRecord => ({ position, record });

/** As JavaScript reads it: JSON may spell a large number with other digits than its own, such as 2 ** 60. */
const asNumber = 'CAST(value AS REAL)';

/** A member of the data is compared with its JSON type: 1 is not true. */
function queryOf({ namespace, status, filter, before, limit }: Selection): {
  readonly sql: string;
  readonly values: readonly (string | number)[];
} {
  const conditions = ['namespace = ?'];
  const values: (string | number)[] = [namespace];
  if (status !== 'all') {
    conditions.push('status = ?');
    values.push(status);
  }
  if (before !== null) {
    conditions.push('position < ?');
    values.push(before);
  }
  for (const [name, value] of Object.entries<Scalar>(filter)) {
    const [types, compared] = comparison(value);
    conditions.push(
      `EXISTS (SELECT 1 FROM json_each(data) WHERE key = ? AND type IN (${types})${compared === null ? '' : ` AND ${typeof compared === 'number' ? asNumber : 'value'} = ?`})`,
    );
    values.push(name, ...(compared === null ? [] : [compared]));
  }
  const sql = `SELECT * FROM records WHERE ${conditions.join(' AND ')} ORDER BY position DESC LIMIT ?`;
  return { sql, values: [...values, limit] };
}

/** The JSON types of a value in SQL, and the value to compare; null if the type says everything. */
function comparison(value: Scalar): readonly [types: string, compared: string | number | null] {
  if (value === null) return [`'null'`, null];
  if (typeof value === 'boolean') return [value ? `'true'` : `'false'`, null];
  return typeof value === 'number' ? [`'integer', 'real'`, value] : [`'text'`, value];
}
