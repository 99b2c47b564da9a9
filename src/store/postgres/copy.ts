/**
 * Copies what is checked of one project, as of one moment, into the two files of the other engine. The tables have the
 * same columns; only the project's number is another one there. A crash leaves files that nobody opens.
 */
import { connect, type Connection, type Value } from '../sqlite/connection.ts';
import { openHeads } from '../sqlite/heads.ts';
import { migrate } from '../sqlite/migrate.ts';
import { storeFiles } from '../sqlite/open.ts';
import { positionOf } from '../sqlite/position.ts';
import { mainApplicationId, mainMigrations } from '../sqlite/schema.ts';
import type { Database } from './database.ts';
import { positionBits } from './schema.ts';
import { sql, step, type Sql } from './wire.ts';

type Row = Readonly<Record<string, Value>>;

/** In an order in which each row refers to rows before it only. */
const tables: Readonly<Record<string, string>> = {
  project: 'project_id, organization_id, environment, audit_origin, metering_origin',
  head: 'tree, size, root, last_ms',
  leaf: 'position, record',
  body: 'position, disclosures',
  meter: 'position, first_index, leaf_count, nonce, record',
  tile: 'tree, level, n, part, hashes',
  checkpoint: 'tree, size, root, note',
  event_type: 'type_no, name',
  run: 'run_no, run_id, events, first_index, last_index, first_ms, last_ms, last_server_ms, ai_system_id',
  run_event: 'run_no, run_seq, idx, type_no, at_ms',
  run_type: 'run_no, type_no, events',
  type_total: 'type_no, events',
  client_event: 'client_event_id, idx, fingerprint',
  decided: 'type, idx, run_id, id',
  run_snapshot: 'run_id',
  policy: `policy_id, name, description, status, active_version, last_active_version, latest_version, revision,
    created_ms, created_by, updated_ms`,
  policy_version: `policy_id, version, condition, normalized, action, severity, policy_hash, created_ms, created_by,
    published`,
  approval: `approval_id, evaluation_id, run_id, reason, requested_ms, requested_by, expires_ms, outcome, decided_by,
    comment, decided_ms`,
};

/** Rows that are in memory at a time. */
const rowsAtOnce = 2000;

interface Source {
  readonly open: Sql;
  readonly next: Sql<Row>;
  readonly close: Sql;
}

/** The tenant is the scope of the transaction: row-level security shows nothing else. */
const sources: ReadonlyMap<string, Source> = new Map(
  Object.entries(tables).map(([table, columns]) => {
    const selected = columns.replace('position', `position & ${2 ** positionBits - 1} AS position`);
    return [
      table,
      {
        open: sql(`DECLARE copy_${table} NO SCROLL CURSOR FOR SELECT ${selected} FROM ${table}`),
        next: sql<Row>(`FETCH ${rowsAtOnce} FROM copy_${table}`),
        close: sql(`CLOSE copy_${table}`),
      },
    ];
  }),
);

const anchors = sql<{ origin: string; size: number; root: Buffer }>(
  'SELECT origin, size, root FROM head_anchor WHERE project = $1',
);

/** The number that the project has in the copy. */
const copied = 1;

export async function copyProject(database: Database, project: number, dataDir: string): Promise<void> {
  const files = storeFiles(dataDir);
  const db = connect(files.main, { applicationId: mainApplicationId });
  const heads = openHeads(files.heads);
  try {
    db.pragma('synchronous = OFF'); // a copy that a crash breaks is made anew
    migrate(db, mainMigrations);
    await database.moment({ project }, async (run) => {
      for (const [table, source] of sources) {
        await run([step(source.open)]);
        const insert = inserter(db, table);
        for (;;) {
          const [{ rows }] = await run([step(source.next)]);
          insert(rows);
          if (rows.length < rowsAtOnce) break;
        }
        await run([step(source.close)]);
      }
      const [kept] = await run([step(anchors, project)]);
      for (const { origin, size, root } of kept.rows) heads.raise(origin, { size, root });
    });
  } finally {
    heads.close();
    db.close();
  }
}

function inserter(db: Connection, table: string): (rows: readonly Row[]) => void {
  const columns = (tables[table] ?? '').split(',').map((name) => name.trim());
  const hasPosition = columns.includes('position');
  const names = hasPosition ? columns : ['project', ...columns];
  const insert = db.prepare<Value[]>(
    `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
  );
  const valuesOf = (row: Row): Value[] =>
    names.map((name) => {
      if (name === 'project') return copied;
      return name === 'position' ? positionOf(copied, Number(row[name])) : (row[name] ?? null);
    });
  return db.transaction((rows: readonly Row[]) => {
    for (const row of rows) insert.run(...valuesOf(row));
  });
}
