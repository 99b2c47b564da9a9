/**
 * Copies the rows that fsck checks of one project, in one snapshot, into the two files of the SQLite engine.
 * The tables have the same columns; only the project's number differs. A crash leaves files that nobody
 * opens.
 * Proven by `test/store/postgres/write/fsck.long.test.ts`.
 */
import { connect, type Connection, type Value } from '../../file/connection.ts';
import { uncheckedTables } from '../../fsck/tables.ts';
import { openHeads } from '../../file/heads.ts';
import { migrate } from '../../file/migrate.ts';
import { storeFiles } from '../../file/paths.ts';
import { positionOf } from '../../file/position.ts';
import { fillSpans } from '../../append/counted-sql.ts';
import { mainApplicationId, mainMigrations } from '../../file/schema/tables.ts';
import { subjectsInMemory } from '../../file/subjects.ts';
import { approvalColumns } from '../../rules/approval-row.ts';
import { jobColumns } from '../../rules/job-row.ts';
import { planeColumns } from '../../rules/plane-row.ts';
import { policyColumns } from '../../rules/policy-row.ts';
import { keyColumns, organizationColumns, profileColumns } from '../../rules/tenant-row.ts';
import { scoped, type Database, type Transaction } from '../connection/database.ts';
import { positionBits } from '../schema/tables.ts';
import { read } from '../effects/texts.ts';
import { sql, step, type Sql } from '../../read/queries.ts';

type Row = Readonly<Record<string, Value>>;

interface AnyColumns {
  readonly table: string;
  readonly names: Readonly<Record<string, string>>;
  readonly words: readonly string[];
}

/**
 * Tables that no check reads. `copyOrganization` copies the organization, and `run_span`, which only SQLite has, is made
 * in the copy.
 */
const skippedTables: ReadonlySet<string> = new Set([
  ...Object.keys(uncheckedTables),
  'organization',
  'run_span',
]);

interface Table {
  readonly name: string;
  /** Without the project's number. */
  readonly columns: readonly string[];
}

/** Tables in the order of their creation: each refers only to earlier ones. */
function tablesOf(db: Connection): Table[] {
  const names = db.prepare<[], { name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid",
  );
  const columns = db.prepare<[string], { name: string }>('SELECT name FROM pragma_table_info(?)');
  return names
    .all()
    .filter(({ name }) => !skippedTables.has(name))
    .map(({ name }) => ({
      name,
      columns: columns.all(name).flatMap((column) => (column.name === 'project' ? [] : [column.name])),
    }));
}

/** Columns of texts that people wrote (`src/store/postgres/effects/texts.ts`). */
const userTexts = new Set(
  [
    policyColumns,
    approvalColumns,
    jobColumns,
    keyColumns,
    profileColumns,
    organizationColumns,
    planeColumns,
  ].flatMap(({ table, names, words }: AnyColumns) => words.map((member) => `${table}.${names[member]}`)),
);

/** Rows in memory at a time. */
const rowsAtOnce = 2000;
/** The same, for tables whose rows may be large. */
const wideRowsAtOnce = 20;
const wide: ReadonlySet<string> = new Set(['job', 'proof', 'graph_part', 'telemetry_report', 'document']);

interface Source {
  readonly open: Sql;
  readonly next: Sql<Row>;
  readonly close: Sql;
}

const atOnce = (name: string): number => (wide.has(name) ? wideRowsAtOnce : rowsAtOnce);

const sources = new Map<string, Source>();

/** The scope of the transaction is the tenant: row-level security shows no other rows. */
function sourceOf({ name, columns }: Table): Source {
  let source = sources.get(name);
  if (source === undefined) {
    const selected = columns.map((column) =>
      column === 'position' ? `position & ${2 ** positionBits - 1} AS position` : column,
    );
    source = {
      open: sql(`DECLARE copy_${name} NO SCROLL CURSOR FOR SELECT ${selected.join(', ')} FROM ${name}`),
      next: sql<Row>(`FETCH ${atOnce(name)} FROM copy_${name}`),
      close: sql(`CLOSE copy_${name}`),
    };
    sources.set(name, source);
  }
  return source;
}

const anchors = sql<{ origin: string; size: number; root: Buffer }>(
  'SELECT origin, size, root FROM head_anchor WHERE project = $1',
);

/** The number of the project in the copy. */
const copied = 1;

/** Returns the keys of its subjects, which the caller closes; null if it has none. */
export async function copyProject(
  database: Database,
  project: number,
  dataDir: string,
): Promise<Connection | null> {
  const files = storeFiles(dataDir);
  const db = connect(files.main, { applicationId: mainApplicationId });
  const heads = openHeads(files.heads);
  try {
    db.pragma('synchronous = OFF'); // a crash breaks the copy, and the next check makes a new one
    db.pragma('foreign_keys = OFF'); // the check reports rows that refer to nothing
    migrate(db, mainMigrations);
    return await database.moment({ project }, async (run) => {
      const keys = await copySubjectKeys(project, run);
      for (const table of tablesOf(db)) {
        const source = sourceOf(table);
        await run([step(source.open)]);
        const insert = inserter(db, table);
        for (;;) {
          const [{ rows }] = await run([step(source.next)]);
          insert(rows);
          if (rows.length < atOnce(table.name)) break;
        }
        await run([step(source.close)]);
      }
      db.exec(fillSpans);
      await copyOrganization(db, run);
      const [kept] = await run([step(anchors, project)]);
      for (const { origin, size, root } of kept.rows) heads.raise(origin, { size, root });
      return keys;
    });
  } finally {
    heads.close();
    db.close();
  }
}

const subjectKeys = sql<Row>(
  'SELECT key_id, subject, secret FROM subject_key WHERE project = $1 ORDER BY key_id',
);

/** Copies the keys into memory only; null if the project has none. */
async function copySubjectKeys(project: number, run: Transaction['run']): Promise<Connection | null> {
  const [{ rows }] = await run([step(subjectKeys, project)]);
  if (rows.length === 0) return null;
  const db = subjectsInMemory();
  const insert = db.prepare<Value[]>(
    'INSERT INTO subject_key (project, key_id, subject, secret) VALUES (?, ?, ?, ?)',
  );
  for (const { key_id: id = null, subject = null, secret = null } of rows)
    insert.run(copied, id, subject, secret);
  return db;
}

const organizationNames = Object.values(organizationColumns.names);
const organizations = sql<Row>(
  `SELECT ${organizationNames.join(', ')} FROM organization WHERE organization_id = $1`,
);

/** Runs last: its scope also shows the other projects of the organization. */
async function copyOrganization(db: Connection, run: Transaction['run']): Promise<void> {
  const id = db.prepare<[], string>('SELECT organization_id FROM project').pluck().get() ?? '';
  const [, { rows }] = await run([scoped({ organizationId: id }), step(organizations, id)]);
  const insert = db.prepare<Value[]>(
    `INSERT INTO organization (${organizationNames.join(', ')}) VALUES (${organizationNames.map(() => '?').join(', ')})`,
  );
  for (const row of rows) {
    insert.run(...organizationNames.map((name) => valueOf(`organization.${name}`, row[name] ?? null)));
  }
}

/** Returns a value in SQLite's form. */
const valueOf = (column: string, value: Value): Value =>
  typeof value === 'string' && userTexts.has(column) ? read(value) : value;

function inserter(db: Connection, { name: table, columns }: Table): (rows: readonly Row[]) => void {
  const names = columns.includes('position') ? columns : ['project', ...columns];
  const insert = db.prepare<Value[]>(
    `INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`,
  );
  const valuesOf = (row: Row): Value[] =>
    names.map((name) => {
      if (name === 'project') return copied;
      const value = row[name] ?? null;
      if (name === 'position') return positionOf(copied, Number(value));
      return valueOf(`${table}.${name}`, value);
    });
  return db.transaction((rows: readonly Row[]) => {
    for (const row of rows) insert.run(...valuesOf(row));
  });
}
