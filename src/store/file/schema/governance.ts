/**
 * Tables of governance: policies and versions, the risk router's configuration, approvals, and positions of
 * decisions.
 * The decisions themselves are only in the leaves; `decided` finds them by id, run and type. A version
 * changes only once, when it is published. An approval changes only once, when it is decided.
 * Proven by `test/store/file/schema/tables.test.ts` and `test/store/suite/governance/policies.ts`.
 */

/** `type` as in `src/store/rules/decided.ts`. The indexes leave out leaves without a run or an id. */
const decided = `
CREATE TABLE decided (
  project INTEGER NOT NULL,
  type INTEGER NOT NULL,
  idx INTEGER NOT NULL,
  run_id TEXT,
  id TEXT,
  PRIMARY KEY (project, type, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX decided_run ON decided (project, type, run_id, idx) WHERE run_id IS NOT NULL;
CREATE INDEX decided_id ON decided (project, type, id) WHERE id IS NOT NULL;

CREATE TABLE run_snapshot (
  project INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  PRIMARY KEY (project, run_id)
) STRICT, WITHOUT ROWID;
`;

const policy = `
CREATE TABLE policy (
  project INTEGER NOT NULL,
  policy_id TEXT NOT NULL,
  name TEXT NOT NULL,
  description TEXT,
  status TEXT NOT NULL CHECK (status IN ('draft', 'review', 'active', 'disabled', 'archived')),
  active_version INTEGER CHECK (status <> 'active' OR active_version IS NOT NULL),
  last_active_version INTEGER,
  latest_version INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  created_ms INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  updated_ms INTEGER NOT NULL,
  PRIMARY KEY (project, policy_id)
) STRICT;
CREATE INDEX policy_age ON policy (project, created_ms, policy_id);
CREATE INDEX policy_status ON policy (project, status, created_ms, policy_id);
CREATE TRIGGER policy_update BEFORE UPDATE ON policy
WHEN NEW.revision <> OLD.revision + 1 OR NEW.latest_version < OLD.latest_version
  OR NEW.project <> OLD.project OR NEW.policy_id <> OLD.policy_id
  OR NEW.created_ms <> OLD.created_ms OR NEW.created_by <> OLD.created_by
BEGIN SELECT RAISE(ABORT, 'a change of a policy raises its revision by one'); END;
CREATE TRIGGER policy_delete BEFORE DELETE ON policy BEGIN SELECT RAISE(ABORT, 'policy is append-only'); END;

CREATE TABLE policy_version (
  project INTEGER NOT NULL,
  policy_id TEXT NOT NULL,
  version INTEGER NOT NULL,
  condition TEXT NOT NULL,
  normalized TEXT NOT NULL,
  action TEXT NOT NULL,
  severity TEXT,
  policy_hash TEXT NOT NULL,
  created_ms INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  published INTEGER NOT NULL CHECK (published IN (0, 1)),
  PRIMARY KEY (project, policy_id, version)
) STRICT;
CREATE TRIGGER policy_version_update BEFORE UPDATE ON policy_version
WHEN NOT (OLD.published = 0 AND NEW.published = 1)
  OR NEW.project <> OLD.project OR NEW.policy_id <> OLD.policy_id OR NEW.version <> OLD.version
  OR NEW.condition <> OLD.condition OR NEW.normalized <> OLD.normalized OR NEW.action <> OLD.action
  OR NEW.severity IS NOT OLD.severity OR NEW.policy_hash <> OLD.policy_hash
  OR NEW.created_ms <> OLD.created_ms OR NEW.created_by <> OLD.created_by
BEGIN SELECT RAISE(ABORT, 'a policy version never changes but to be published'); END;
CREATE TRIGGER policy_version_delete BEFORE DELETE ON policy_version
BEGIN SELECT RAISE(ABORT, 'policy_version is append-only'); END;

CREATE TABLE risk_config (
  project INTEGER PRIMARY KEY,
  config TEXT NOT NULL,
  updated_ms INTEGER NOT NULL
) STRICT;
`;

const approval = `
CREATE TABLE approval (
  project INTEGER NOT NULL,
  approval_id TEXT NOT NULL,
  evaluation_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  reason TEXT NOT NULL,
  requested_ms INTEGER NOT NULL,
  requested_by TEXT NOT NULL,
  expires_ms INTEGER NOT NULL,
  outcome TEXT CHECK (outcome IN ('approved', 'denied')),
  decided_by TEXT,
  comment TEXT,
  decided_ms INTEGER,
  PRIMARY KEY (project, approval_id),
  CHECK ((outcome IS NULL) = (decided_by IS NULL) AND (outcome IS NULL) = (decided_ms IS NULL))
) STRICT;
CREATE INDEX approval_age ON approval (project, requested_ms, approval_id);
CREATE INDEX approval_run ON approval (project, run_id, requested_ms, approval_id);
CREATE INDEX approval_outcome ON approval (project, outcome, requested_ms, approval_id, expires_ms);
CREATE TRIGGER approval_update BEFORE UPDATE ON approval
WHEN OLD.outcome IS NOT NULL OR NEW.outcome IS NULL
  OR NEW.project <> OLD.project OR NEW.approval_id <> OLD.approval_id
  OR NEW.evaluation_id <> OLD.evaluation_id OR NEW.run_id <> OLD.run_id OR NEW.reason <> OLD.reason
  OR NEW.requested_ms <> OLD.requested_ms OR NEW.requested_by <> OLD.requested_by
  OR NEW.expires_ms <> OLD.expires_ms
BEGIN SELECT RAISE(ABORT, 'an approval is decided once, and nothing else of it changes'); END;
CREATE TRIGGER approval_delete BEFORE DELETE ON approval
BEGIN SELECT RAISE(ABORT, 'approval is append-only'); END;
`;

export const governance = decided + policy + approval;
export const governanceAppendOnly = ['decided', 'run_snapshot'] as const;
