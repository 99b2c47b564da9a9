/**
 * Tables of data planes: identities, reports and counters.
 * A report changes only twice: when it is linked and when its challenge is answered. The counters of an epoch
 * or a month only grow. `telemetry_usage` has the units of a month over all planes of a project. They may
 * move from a later month to an earlier one (`src/store/rules/plane-usage.ts`).
 * Proven by `test/store/file/schema/planes.test.ts` and `test/store/suite/tenancy/reports.ts`.
 */
import { fixed, stays } from './words.ts';

const plane = `
${fixed(
  'telemetry_plane',
  ['project', 'plane_id', 'created_ms', 'created_by'],
  `OR NEW.revision <> OLD.revision + 1
    OR (OLD.revoked_ms IS NOT NULL AND NEW.revoked_ms IS NOT OLD.revoked_ms
      AND NOT (NEW.revoked_ms IS NULL AND NEW.key_digest IS NOT OLD.key_digest))
    OR (OLD.enrolled_ms IS NOT NULL
      AND (NEW.origin, NEW.audit_origin) IS NOT (OLD.origin, OLD.audit_origin))`,
)}${stays('telemetry_plane')}`;

/** Long texts come last: SQLite reads past all of a long text to reach a later column. */
const report = `
CREATE TABLE telemetry_report (
  project INTEGER NOT NULL,
  plane_id TEXT NOT NULL,
  epoch INTEGER NOT NULL CHECK (epoch >= 0),
  sequence INTEGER NOT NULL CHECK (sequence >= 1),
  report_id TEXT NOT NULL,
  digest BLOB NOT NULL CHECK (length(digest) = 32),
  received_ms INTEGER NOT NULL,
  month TEXT NOT NULL CHECK (month GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]'),
  tree_size INTEGER NOT NULL,
  totals TEXT NOT NULL,
  link TEXT NOT NULL,
  cosignature TEXT NOT NULL,
  attestation TEXT NOT NULL CHECK (attestation IN ('not_sampled', 'pending', 'verified', 'failed', 'expired')),
  challenge_id TEXT,
  challenge TEXT,
  challenge_expires_ms INTEGER,
  answer_digest BLOB CHECK (length(answer_digest) = 32),
  answer_status INTEGER,
  answer TEXT,
  answer_ms INTEGER,
  body TEXT NOT NULL,
  PRIMARY KEY (project, plane_id, epoch, sequence),
  UNIQUE (project, plane_id, report_id),
  FOREIGN KEY (project, plane_id) REFERENCES telemetry_plane,
  CHECK ((challenge_id IS NULL) = (challenge IS NULL) AND (challenge_id IS NULL) = (challenge_expires_ms IS NULL)
    AND (challenge_id IS NULL) = (attestation = 'not_sampled')),
  CHECK ((answer_ms IS NULL) = (answer_digest IS NULL) AND (answer_ms IS NULL) = (answer_status IS NULL)
    AND (answer_ms IS NULL) = (answer IS NULL) AND (answer_ms IS NULL) = (attestation IN ('not_sampled', 'pending', 'expired')))
) STRICT;
CREATE UNIQUE INDEX telemetry_challenge ON telemetry_report (challenge_id) WHERE challenge_id IS NOT NULL;
CREATE INDEX telemetry_report_size ON telemetry_report (project, plane_id, epoch, tree_size);
CREATE INDEX telemetry_report_unlinked ON telemetry_report (project, plane_id, epoch, sequence)
  WHERE link <> 'linked';
CREATE INDEX telemetry_challenge_open ON telemetry_report (challenge_expires_ms) WHERE attestation = 'pending';
CREATE INDEX telemetry_challenge_expired ON telemetry_report (project, plane_id) WHERE attestation = 'expired';
${fixed(
  'telemetry_report',
  [
    'project',
    'plane_id',
    'epoch',
    'sequence',
    'report_id',
    'digest',
    'received_ms',
    'month',
    'tree_size',
    'totals',
    'cosignature',
    'challenge_id',
    'challenge',
    'challenge_expires_ms',
    'body',
  ],
  `OR (OLD.link <> 'unknown' AND NEW.link <> OLD.link)
    OR (OLD.attestation = 'expired' AND NEW.attestation <> 'expired')
    OR (OLD.answer_ms IS NOT NULL
      AND (NEW.attestation, NEW.answer_digest, NEW.answer_status, NEW.answer, NEW.answer_ms)
        IS NOT (OLD.attestation, OLD.answer_digest, OLD.answer_status, OLD.answer, OLD.answer_ms))`,
)}${stays('telemetry_report')}`;

const reached = `
${fixed(
  'telemetry_epoch',
  ['project', 'plane_id', 'epoch'],
  `OR NEW.held <> OLD.held + 1 OR NEW.next_sequence < OLD.next_sequence
    OR NEW.newest_sequence < OLD.newest_sequence OR NEW.tree_size < OLD.tree_size`,
)}${stays('telemetry_epoch')}
${fixed(
  'telemetry_month',
  ['project', 'plane_id', 'epoch', 'month'],
  `OR NEW.audit_event < OLD.audit_event OR NEW.compliance_proof < OLD.compliance_proof
    OR NEW.risk_decision < OLD.risk_decision OR NEW.replay_verification < OLD.replay_verification`,
)}${stays('telemetry_month')}
${fixed('telemetry_usage', ['project', 'month'])}${stays('telemetry_usage')}`;

export const telemetry = plane + report + reached;
