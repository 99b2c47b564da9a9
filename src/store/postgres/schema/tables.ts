/**
 * Tables as numbered migrations, with the tables and columns of `src/store/file/schema/tables.ts`. A project
 * can therefore be copied between the engines row by row. Every key leads with the project's number (in leaf
 * tables as the upper part of the position), so tables shard by it. Sorted texts have the collation "C":
 * bytes, as in core.
 * Source: PostgreSQL 18, chapter 23.2 (collation support).
 * Proven by `test/store/postgres/connection/database.test.ts` and `test/store/postgres/suite.alone.test.ts`.
 */
import { exportTables } from './exports.ts';
import { governanceTables } from './governance.ts';
import { telemetryTables } from './planes.ts';
import { peopleTables, projectTables } from './tenants.ts';
import { indexMapRules, indexMapTables } from './index-map.ts';
import { rulesOf, security } from './security.ts';

export interface Migration {
  readonly version: number;
  readonly sql: string;
}

/** 2^27 projects of 2^36 leaves: a position has 63 bits. */
export const positionBits = 36;

const id = 'text COLLATE "C"';

/** Trees: 0 audit, 1 metering. A tile's row `part` holds up to 32 of its hashes and only grows. */
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
-- Keys of subjects, which dumps that are kept leave out; and which of them an erasure destroyed, by the index of its leaf.
CREATE TABLE subject_key (
  project integer NOT NULL,
  key_id ${id} NOT NULL,
  subject ${id} NOT NULL,
  secret bytea NOT NULL CHECK (octet_length(secret) = 32),
  PRIMARY KEY (project, key_id)
);
CREATE INDEX subject_key_subject ON subject_key (project, subject);
CREATE TABLE erased_key (
  project integer NOT NULL,
  key_id ${id} NOT NULL,
  leaf_index bigint NOT NULL,
  PRIMARY KEY (project, key_id, leaf_index)
);
CREATE TABLE prune (
  project integer NOT NULL,
  leaf_index bigint NOT NULL,
  min_index bigint NOT NULL,
  root bytea NOT NULL CHECK (octet_length(root) = 32),
  PRIMARY KEY (project, leaf_index)
);
CREATE TABLE meter (
  position bigint PRIMARY KEY,
  first_index bigint NOT NULL,
  leaf_count integer NOT NULL,
  nonce bytea NOT NULL,
  record text NOT NULL
);

CREATE TABLE tile (
  project integer NOT NULL,
  tree smallint NOT NULL,
  level smallint NOT NULL,
  n bigint NOT NULL,
  part smallint NOT NULL,
  hashes bytea NOT NULL,
  PRIMARY KEY (project, tree, level, n, part)
);
ALTER TABLE tile ALTER COLUMN hashes SET STORAGE PLAIN;

CREATE TABLE checkpoint (
  project integer NOT NULL,
  tree smallint NOT NULL,
  size bigint NOT NULL,
  root bytea NOT NULL,
  note text NOT NULL,
  PRIMARY KEY (project, tree, size)
);

-- What witnesses answered: signature lines over a checkpoint's text, by \`<name>+<key id>\` of the witness's key.
CREATE TABLE cosignature (
  project integer NOT NULL,
  tree smallint NOT NULL,
  size bigint NOT NULL,
  key ${id} NOT NULL,
  line text NOT NULL,
  PRIMARY KEY (project, tree, size, key)
);

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

CREATE TABLE run_type (
  project integer NOT NULL,
  run_no bigint NOT NULL,
  type_no integer NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (project, run_no, type_no)
) WITH (fillfactor = 70);

CREATE TABLE type_total (
  project integer NOT NULL,
  type_no integer NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (project, type_no)
) WITH (fillfactor = 50);

CREATE TABLE client_event (
  project integer NOT NULL,
  client_event_id ${id} NOT NULL,
  idx bigint NOT NULL,
  fingerprint text NOT NULL,
  PRIMARY KEY (project, client_event_id)
);

CREATE TABLE subject (
  project integer NOT NULL,
  subject ${id} NOT NULL,
  idx bigint NOT NULL,
  PRIMARY KEY (project, subject, idx)
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
CREATE TABLE proof (
  project integer NOT NULL,
  proof_id ${id} NOT NULL,
  run_id ${id} NOT NULL,
  created_ms bigint NOT NULL,
  proof text NOT NULL,
  preimage text NOT NULL,
  statements text NOT NULL,
  tree_size bigint NOT NULL,
  graph_index bigint,
  leaf_index bigint NOT NULL,
  PRIMARY KEY (project, proof_id)
);
CREATE INDEX proof_leaf ON proof (project, leaf_index);
CREATE INDEX proof_age ON proof (project, created_ms, proof_id);
CREATE INDEX proof_run ON proof (project, run_id, created_ms, proof_id);

CREATE TABLE graph (
  project integer NOT NULL,
  graph_id ${id} NOT NULL,
  run_id ${id} NOT NULL,
  leaf_index bigint NOT NULL,
  events bigint NOT NULL,
  declaration_hash text,
  root_hash text NOT NULL,
  summary text NOT NULL,
  PRIMARY KEY (project, graph_id),
  UNIQUE (project, leaf_index)
);
CREATE INDEX graph_run ON graph (project, run_id, leaf_index);

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

CREATE TABLE run_graph (
  project integer NOT NULL,
  run_id ${id} NOT NULL,
  declaration text,
  declared_ms bigint,
  sealed_hash text,
  sealed_ms bigint,
  PRIMARY KEY (project, run_id)
);

CREATE TABLE job (
  project integer NOT NULL,
  job_id ${id} NOT NULL,
  type text NOT NULL,
  run_id ${id} NOT NULL,
  request text,
  created_ms bigint NOT NULL,
  status text NOT NULL CHECK (status IN ('pending', 'processing', 'completed', 'failed')),
  attempt integer NOT NULL,
  attempts_before integer NOT NULL,
  due_ms bigint NOT NULL,
  lease text,
  started_ms bigint,
  completed_ms bigint,
  result text,
  result_id ${id},
  summary text,
  error_summary text,
  PRIMARY KEY (project, job_id)
);
CREATE UNIQUE INDEX job_result ON job (project, result_id) WHERE result_id IS NOT NULL;
CREATE INDEX job_age ON job (project, created_ms, job_id);
CREATE INDEX job_due ON job (project, due_ms, created_ms) WHERE status IN ('pending', 'processing');
CREATE INDEX job_ended ON job (completed_ms) WHERE request IS NOT NULL AND status IN ('completed', 'failed');`;

export const migrations: readonly Migration[] = [
  {
    version: 1,
    sql:
      peopleTables +
      projectTables +
      log +
      runs +
      governanceTables +
      work +
      telemetryTables +
      exportTables +
      security,
  },
  { version: 2, sql: indexMapTables + rulesOf(indexMapRules) },
];

/** The version that this release needs. */
export const newestVersion = 2;
