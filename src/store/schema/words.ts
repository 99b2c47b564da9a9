/**
 * Tables that both engines share are in PostgreSQL's words. `WITHOUT ROWID` in them is for SQLite, a fill
 * factor for PostgreSQL.
 * Proven by `test/store/schema/tables.test.ts`.
 */

/** Sorted texts have the collation "C": bytes, as in SQLite and in core. */
export const id = 'text COLLATE "C"';

/** SQL of the tables for SQLite, whose STRICT tables know fewer types. */
export const inSqlite = (tables: string): string =>
  tables
    .replaceAll(/\b(?:bigint|integer|smallint)\b/g, 'INTEGER')
    .replaceAll(id, 'TEXT')
    .replaceAll(/(?<= )text\b/g, 'TEXT')
    .replaceAll(/(?<= )bytea\b/g, 'BLOB')
    .replaceAll('octet_length', 'length')
    .replaceAll(/^\)( WITHOUT ROWID)?(?: WITH \(.*\))?;/gm, (_, clustered?: string) =>
      clustered === undefined ? ') STRICT;' : ') STRICT, WITHOUT ROWID;',
    );

export const inPostgres = (tables: string): string => tables.replaceAll(' WITHOUT ROWID', '');
