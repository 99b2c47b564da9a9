/**
 * Every SQL statement of both engines carries its tenant: the project it reads or writes, the position of a leaf, which
 * has the project in its upper half, or the organization. What belongs to no tenant is listed with the reason. What
 * plans PostgreSQL makes of them, and row-level security below, is tested in `postgres/`.
 */
import Database, { type Statement } from 'better-sqlite3';
import { describe, expect, it, vi } from 'vitest';
import { fsckPostgres } from '../../src/store/postgres/write/fsck.ts';
import { openPostgres } from '../../src/store/postgres/store.ts';
import { namedStatements } from '../../src/store/read/queries.ts';
import { fsckStore } from '../../src/store/fsck/run.ts';
import { openReader, openStore } from '../../src/store/sqlite/store.ts';
import { storeFiles } from '../../src/store/file/paths.ts';
import { connectReader } from '../../src/store/file/reader.ts';
import type { Connection, Value } from '../../src/store/file/connection.ts';
import { dropFolder, genesis, HandClock, newFolder, projectOf, seededBytes } from './support/fixture.ts';

const carried: readonly RegExp[] = [
  /^INSERT INTO \w+ \((?:[^)]*[ (])?(?:project|position|organization_id)\b/,
  /\bproject = (?:\?|\$1|of_project|\(SELECT project FROM project WHERE project_id = \?\))/,
  /\bposition (?:=|>=|>|BETWEEN) (?:\?|\(\$1::int8)/,
  /\(\$1::int8 << 36\)/,
  /\borganization_id = (?:\?|\$\d)/,
];

type Reasons = Readonly<Record<string, RegExp>>;

const everywhere: Reasons = {
  'a credential decides its tenant': /\b(?:[kt]\.)?(?:digest|(?:key|previous|token)_digest) = (?:\?|\$\d)/,
  'a log and its key belong to one data plane of all tenants':
    /FROM telemetry_plane WHERE (?:verifier_key|origin|audit_origin) = (?:\?|\$1)/,
  'a person decides its tenant': /WHERE issuer = (?:\?|\$1) AND subject = /,
  'a project’s id is looked up for its number, or to see that it is new':
    /^SELECT [^(]+ FROM project WHERE project_id = \S+$/,
  'the operator lists the projects of all tenants':
    /FROM project .*WHERE (?:p\.)?project_id < (?:\?|\$1) ORDER BY (?:p\.)?project_id DESC LIMIT/,
  'jobs are worked off for all tenants, one tenant after the other':
    /^WITH RECURSIVE turn .* FROM job WHERE status IN \('pending', 'processing'\) AND project = turn\.project AND due_ms/,
  'documents are worked off for all tenants, one tenant after the other':
    /^WITH RECURSIVE turn .* FROM document WHERE kind = (?:\?|\$1) AND project = turn\.project AND due_ms/,
  'a key decides its document': /FROM document d WHERE d\.kind = (?:\?|\$1) AND d\.key = (?:\?|\$2)$/,
  'workers read documents and their due times for all tenants':
    /^SELECT (?:p\.project_id AS "projectId", .* FROM project p CROSS JOIN document d|min\(due_ms\) AS due_ms FROM document)/,
  'what is past its time is swept, whosoever it is':
    /^(?:UPDATE job SET request = NULL|DELETE FROM (?:idempotency|session|graph_part|intake_fact))/,
  'artifacts past their time are found for all tenants':
    /^SELECT p\.project_id, e\.export_id(?:, e\.size_bytes)? FROM export_job e .* WHERE e\.removed = 0 AND/,
  'challenges that nobody answered in time are found for all tenants':
    /^SELECT p\.project_id AS "projectId", r\.plane_id .* WHERE r\.attestation = 'pending' AND r\.challenge_expires_ms <= (?:\?|\$1)/,
  'logs that nobody signed are found for all tenants':
    /^SELECT p\.project_id FROM (?:grown|project) .*h\.size > coalesce\(\(SELECT max\(size\) FROM checkpoint/,
  'the installation has one row': /^(?:SELECT text FROM|INSERT INTO) (?:installation|master_key)/,
  'a start destroys again what was destroyed, of all tenants':
    /^(?:SELECT DISTINCT key_id FROM erased_key$|UPDATE subject_key k SET secret = .* FROM erased_key e WHERE)/,
  'transactions and settings name no rows':
    /^(?:BEGIN|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|PRAGMA|SELECT set_config\('gov\.\w+', \$1, true\))/,
};

const sqliteAlone: Reasons = {
  'the second file has heads by origin':
    /^(?:SELECT .*|INSERT INTO) head (?:WHERE origin|\(origin)|^SELECT origin/,
  'numbers are given out over all tenants': /^SELECT max\(\w+\)/,
  'a head of the second file names its log': /WHERE project\.(?:audit|metering)_origin = \?$/,
  'the lock file has its holder': /\bholder\b/,
  'a check of a file goes through all projects, one after the other':
    /^SELECT project\.project\b.* ORDER BY project\.project$/,
  'a check of a file looks for cosignatures of no project':
    /^SELECT DISTINCT project, key FROM cosignature WHERE project NOT IN \(SELECT project FROM project\)/,
  'a check of a file asks whose home a project is':
    /^SELECT \* FROM organization WHERE home_production = \?$/,
  'a random id names one key of all tenants': /\bsubject_key (?:SET .* )?WHERE key_id = \?$/,
  'a start ends the leases that a former process left':
    /^SELECT 1 FROM (?:job|document) WHERE due_ms > 0 AND status = 'processing' LIMIT 1$/,
  'the log has one file of keys': /^(?:SELECT file_id FROM|INSERT INTO) (?:key_)?file\b/,
  'an empty file is told from one of gov': /FROM sqlite_schema/,
};

const postgresAlone: Reasons = {
  'logs of all tenants that are being watched are asked for their sizes':
    /^SELECT p\.project_id, h\.size FROM project p JOIN head h .* WHERE p\.project_id = ANY\(\$1::text\[\]\)$/,
  'numbers are given out over all tenants': /^SELECT nextval/,
  'the database is asked for its state':
    /^SELECT (?:version FROM version|pg_is_in_recovery|pg_logical_emit_message|\(extract\(epoch FROM clock_timestamp\(\)\))/,
  'a start looks at the log that was signed last, by its origin':
    /^SELECT project, .* FROM project WHERE audit_origin = \$1 UNION ALL .* WHERE metering_origin = \$1$/,
  'a check goes through all projects, each in its scope':
    /^SELECT project AS no, audit_origin AS audit, metering_origin AS metering FROM project ORDER BY/,
  'a function gets the project as an argument': /^SELECT move_head\(\$1/,
};

/** Statements without a tenant and without a reason; reasons without a statement. */
function faults(statements: readonly string[], reasons: Reasons): string[] {
  const without = statements.filter((text) => !carried.some((pattern) => pattern.test(text)));
  const unexplained = without.filter((text) => !Object.values(reasons).some((why) => why.test(text)));
  const unused = Object.entries(reasons).filter(([, why]) => !without.some((text) => why.test(text)));
  return [...unexplained, ...unused.map(([reason]) => `no statement any more: ${reason}`)];
}

/** Rows of a plan, for which any value will do. */
function allOf<Row>(statement: Statement<Value[], Row>): Row[] {
  for (let count = 0; ; count += 1) {
    try {
      return statement.all(...Array<null>(count).fill(null));
    } catch (error) {
      if (!(error instanceof RangeError) || count === 999) throw error;
    }
  }
}

const oneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

/** The reads of both engines: SQLite prepares each at its first use. */
const shared = (): string[] =>
  namedStatements().flatMap(({ sqlite }) => (sqlite ? [oneLine(sqlite.text)] : []));

/** Everything that SQLite is asked to prepare meanwhile. */
async function prepared(body: () => Promise<void>): Promise<string[]> {
  const spy = vi.spyOn(Database.prototype, 'prepare');
  try {
    await body();
    return [...new Set(spy.mock.calls.map(([text]) => oneLine(text)))];
  } finally {
    spy.mockRestore();
  }
}

/** Tables whose row ids are a project, or a position. */
const byRowId: ReadonlySet<string> = new Set(
  'leaf body meter project p own project_profile f risk_config index_map'.split(' '),
);
/** Rows that are reached by a unique id which was found in a row of the tenant. */
const reached: readonly RegExp[] = [
  /^SEARCH person USING INDEX sqlite_autoindex_person_1 \(user_id=\?\)/,
  /^SEARCH (?:project|p) USING (?:COVERING )?INDEX sqlite_autoindex_project_1 \(project_id=\?\)/,
  /^SEARCH (?:project|p) USING INDEX sqlite_autoindex_project_1 \(project_id<\?\)/, // the operator's list of all
  /^SEARCH r USING INDEX telemetry_challenge \(challenge_id=\?\)/, // 256 random bits
  /^SCAN json_each VIRTUAL TABLE/, // values of a parameter
  /^SCAN (?:CONSTANT ROW|sizes)$/, // sizes of one epoch, each found by the index
  /^SCAN first$/, // cosigned checkpoints of one log, counted
  /^SCAN i$/, // the next leaves of one run, found by the index
];

/** How a job is claimed: from project to project by the index, whatever is queued. */
const steppedThrough: ReadonlySet<string> = new Set([
  'SEARCH job USING INDEX job_due (project>?)',
  'SCAN turn',
  'SEARCH job USING INDEX job_due (project=? AND due_ms<?)',
  'SEARCH job USING INTEGER PRIMARY KEY (rowid=?)',
  'SEARCH project USING INTEGER PRIMARY KEY (rowid=?)',
  'SCAN json_each VIRTUAL TABLE INDEX 1:', // the few statuses of a claim
  'SEARCH b USING INDEX document_due (project=? AND kind=? AND due_ms>?)',
  'SEARCH d USING INTEGER PRIMARY KEY (rowid=?)',
  'SEARCH document USING COVERING INDEX document_due (project>?)',
  'SEARCH document USING INDEX document_due (project=? AND kind=? AND due_ms<?)',
]);

/** What SQLite goes through for a statement. */
function stepsOf(db: Connection, text: string): string[] {
  const explained = db.prepare<Value[], { detail: string }>(`EXPLAIN QUERY PLAN ${text}`);
  return allOf(explained).flatMap(({ detail }) => (/^(?:SCAN|SEARCH) /.test(detail) ? [detail] : []));
}

/** What SQLite would look at beside the rows of one tenant. */
function strayed(db: Connection, text: string): string[] {
  return stepsOf(db, text).flatMap((detail) => {
    const [, table = '', how = ''] = /^(?:SCAN|SEARCH) (\S+)(.*)/.exec(detail) ?? [];
    const fits =
      table === '' ||
      detail === 'SCAN 16-ROW VALUES CLAUSE' ||
      / \((?:project|organization_id)=\?/.test(how) ||
      (byRowId.has(table) && / \(rowid(?:=\?|>\? AND rowid<\?)\)/.test(how)) ||
      reached.some((pattern) => pattern.test(detail));
    return fits ? [] : [`${detail}: ${text}`];
  });
}

describe('a statement names its tenant, unless it belongs to none', () => {
  it('every SQLite statement names its tenant unless it belongs to none, and so does its plan', async () => {
    const dataDir = newFolder();
    const { main, subjects } = storeFiles(dataDir);
    const masterKey = seededBytes('master')(32);
    const options = {
      dataDir,
      clock: new HandClock(),
      randomBytes: seededBytes('s'),
      reserveBytes: 0,
      masterKey,
    };
    const opened = await prepared(async () => {
      const store = openStore(options);
      await store.createProject(projectOf('a'), genesis('a'));
      await store.close();
      openReader(main, masterKey).close();
    });
    const serving = [...new Set([...opened, ...shared()])];
    const checking = await prepared(async () => void (await fsckStore({ dataDir, deep: true, masterKey })));
    expect(serving.length).toBeGreaterThan(130);
    expect(faults([...new Set([...serving, ...checking])], { ...everywhere, ...sqliteAlone })).toEqual([]);
    const db = connectReader(main);
    db.exec(`ATTACH '${subjects}' AS subjects`);
    const tenants = serving.filter((text) => carried.some((pattern) => pattern.test(text)));
    expect(tenants.flatMap((text) => strayed(db, text))).toEqual([]);
    const claims = serving.filter((text) => text.startsWith('WITH RECURSIVE turn'));
    expect(new Set(claims.flatMap((text) => stepsOf(db, text)))).toEqual(steppedThrough);
    db.close();
    dropFolder(dataDir);
  });

  it('every PostgreSQL statement names its tenant unless it belongs to none', () => {
    expect([typeof openPostgres, typeof fsckPostgres]).toEqual(['function', 'function']); // their statements
    const statements = namedStatements().map(({ text }) => oneLine(text));
    expect(statements.length).toBeGreaterThan(130);
    expect(faults(statements, { ...everywhere, ...postgresAlone })).toEqual([]);
  });
});
