/**
 * What an approval needs so that one call uses it once, for both engines: the key of its call, and the
 * evaluation that used it. A migration of its own adds the columns.
 * Proven by `test/store/schema/tables.test.ts` and `test/store/suite/governance/approvals.ts`.
 */
import { id } from './words.ts';

export const approvedCallColumns = `
ALTER TABLE approval ADD COLUMN call_key ${id};
ALTER TABLE approval ADD COLUMN used_by ${id} CHECK (used_by IS NULL OR outcome = 'approved');
ALTER TABLE approval ADD COLUMN used_ms bigint CHECK ((used_ms IS NULL) = (used_by IS NULL));
CREATE INDEX approval_call ON approval (project, call_key, requested_ms, approval_id) WHERE call_key IS NOT NULL;
`;

/** Whether an update neither decides an open approval nor uses an approved one, or changes more than that. */
export const changesMore = `NOT (
    (OLD.outcome IS NULL AND NEW.outcome IS NOT NULL AND NEW.used_by IS NULL)
    OR (OLD.outcome IS NOT NULL AND OLD.used_by IS NULL AND NEW.used_by IS NOT NULL
      AND NEW.outcome IS NOT DISTINCT FROM OLD.outcome AND NEW.decided_by IS NOT DISTINCT FROM OLD.decided_by
      AND NEW.decided_ms IS NOT DISTINCT FROM OLD.decided_ms AND NEW.comment IS NOT DISTINCT FROM OLD.comment)
  ) OR NEW.project <> OLD.project OR NEW.approval_id <> OLD.approval_id
  OR NEW.evaluation_id <> OLD.evaluation_id OR NEW.run_id <> OLD.run_id OR NEW.reason <> OLD.reason
  OR NEW.requested_ms <> OLD.requested_ms OR NEW.requested_by <> OLD.requested_by
  OR NEW.expires_ms <> OLD.expires_ms OR NEW.call_key IS DISTINCT FROM OLD.call_key`;

export const changesMoreText = 'an approval is decided once, then used once, and nothing else of it changes';
