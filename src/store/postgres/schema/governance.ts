/**
 * Tables of governance, with SQLite's columns (`src/store/file/schema/governance.ts`). The triggers of
 * `security.ts` limit the changes of their rows.
 * Proven by `test/store/suite/governance/policies.ts` and `test/store/suite/governance/approvals.ts`.
 */
const id = 'text COLLATE "C"';

/** `type` as in `src/store/rules/decided.ts`. The indexes leave out leaves without a run or an id. */
const decided = `
CREATE TABLE decided (
  project integer NOT NULL,
  type smallint NOT NULL,
  idx bigint NOT NULL,
  run_id ${id},
  id ${id},
  PRIMARY KEY (project, type, idx)
);
CREATE INDEX decided_run ON decided (project, type, run_id, idx) WHERE run_id IS NOT NULL;
CREATE INDEX decided_id ON decided (project, type, id) WHERE id IS NOT NULL;

CREATE TABLE run_snapshot (
  project integer NOT NULL,
  run_id ${id} NOT NULL,
  PRIMARY KEY (project, run_id)
);`;

const policy = `
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
);`;

const approval = `
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
CREATE INDEX approval_outcome ON approval (project, outcome, requested_ms, approval_id);`;

export const governanceTables = decided + policy + approval;
