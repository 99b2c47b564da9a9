/**
 * Triggers of the tables of governance, and an index.
 * The decisions themselves are only in the leaves; `decided` finds them by id, run and type. A version
 * changes only once, when it is published. An approval changes when it is decided, and
 * in a later migration when it is used.
 * Proven by `test/store/file/schema/tables.test.ts` and `test/store/suite/governance/policies.ts`.
 */
import { changesMore, changesMoreText } from '../../schema/approved-calls.ts';
import { changesVersion, changesVersionNow, changesVersionText } from '../../schema/signed-approvals.ts';

const policy = `
CREATE TRIGGER policy_update BEFORE UPDATE ON policy
WHEN NEW.revision <> OLD.revision + 1 OR NEW.latest_version < OLD.latest_version
  OR NEW.project <> OLD.project OR NEW.policy_id <> OLD.policy_id
  OR NEW.created_ms <> OLD.created_ms OR NEW.created_by <> OLD.created_by
BEGIN SELECT RAISE(ABORT, 'a change of a policy raises its revision by one'); END;
CREATE TRIGGER policy_delete BEFORE DELETE ON policy BEGIN SELECT RAISE(ABORT, 'policy is append-only'); END;

CREATE TRIGGER policy_version_update BEFORE UPDATE ON policy_version
WHEN NOT (OLD.published = 0 AND NEW.published = 1)
  OR NEW.project <> OLD.project OR NEW.policy_id <> OLD.policy_id OR NEW.version <> OLD.version
  OR NEW.condition <> OLD.condition OR NEW.normalized <> OLD.normalized OR NEW.action <> OLD.action
  OR NEW.severity IS NOT OLD.severity OR NEW.policy_hash <> OLD.policy_hash
  OR NEW.created_ms <> OLD.created_ms OR NEW.created_by <> OLD.created_by
BEGIN SELECT RAISE(ABORT, 'a policy version never changes but to be published'); END;
CREATE TRIGGER policy_version_delete BEFORE DELETE ON policy_version
BEGIN SELECT RAISE(ABORT, 'policy_version is append-only'); END;
`;

const approval = `
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

/** Of a later migration: an approved approval is also used once. */
export const approvalUse = `
DROP TRIGGER approval_update;
CREATE TRIGGER approval_update BEFORE UPDATE ON approval WHEN ${changesMore}
BEGIN SELECT RAISE(ABORT, '${changesMoreText}'); END;
`;

/** Of a later migration: the column of signed approvals does not change either. */
export const versionRule = `
DROP TRIGGER policy_version_update;
CREATE TRIGGER policy_version_update BEFORE UPDATE ON policy_version WHEN ${changesVersion}
BEGIN SELECT RAISE(ABORT, '${changesVersionText}'); END;
`;

/** Of a later migration: nor does what an undecided condition means. */
export const versionRuleNow = versionRule.replace(changesVersion, changesVersionNow);

export const governance = policy + approval;
export const governanceAppendOnly = ['decided', 'run_snapshot'] as const;
