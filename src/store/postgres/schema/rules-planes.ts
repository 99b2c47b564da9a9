/**
 * The rules for rows of data planes; `rules.ts` includes them.
 * Proven by `test/store/postgres/connection/database.test.ts`.
 */
import { changed, credential, lookup, onDuty, own, type TableRules } from './rule-words.ts';

export const telemetryRules: Readonly<Record<string, TableRules>> = {
  telemetry_plane: {
    sees: `${own} OR key_digest = ${credential} OR previous_digest = ${credential} OR token_digest = ${credential}
      OR verifier_key = ${lookup} OR origin = ${lookup} OR audit_origin = ${lookup}`,
    writes: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NEW.revision <> OLD.revision + 1
        OR (OLD.revoked_ms IS NOT NULL AND NEW.revoked_ms IS DISTINCT FROM OLD.revoked_ms
          AND NOT (NEW.revoked_ms IS NULL AND NEW.key_digest IS DISTINCT FROM OLD.key_digest))
        OR (OLD.enrolled_ms IS NOT NULL AND ${changed('origin audit_origin')})
        OR ${changed('project plane_id created_ms created_by')}`,
      message: 'a change of a data plane raises its revision by one, and leaves what it is',
    },
  },
  telemetry_report: {
    sees: `${own} OR challenge_id = ${lookup} OR ${onDuty('jobs')}`,
    writes: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `(OLD.link <> 'unknown' AND NEW.link <> OLD.link)
        OR (OLD.attestation = 'expired' AND NEW.attestation <> 'expired')
        OR (OLD.answer_ms IS NOT NULL AND ${changed('attestation answer_digest answer_status answer answer_ms')})
        OR ${changed(
          'project plane_id epoch sequence report_id digest received_ms month tree_size totals cosignature ' +
            'challenge_id challenge challenge_expires_ms body',
        )}`,
      message: 'a report is linked once and answered for once, and nothing else of it changes',
    },
  },
  telemetry_epoch: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NEW.held <> OLD.held + 1 OR NEW.next_sequence < OLD.next_sequence
        OR NEW.newest_sequence < OLD.newest_sequence OR NEW.tree_size < OLD.tree_size
        OR ${changed('project plane_id epoch')}`,
      message: 'what is held of an epoch only grows',
    },
  },
  telemetry_month: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `NEW.audit_event < OLD.audit_event OR NEW.compliance_proof < OLD.compliance_proof
        OR NEW.risk_decision < OLD.risk_decision OR NEW.replay_verification < OLD.replay_verification
        OR ${changed('project plane_id epoch month')}`,
      message: 'what a month reached only grows',
    },
  },
  telemetry_usage: {
    sees: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: { when: changed('project month'), message: 'units stay with their month' },
  },
};
