/**
 * Tables that are the same in both engines. Each engine adds the tables that differ, and the triggers.
 * Proven by `test/store/schema/tables.test.ts`.
 */
import { jobIndexes, jobTable } from './jobs.ts';
import { id } from './words.ts';

/** No other table comes before these. */
export const peopleTables = `
CREATE TABLE organization (
  organization_id ${id} PRIMARY KEY,
  name text NOT NULL,
  customer_id text,
  home_production ${id} NOT NULL,
  home_sandbox ${id} NOT NULL,
  created_ms bigint NOT NULL
);

CREATE TABLE person (
  user_id ${id} PRIMARY KEY,
  organization_id ${id} NOT NULL REFERENCES organization,
  issuer ${id} NOT NULL,
  subject ${id} NOT NULL,
  email text,
  name text NOT NULL,
  created_ms bigint NOT NULL,
  UNIQUE (issuer, subject)
);

CREATE TABLE session (
  digest bytea PRIMARY KEY,
  kind text NOT NULL CHECK (kind IN ('browser', 'cli')),
  user_id ${id} NOT NULL REFERENCES person,
  organization_id ${id} NOT NULL REFERENCES organization,
  created_ms bigint NOT NULL,
  last_used_ms bigint NOT NULL,
  expires_ms bigint NOT NULL,
  ended_ms bigint
) WITHOUT ROWID;
CREATE INDEX session_expiry ON session (expires_ms);
`;

const keyTables = `
CREATE TABLE api_key (
  project integer NOT NULL REFERENCES project,
  key_id ${id} NOT NULL,
  digest bytea NOT NULL UNIQUE,
  prefix text NOT NULL,
  last4 text NOT NULL,
  name text NOT NULL,
  description text,
  scopes text NOT NULL,
  created_ms bigint NOT NULL,
  created_by text NOT NULL,
  updated_ms bigint NOT NULL,
  last_used_ms bigint,
  expires_ms bigint,
  revoked_ms bigint,
  rotated_from ${id},
  PRIMARY KEY (project, key_id)
);
`;

/** `type` as in `src/store/rules/decided.ts`. The indexes leave out leaves without a run or an id. */
const governanceTables = `
CREATE TABLE decided (
  project integer NOT NULL,
  type smallint NOT NULL,
  idx bigint NOT NULL,
  run_id ${id},
  id ${id},
  PRIMARY KEY (project, type, idx)
) WITHOUT ROWID;
CREATE INDEX decided_run ON decided (project, type, run_id, idx) WHERE run_id IS NOT NULL;
CREATE INDEX decided_id ON decided (project, type, id) WHERE id IS NOT NULL;

CREATE TABLE run_snapshot (
  project integer NOT NULL,
  run_id ${id} NOT NULL,
  PRIMARY KEY (project, run_id)
) WITHOUT ROWID;

CREATE TABLE policy (
  project integer NOT NULL,
  policy_id ${id} NOT NULL,
  name text NOT NULL,
  description text,
  status text NOT NULL CHECK (status IN ('draft', 'review', 'active', 'disabled', 'archived')),
  active_version integer CHECK (status <> 'active' OR active_version IS NOT NULL),
  last_active_version integer,
  latest_version integer NOT NULL,
  revision bigint NOT NULL,
  created_ms bigint NOT NULL,
  created_by text NOT NULL,
  updated_ms bigint NOT NULL,
  PRIMARY KEY (project, policy_id)
);
CREATE INDEX policy_age ON policy (project, created_ms, policy_id);
CREATE INDEX policy_status ON policy (project, status, created_ms, policy_id);

CREATE TABLE policy_version (
  project integer NOT NULL,
  policy_id ${id} NOT NULL,
  version integer NOT NULL,
  condition text NOT NULL,
  normalized text NOT NULL,
  action text NOT NULL,
  severity text,
  policy_hash text NOT NULL,
  created_ms bigint NOT NULL,
  created_by text NOT NULL,
  published integer NOT NULL CHECK (published IN (0, 1)),
  PRIMARY KEY (project, policy_id, version)
);

CREATE TABLE risk_config (
  project integer PRIMARY KEY,
  config text NOT NULL,
  updated_ms bigint NOT NULL
);

CREATE TABLE approval (
  project integer NOT NULL,
  approval_id ${id} NOT NULL,
  evaluation_id ${id} NOT NULL,
  run_id ${id} NOT NULL,
  reason text NOT NULL,
  requested_ms bigint NOT NULL,
  requested_by text NOT NULL,
  expires_ms bigint NOT NULL,
  outcome text CHECK (outcome IN ('approved', 'denied')),
  decided_by text,
  comment text,
  decided_ms bigint,
  PRIMARY KEY (project, approval_id),
  CHECK ((outcome IS NULL) = (decided_by IS NULL) AND (outcome IS NULL) = (decided_ms IS NULL))
);
CREATE INDEX approval_age ON approval (project, requested_ms, approval_id);
CREATE INDEX approval_run ON approval (project, run_id, requested_ms, approval_id);
`;

const workTables = `
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

CREATE TABLE run_graph (
  project integer NOT NULL,
  run_id ${id} NOT NULL,
  declaration text,
  declared_ms bigint,
  sealed_hash text,
  sealed_ms bigint,
  PRIMARY KEY (project, run_id)
);

${jobTable}${jobIndexes}`;

const planeTable = `
CREATE TABLE telemetry_plane (
  project integer NOT NULL REFERENCES project,
  plane_id ${id} NOT NULL,
  name text NOT NULL,
  created_ms bigint NOT NULL,
  created_by text NOT NULL,
  token_digest bytea NOT NULL UNIQUE,
  token_expires_ms bigint NOT NULL,
  token_used_ms bigint,
  enrolled_ms bigint,
  origin ${id} UNIQUE,
  audit_origin ${id} UNIQUE,
  verifier_key ${id} UNIQUE,
  audit_verifier_key text,
  former_keys text,
  key_prefix text,
  key_last4 text,
  key_digest bytea UNIQUE,
  sealed_secret text,
  previous_digest bytea UNIQUE,
  previous_secret text,
  previous_until_ms bigint,
  revoked_ms bigint,
  revision bigint NOT NULL CHECK (revision >= 1),
  PRIMARY KEY (project, plane_id),
  CHECK ((enrolled_ms IS NULL) = (origin IS NULL) AND (enrolled_ms IS NULL) = (audit_origin IS NULL)
    AND (enrolled_ms IS NULL) = (verifier_key IS NULL) AND (enrolled_ms IS NULL) = (audit_verifier_key IS NULL)
    AND (enrolled_ms IS NULL) = (former_keys IS NULL)
    AND (enrolled_ms IS NULL) = (key_prefix IS NULL) AND (enrolled_ms IS NULL) = (key_last4 IS NULL)
    AND (enrolled_ms IS NULL) = (key_digest IS NULL) AND (enrolled_ms IS NULL) = (sealed_secret IS NULL)),
  CHECK ((previous_digest IS NULL) = (previous_secret IS NULL)
    AND (previous_digest IS NULL) = (previous_until_ms IS NULL))
);
CREATE INDEX telemetry_plane_age ON telemetry_plane (project, created_ms, plane_id);
CREATE INDEX telemetry_plane_unrevoked ON telemetry_plane (project) WHERE revoked_ms IS NULL;
`;

const counterTables = `
CREATE TABLE telemetry_epoch (
  project integer NOT NULL,
  plane_id ${id} NOT NULL,
  epoch bigint NOT NULL,
  held bigint NOT NULL,
  next_sequence bigint NOT NULL,
  newest_sequence bigint NOT NULL,
  tree_size bigint NOT NULL,
  PRIMARY KEY (project, plane_id, epoch)
) WITHOUT ROWID WITH (fillfactor = 70);

CREATE TABLE telemetry_month (
  project integer NOT NULL,
  plane_id ${id} NOT NULL,
  epoch bigint NOT NULL,
  month ${id} NOT NULL,
  audit_event bigint NOT NULL,
  compliance_proof bigint NOT NULL,
  risk_decision bigint NOT NULL,
  replay_verification bigint NOT NULL,
  PRIMARY KEY (project, plane_id, epoch, month)
) WITHOUT ROWID WITH (fillfactor = 70);

CREATE TABLE telemetry_usage (
  project integer NOT NULL,
  month ${id} NOT NULL,
  audit_event bigint NOT NULL CHECK (audit_event >= 0),
  compliance_proof bigint NOT NULL CHECK (compliance_proof >= 0),
  risk_decision bigint NOT NULL CHECK (risk_decision >= 0),
  replay_verification bigint NOT NULL CHECK (replay_verification >= 0),
  PRIMARY KEY (project, month)
) WITHOUT ROWID WITH (fillfactor = 70);
`;

const exportTable = `
CREATE TABLE export_job (
  project integer NOT NULL,
  export_id ${id} NOT NULL,
  job_id ${id} NOT NULL,
  resource text NOT NULL,
  format text NOT NULL,
  filters text NOT NULL,
  include_proof integer NOT NULL CHECK (include_proof IN (0, 1)),
  tree_size bigint NOT NULL,
  created_ms bigint NOT NULL,
  artifact text,
  row_count bigint,
  size_bytes bigint,
  digest bytea CHECK (octet_length(digest) = 32),
  manifest text,
  completed_ms bigint,
  expires_ms bigint,
  removed integer NOT NULL DEFAULT 0 CHECK (removed IN (0, 1)),
  PRIMARY KEY (project, export_id),
  CHECK ((completed_ms IS NULL) = (artifact IS NULL) AND (completed_ms IS NULL) = (row_count IS NULL)
    AND (completed_ms IS NULL) = (size_bytes IS NULL) AND (completed_ms IS NULL) = (digest IS NULL)
    AND (completed_ms IS NULL) = (manifest IS NULL) AND (completed_ms IS NULL) = (expires_ms IS NULL))
);
CREATE INDEX export_job_age ON export_job (project, created_ms, export_id);
CREATE INDEX export_job_kept ON export_job (project, export_id) WHERE removed = 0;
`;

/**
 * A tile's row `part` has up to 32 of its hashes and only grows. `erased_key`: keys of subjects that an erasure
 * destroyed, by the index of its leaf. `cosignature`: what witnesses answered, by `<name>+<key id>` of the
 * witness's key.
 */
const logTables = `
CREATE TABLE erased_key (
  project integer NOT NULL,
  key_id ${id} NOT NULL,
  leaf_index bigint NOT NULL,
  PRIMARY KEY (project, key_id, leaf_index)
) WITHOUT ROWID;

CREATE TABLE prune (
  project integer NOT NULL,
  leaf_index bigint NOT NULL,
  min_index bigint NOT NULL,
  root bytea NOT NULL CHECK (octet_length(root) = 32),
  PRIMARY KEY (project, leaf_index)
) WITHOUT ROWID;

CREATE TABLE tile (
  project integer NOT NULL,
  tree smallint NOT NULL,
  level smallint NOT NULL,
  n bigint NOT NULL,
  part smallint NOT NULL,
  hashes bytea NOT NULL,
  PRIMARY KEY (project, tree, level, n, part)
) WITHOUT ROWID;

CREATE TABLE checkpoint (
  project integer NOT NULL,
  tree smallint NOT NULL,
  size bigint NOT NULL,
  root bytea NOT NULL,
  note text NOT NULL,
  PRIMARY KEY (project, tree, size)
);

CREATE TABLE cosignature (
  project integer NOT NULL,
  tree smallint NOT NULL,
  size bigint NOT NULL,
  key ${id} NOT NULL,
  line text NOT NULL,
  PRIMARY KEY (project, tree, size, key)
);
`;

const runTables = `
CREATE TABLE run_type (
  project integer NOT NULL,
  run_no bigint NOT NULL,
  type_no integer NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (project, run_no, type_no)
) WITHOUT ROWID WITH (fillfactor = 70);

CREATE TABLE type_total (
  project integer NOT NULL,
  type_no integer NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (project, type_no)
) WITHOUT ROWID WITH (fillfactor = 50);

CREATE TABLE client_event (
  project integer NOT NULL,
  client_event_id ${id} NOT NULL,
  idx bigint NOT NULL,
  fingerprint text NOT NULL,
  PRIMARY KEY (project, client_event_id)
) WITHOUT ROWID;

CREATE TABLE subject (
  project integer NOT NULL,
  subject ${id} NOT NULL,
  idx bigint NOT NULL,
  PRIMARY KEY (project, subject, idx)
) WITHOUT ROWID;
`;

/** They refer to `project`, which differs. */
export const otherTables =
  keyTables +
  logTables +
  runTables +
  governanceTables +
  workTables +
  planeTable +
  counterTables +
  exportTable;
