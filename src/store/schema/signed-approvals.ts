/**
 * Whether what a policy version escalates needs a signed approval, and what an undecided condition of it means: columns of
 * migrations of their own, and the rule that a version never changes, with these columns.
 * Proven by `test/store/schema/tables.test.ts` and `test/store/suite/governance/policies.ts`.
 */
export const signedApprovalColumn = `
ALTER TABLE policy_version ADD COLUMN require_signed integer NOT NULL DEFAULT 0 CHECK (require_signed IN (0, 1));
`;

/** Whether an update of a version does more than publish it. */
export const changesVersion = `NOT (OLD.published = 0 AND NEW.published = 1)
  OR NEW.project <> OLD.project OR NEW.policy_id <> OLD.policy_id OR NEW.version <> OLD.version
  OR NEW.condition <> OLD.condition OR NEW.normalized <> OLD.normalized OR NEW.action <> OLD.action
  OR NEW.severity IS DISTINCT FROM OLD.severity OR NEW.policy_hash <> OLD.policy_hash
  OR NEW.created_ms <> OLD.created_ms OR NEW.created_by <> OLD.created_by
  OR NEW.require_signed <> OLD.require_signed`;

/** Of a later migration: what an undecided condition means. */
export const onIndeterminateColumn = `
ALTER TABLE policy_version ADD COLUMN on_indeterminate text CHECK (on_indeterminate IN ('allow', 'warn', 'escalate', 'deny'));
`;

/** The same rule, with the column of that migration. */
export const changesVersionNow = `${changesVersion}
  OR NEW.on_indeterminate IS DISTINCT FROM OLD.on_indeterminate`;

export const changesVersionText = 'a policy version never changes but to be published';
