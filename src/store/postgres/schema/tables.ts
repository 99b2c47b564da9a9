/**
 * Tables as numbered migrations, with the tables and columns of `src/store/file/schema/tables.ts`. A project
 * can therefore be copied between the engines row by row. Every key leads with the project's number (in leaf
 * tables as the upper part of the position), so tables shard by it. Sorted texts have the collation "C":
 * bytes, as in core.
 * Source: PostgreSQL 18, chapter 23.2 (collation support).
 * Proven by `test/store/postgres/connection/database.test.ts` and `test/store/postgres/suite.alone.test.ts`.
 */
import { exportTables } from './exports.ts';
import { telemetryTables } from './planes.ts';
import { rulesOf, security, unforced } from './security.ts';
import { installationTables, projectTables } from './tenants.ts';
import { approvedCallColumns, changesMore, changesMoreText } from '../../schema/approved-calls.ts';
import {
  changesVersion,
  changesVersionNow,
  changesVersionText,
  onIndeterminateColumn,
  signedApprovalColumn,
} from '../../schema/signed-approvals.ts';
import { documentTable } from '../../schema/documents.ts';
import { dropTerms, eventTermTables } from '../../schema/event-terms.ts';
import { indexTables } from '../../schema/index-map.ts';
import { intakeDays, intakeTable } from '../../schema/intake.ts';
import { cancelledInPostgres } from '../../schema/jobs.ts';
import { sharedMigrations } from '../../schema/migrations.ts';
import { otherTables, peopleTables } from '../../schema/tables.ts';
import { timeCountTables } from '../../schema/time-counts.ts';
import { id, inPostgres } from '../../schema/words.ts';
import { countsByTime } from './counts.ts';
import {
  documentRules,
  eventTermRules,
  intakeRules,
  intakeSweep,
  laterTables,
  timeCountRules,
} from './rules.ts';

export interface Migration {
  readonly version: number;
  readonly sql: string;
}

/** 2^27 projects of 2^36 leaves: a position has 63 bits. */
export const positionBits = 36;

/** Trees: 0 audit, 1 metering. */
const log = `
CREATE TABLE head (
  project integer NOT NULL REFERENCES project,
  tree smallint NOT NULL CHECK (tree IN (0, 1)),
  size bigint NOT NULL,
  root bytea NOT NULL CHECK (octet_length(root) = 32),
  last_ms bigint NOT NULL,
  PRIMARY KEY (project, tree)
) WITH (fillfactor = 50);

CREATE TABLE leaf (position bigint PRIMARY KEY, record text NOT NULL);
CREATE TABLE body (position bigint PRIMARY KEY, disclosures text NOT NULL, erased text, keys text);
-- Keys of subjects, which dumps that are kept leave out.
CREATE TABLE subject_key (
  project integer NOT NULL,
  key_id ${id} NOT NULL,
  subject ${id} NOT NULL,
  secret bytea NOT NULL CHECK (octet_length(secret) = 32),
  PRIMARY KEY (project, key_id)
);
CREATE INDEX subject_key_subject ON subject_key (project, subject);
CREATE TABLE meter (
  position bigint PRIMARY KEY,
  first_index bigint NOT NULL,
  leaf_count integer NOT NULL,
  nonce bytea NOT NULL,
  record text NOT NULL
);

ALTER TABLE tile ALTER COLUMN hashes SET STORAGE PLAIN;

-- Projects whose logs have leaves that no checkpoint covers, maybe: kept with the commit, removed with the note.
CREATE TABLE grown (project integer PRIMARY KEY);

-- What SQLite keeps in a second file: the newest signed head of each tree, written before it is signed.
CREATE TABLE head_anchor (
  project integer NOT NULL,
  tree smallint NOT NULL,
  origin ${id} NOT NULL UNIQUE,
  size bigint NOT NULL,
  root bytea NOT NULL CHECK (octet_length(root) = 32),
  PRIMARY KEY (project, tree)
);`;

const runs = `
CREATE TABLE event_type (
  project integer NOT NULL,
  type_no integer NOT NULL,
  name ${id} NOT NULL,
  PRIMARY KEY (project, type_no),
  UNIQUE (project, name)
);

CREATE TABLE run (
  project integer NOT NULL,
  run_no bigint NOT NULL,
  run_id ${id} NOT NULL,
  events bigint NOT NULL,
  first_index bigint NOT NULL,
  last_index bigint NOT NULL,
  first_ms bigint NOT NULL,
  last_ms bigint NOT NULL,
  last_server_ms bigint NOT NULL,
  ai_system_id ${id},
  PRIMARY KEY (project, run_no),
  UNIQUE (project, run_id)
) WITH (fillfactor = 70);

CREATE TABLE run_event (
  project integer NOT NULL,
  type_no integer NOT NULL,
  run_no bigint NOT NULL,
  run_seq bigint NOT NULL,
  idx bigint NOT NULL,
  at_ms bigint NOT NULL,
  PRIMARY KEY (project, run_no, run_seq)
);

CREATE TABLE run_block (
  project integer NOT NULL,
  type_no integer NOT NULL,
  run_no bigint NOT NULL,
  block bigint NOT NULL,
  events bigint NOT NULL,
  first_ms bigint NOT NULL,
  last_ms bigint NOT NULL,
  PRIMARY KEY (project, run_no, type_no, block)
);

CREATE TABLE idempotency (
  project integer NOT NULL,
  key ${id} NOT NULL,
  fingerprint text NOT NULL,
  at_ms bigint NOT NULL,
  status integer NOT NULL,
  headers text NOT NULL,
  body text NOT NULL,
  PRIMARY KEY (project, key)
);
CREATE INDEX idempotency_age ON idempotency (at_ms);`;

const work = `

-- staged_ms: parts that no graph ever named are swept by their age, since any process may be staging.
CREATE TABLE graph_part (
  project integer NOT NULL,
  graph_id ${id} NOT NULL,
  list text NOT NULL CHECK (list IN ('nodes', 'edges')),
  part integer NOT NULL,
  items bytea NOT NULL,
  staged_ms bigint NOT NULL,
  PRIMARY KEY (project, graph_id, list, part)
);
ALTER TABLE graph_part ALTER COLUMN items SET STORAGE EXTERNAL;
CREATE INDEX graph_part_age ON graph_part (staged_ms);

CREATE INDEX job_ended ON job (completed_ms) WHERE request IS NOT NULL AND status IN ('completed', 'failed');`;

/** Of shared tables: SQLite's have more columns, so that it reads no row. */
const indexes = `
CREATE INDEX api_key_age ON api_key (project, created_ms, key_id);
CREATE INDEX approval_outcome ON approval (project, outcome, requested_ms, approval_id);`;

/** An approved approval is also used once. */
const approvalUse = `
DROP TRIGGER approval_update ON approval;
CREATE TRIGGER approval_update BEFORE UPDATE ON approval FOR EACH ROW
  WHEN (${changesMore}) EXECUTE FUNCTION refuse_change('${changesMoreText}');`;

/** The column of signed approvals does not change either. */
const versionRule = `
DROP TRIGGER policy_version_update ON policy_version;
CREATE TRIGGER policy_version_update BEFORE UPDATE ON policy_version FOR EACH ROW
  WHEN (${changesVersion}) EXECUTE FUNCTION refuse_change('${changesVersionText}');`;

/** Nor does what an undecided condition means. */
const versionRuleNow = versionRule.replace(changesVersion, changesVersionNow);

export const migrations: readonly Migration[] = [
  {
    version: 1,
    sql:
      inPostgres(peopleTables) +
      projectTables +
      inPostgres(otherTables) +
      installationTables +
      indexes +
      log +
      runs +
      work +
      telemetryTables +
      exportTables +
      security,
  },
  { version: 2, sql: inPostgres(indexTables) + rulesOf(laterTables) },
  { version: 3, sql: inPostgres(timeCountTables) + countsByTime + rulesOf(timeCountRules) },
  { version: 4, sql: inPostgres(intakeTable) + rulesOf(intakeRules) },
  { version: 5, sql: inPostgres(approvedCallColumns) + approvalUse },
  {
    version: 6,
    sql: unforced('intake_fact', intakeDays('extract(epoch FROM now())::bigint / 86400')) + intakeSweep,
  },
  { version: 7, sql: inPostgres(documentTable) + rulesOf(documentRules) },
  { version: 8, sql: inPostgres(eventTermTables) + rulesOf(eventTermRules) },
  { version: 9, sql: unforced('event_term', unforced('event_term_head', dropTerms)) },
  { version: 10, sql: inPostgres(signedApprovalColumn) + versionRule },
  { version: 11, sql: cancelledInPostgres },
  { version: 12, sql: unforced('event_term', unforced('event_term_head', dropTerms)) },
  { version: 13, sql: inPostgres(onIndeterminateColumn) + versionRuleNow },
  ...sharedMigrations.map(({ version, sql }) => ({ version, sql: inPostgres(sql) })),
];

/** The version that this release needs. */
export const newestVersion = migrations.length;
