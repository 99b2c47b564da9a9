/**
 * Tables of the two database files, as numbered migrations.
 * Every table starts with the project's number or an organization's id, so every statement contains the
 * tenant. In leaf tables the number is the upper half of the row id (`src/store/file/position.ts`). Triggers
 * make leaf tables append-only; only erasure removes anything from bodies (`body`).
 * Indexes are the most expensive part of a row, so there are few. Event ids need none, because the id
 * contains the leaf index. `run_block` narrows the scan of a run's events by time, and `event_count` counts
 * those of all runs; only the ends of a time window need the index of times.
 * Proven by `test/store/file/schema/tables.test.ts` and `test/store/suite/log/lists.ts`.
 */

import { prunableSql } from '../../../core/decided/prune.ts';
import { approvedCallColumns } from '../../schema/approved-calls.ts';
import { onIndeterminateColumn, signedApprovalColumn } from '../../schema/signed-approvals.ts';
import { documentTable } from '../../schema/documents.ts';
import { dropTerms, eventTermTables } from '../../schema/event-terms.ts';
import { indexTables } from '../../schema/index-map.ts';
import { intakeDays, intakeTable } from '../../schema/intake.ts';
import { cancelledInSqlite } from '../../schema/jobs.ts';
import { sharedMigrations } from '../../schema/migrations.ts';
import { otherTables, peopleTables } from '../../schema/tables.ts';
import { countTimes, fillSpans } from '../../append/counted-sql.ts';
import { runSpans, timeCountTables } from '../../schema/time-counts.ts';
import { inSqlite } from '../../schema/words.ts';
import { positionBits } from '../position.ts';
import { approvalUse, governance, governanceAppendOnly, versionRule, versionRuleNow } from './governance.ts';
import { exported } from './exports.ts';
import { telemetry } from './planes.ts';
import { tenants, tenantsAppendOnly } from './tenants.ts';

export interface Migration {
  readonly version: number;
  readonly sql: string;
}

/** 'govd' and 'govh' */
export const mainApplicationId = 0x676f7664;
export const headsApplicationId = 0x676f7668;

const appendOnly = (table: string): string => `
CREATE TRIGGER ${table}_update BEFORE UPDATE ON ${table} BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END;
CREATE TRIGGER ${table}_delete BEFORE DELETE ON ${table} BEGIN SELECT RAISE(ABORT, '${table} is append-only'); END;
`;

const project = `
CREATE TABLE project (
  project INTEGER PRIMARY KEY,
  project_id TEXT NOT NULL UNIQUE,
  organization_id TEXT NOT NULL,
  environment TEXT NOT NULL CHECK (environment IN ('production', 'sandbox')),
  audit_origin TEXT NOT NULL UNIQUE,
  metering_origin TEXT NOT NULL UNIQUE
) STRICT;
${appendOnly('project')}`;

/** The key of a leaf's row. The other two columns are for readers and take no space. */
const place = `  position INTEGER PRIMARY KEY,
  project INTEGER GENERATED ALWAYS AS (position >> ${positionBits}) VIRTUAL,
  idx INTEGER GENERATED ALWAYS AS (position & ${2 ** positionBits - 1}) VIRTUAL`;

/** SQL: whether the row at a position is of a pruned event. */
const belowFloor = (record: string): string =>
  `coalesce(${prunableSql(record)}, 0) AND EXISTS (SELECT 1 FROM prune WHERE project = (OLD.position >> ${positionBits})
    AND min_index > (OLD.position & ${2 ** positionBits - 1}))`;

/** Trees: 0 audit, 1 metering. */
const log = `
CREATE TABLE head (
  project INTEGER NOT NULL REFERENCES project,
  tree INTEGER NOT NULL CHECK (tree IN (0, 1)),
  size INTEGER NOT NULL,
  root BLOB NOT NULL CHECK (length(root) = 32),
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (project, tree)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER head_update BEFORE UPDATE ON head
WHEN NEW.size < OLD.size OR NEW.last_ms < OLD.last_ms OR NEW.project <> OLD.project OR NEW.tree <> OLD.tree
BEGIN SELECT RAISE(ABORT, 'a head never goes backwards'); END;
CREATE TRIGGER head_delete BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'head is append-only'); END;

CREATE TABLE leaf (
${place},
  record TEXT NOT NULL
) STRICT;

CREATE TABLE body (
${place},
  disclosures TEXT NOT NULL,
  erased TEXT,
  keys TEXT
) STRICT;
CREATE TRIGGER body_update BEFORE UPDATE ON body
WHEN NEW.position <> OLD.position OR NEW.erased IS NULL OR NEW.erased IS OLD.erased
  OR length(NEW.disclosures) >= length(OLD.disclosures)
  OR (NEW.keys IS NOT NULL AND NEW.keys IS NOT OLD.keys)
BEGIN SELECT RAISE(ABORT, 'a body only loses what an erasure names'); END;
CREATE TRIGGER body_delete BEFORE DELETE ON body
WHEN NOT (${belowFloor('(SELECT record FROM leaf WHERE position = OLD.position)')})
BEGIN SELECT RAISE(ABORT, 'body is append-only'); END;

-- The file that the keys of subjects are kept in.
CREATE TABLE key_file (one INTEGER PRIMARY KEY CHECK (one = 1), file_id TEXT NOT NULL) STRICT;

CREATE TRIGGER leaf_update BEFORE UPDATE ON leaf BEGIN SELECT RAISE(ABORT, 'leaf is append-only'); END;
CREATE TRIGGER leaf_delete BEFORE DELETE ON leaf WHEN NOT (${belowFloor('OLD.record')})
BEGIN SELECT RAISE(ABORT, 'leaf is append-only'); END;

CREATE TABLE meter (
${place},
  first_index INTEGER NOT NULL,
  leaf_count INTEGER NOT NULL,
  nonce BLOB NOT NULL,
  record TEXT NOT NULL
) STRICT;

CREATE TRIGGER tile_update BEFORE UPDATE ON tile
WHEN length(NEW.hashes) < length(OLD.hashes)
  OR substr(NEW.hashes, 1, length(OLD.hashes)) <> OLD.hashes
  OR NEW.project <> OLD.project OR NEW.tree <> OLD.tree OR NEW.level <> OLD.level
  OR NEW.n <> OLD.n OR NEW.part <> OLD.part
BEGIN SELECT RAISE(ABORT, 'a tile only grows'); END;
CREATE TRIGGER tile_delete BEFORE DELETE ON tile BEGIN SELECT RAISE(ABORT, 'tile is append-only'); END;

${['erased_key', 'key_file', 'prune', 'meter', 'checkpoint', 'cosignature'].map(appendOnly).join('')}`;

const runs = `
CREATE TABLE event_type (
  type_no INTEGER PRIMARY KEY,
  project INTEGER NOT NULL,
  name TEXT NOT NULL,
  UNIQUE (project, name)
) STRICT;

CREATE TABLE run (
  run_no INTEGER PRIMARY KEY,
  project INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  events INTEGER NOT NULL,
  first_index INTEGER NOT NULL,
  last_index INTEGER NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  last_server_ms INTEGER NOT NULL,
  ai_system_id TEXT,
  UNIQUE (project, run_id)
) STRICT;
-- Ends in \`run_no\`: a page of one project's runs does not walk over those of others.
CREATE INDEX run_page ON run (project);

CREATE TABLE run_event (
  project INTEGER NOT NULL,
  run_no INTEGER NOT NULL,
  run_seq INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  type_no INTEGER NOT NULL,
  at_ms INTEGER NOT NULL,
  PRIMARY KEY (project, run_no, run_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_block (
  project INTEGER NOT NULL,
  run_no INTEGER NOT NULL,
  block INTEGER NOT NULL,
  type_no INTEGER NOT NULL,
  events INTEGER NOT NULL,
  first_ms INTEGER NOT NULL,
  last_ms INTEGER NOT NULL,
  PRIMARY KEY (project, run_no, type_no, block)
) STRICT, WITHOUT ROWID;


CREATE TRIGGER subject_update BEFORE UPDATE ON subject BEGIN SELECT RAISE(ABORT, 'subject is append-only'); END;
CREATE TRIGGER subject_delete BEFORE DELETE ON subject
WHEN NOT EXISTS (SELECT 1 FROM body WHERE position = (OLD.project << ${positionBits}) + OLD.idx AND erased IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM prune WHERE project = OLD.project AND min_index > OLD.idx)
BEGIN SELECT RAISE(ABORT, 'subject is append-only'); END;

CREATE TABLE idempotency (
  seq INTEGER PRIMARY KEY,
  project INTEGER NOT NULL,
  key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  at_ms INTEGER NOT NULL,
  status INTEGER NOT NULL,
  headers TEXT NOT NULL,
  body TEXT NOT NULL,
  UNIQUE (project, key)
) STRICT;
CREATE TRIGGER client_event_update BEFORE UPDATE ON client_event
BEGIN SELECT RAISE(ABORT, 'client_event is append-only'); END;
CREATE TRIGGER client_event_delete BEFORE DELETE ON client_event
WHEN NOT EXISTS (SELECT 1 FROM body WHERE position = (OLD.project << ${positionBits}) + OLD.idx AND erased IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM prune WHERE project = OLD.project AND min_index > OLD.idx)
BEGIN SELECT RAISE(ABORT, 'client_event is append-only'); END;
${['run_event', 'run_block'].map(appendOnly).join('')}`;

const work = `
CREATE TABLE graph_part (
  project INTEGER NOT NULL,
  graph_id TEXT NOT NULL,
  list TEXT NOT NULL CHECK (list IN ('nodes', 'edges')),
  part INTEGER NOT NULL,
  items BLOB NOT NULL,
  PRIMARY KEY (project, graph_id, list, part)
) STRICT;
${['proof', 'graph', ...governanceAppendOnly, ...tenantsAppendOnly].map(appendOnly).join('')}`;

export const mainMigrations: readonly Migration[] = [
  {
    version: 1,
    sql:
      inSqlite(peopleTables + otherTables) +
      project +
      tenants +
      log +
      runs +
      governance +
      work +
      telemetry +
      exported,
  },
  { version: 2, sql: inSqlite(indexTables) },
  { version: 3, sql: `${inSqlite(timeCountTables)}${runSpans}${countTimes('run_event')};${fillSpans}` },
  { version: 4, sql: inSqlite(intakeTable) },
  { version: 5, sql: inSqlite(approvedCallColumns) + approvalUse },
  { version: 6, sql: inSqlite(intakeDays('unixepoch() / 86400')) },
  { version: 7, sql: inSqlite(documentTable) },
  { version: 8, sql: inSqlite(eventTermTables) },
  { version: 9, sql: dropTerms },
  { version: 10, sql: inSqlite(signedApprovalColumn) + versionRule },
  { version: 11, sql: cancelledInSqlite },
  { version: 12, sql: dropTerms },
  { version: 13, sql: inSqlite(onIndeterminateColumn) + versionRuleNow },
  ...sharedMigrations.map(({ version, sql }) => ({ version, sql: inSqlite(sql) })),
];

export const headDelete =
  "CREATE TRIGGER head_delete BEFORE DELETE ON head BEGIN SELECT RAISE(ABORT, 'head is append-only'); END;";

export const headUpdate = `CREATE TRIGGER head_update BEFORE UPDATE ON head
WHEN NEW.size < OLD.size OR NEW.origin <> OLD.origin OR (NEW.size = OLD.size AND NEW.root <> OLD.root)
BEGIN SELECT RAISE(ABORT, 'a head never goes backwards'); END;`;

/** The second file: the newest signed head of each tree by origin, and the last raised one. */
export const headsMigrations: readonly Migration[] = [
  {
    version: 1,
    sql: `
CREATE TABLE head (
  origin TEXT PRIMARY KEY,
  size INTEGER NOT NULL,
  root BLOB NOT NULL CHECK (length(root) = 32)
) STRICT, WITHOUT ROWID;
${headUpdate}
${headDelete}
`,
  },
  {
    version: 2,
    sql: `
CREATE TABLE newest (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  origin TEXT NOT NULL
) STRICT;
INSERT INTO newest VALUES (1, '');
CREATE TRIGGER newest_insert AFTER INSERT ON head BEGIN UPDATE newest SET origin = NEW.origin; END;
CREATE TRIGGER newest_update AFTER UPDATE ON head BEGIN UPDATE newest SET origin = NEW.origin; END;
`,
  },
];
