/** The database below what serves it, past everything that guards its rows: what whoever owns it can do. */
import Database from 'better-sqlite3';
import { Client, types } from 'pg';
import { positionBits as postgresBits } from '../../src/store/postgres/schema/tables.ts';
import { storeFiles } from '../../src/store/file/paths.ts';
import { positionBits as sqliteBits } from '../../src/store/file/position.ts';
import { unguarded } from './unguarded.ts';

export interface Below {
  /** Rows of a query; of a change, none. Statements that both engines know. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as the database has them
  sql(statement: string): Promise<any[]>;
  /** Condition on the rows of a leaf of the project, in tables by position. */
  leafAt(index: number): string;
  /** Every leaf of the project's log, in order. */
  records(): Promise<{ readonly index: number; readonly record: string }[]>;
}

/** A project's rows by position: its number, and in the lower bits the index. */
function below(sql: Below['sql'], projectId: string, bits: number): Below {
  const leaves = 2 ** bits;
  const first = `(SELECT project FROM project WHERE project_id = '${projectId}') * ${leaves}`;
  return {
    sql,
    leafAt: (index) => `position = ${first} + ${index}`,
    records: async () => {
      const own = `position >= ${first} AND position < ${first} + ${leaves}`;
      const rows = await sql(`SELECT position, record FROM leaf WHERE ${own} ORDER BY position`);
      return rows.map(({ position, record }) => ({ index: position % leaves, record }));
    },
  };
}

/** The store of a plane, or of a service on SQLite. */
export const sqliteBelow = (dataDir: string, projectId: string): Below => {
  const sql: Below['sql'] = async (statement) => {
    const db = new Database(storeFiles(dataDir).main);
    try {
      const prepared = db.prepare(statement);
      if (prepared.reader) return prepared.all();
      unguarded(db, () => db.exec(statement));
      return [];
    } finally {
      db.close();
    }
  };
  return below(sql, projectId, sqliteBits);
};

const int8 = 20;
const getTypeParser: typeof types.getTypeParser = (type, format) =>
  type === int8 ? Number : types.getTypeParser(type, format);

/** `url`: as the superuser. */
export const postgresBelow = (url: string, projectId: string): Below => {
  const sql: Below['sql'] = async (statement) => {
    const client = new Client({ connectionString: url, types: { getTypeParser } });
    await client.connect();
    try {
      // triggers are passed over
      await client.query('SET session_replication_role = replica; SET search_path = gov');
      return (await client.query(statement)).rows;
    } finally {
      await client.end();
    }
  };
  return below(sql, projectId, postgresBits);
};
