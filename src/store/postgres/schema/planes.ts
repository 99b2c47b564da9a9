/**
 * The table of reports, with SQLite's columns (`src/store/file/schema/planes.ts`). The triggers of
 * `rules-planes.ts` limit the changes of their rows. Without statistics, PostgreSQL's planner rates indexes
 * with the same first columns alike and may read a whole epoch for one report. Therefore, for queries without
 * sizes, links or ids, only the key begins with project, plane and epoch.
 * Proven by `test/store/suite/tenancy/planes.ts`.
 */
import { id } from '../../schema/words.ts';

export const telemetryTables = `
CREATE TABLE telemetry_report (
  project integer NOT NULL,
  plane_id ${id} NOT NULL,
  epoch bigint NOT NULL CHECK (epoch >= 0),
  sequence bigint NOT NULL CHECK (sequence >= 1),
  report_id ${id} NOT NULL,
  digest bytea NOT NULL CHECK (octet_length(digest) = 32),
  received_ms bigint NOT NULL,
  month ${id} NOT NULL CHECK (month ~ '^[0-9]{4}-[0-9]{2}$'),
  tree_size bigint NOT NULL,
  totals text NOT NULL,
  link text NOT NULL,
  cosignature text NOT NULL,
  attestation text NOT NULL CHECK (attestation IN ('not_sampled', 'pending', 'verified', 'failed', 'expired')),
  challenge_id ${id},
  challenge text,
  challenge_expires_ms bigint,
  answer_digest bytea CHECK (octet_length(answer_digest) = 32),
  answer_status bigint,
  answer text,
  answer_ms bigint,
  body text NOT NULL,
  PRIMARY KEY (project, plane_id, epoch, sequence),
  UNIQUE (report_id, project, plane_id),
  FOREIGN KEY (project, plane_id) REFERENCES telemetry_plane,
  CHECK ((challenge_id IS NULL) = (challenge IS NULL) AND (challenge_id IS NULL) = (challenge_expires_ms IS NULL)
    AND (challenge_id IS NULL) = (attestation = 'not_sampled')),
  CHECK ((answer_ms IS NULL) = (answer_digest IS NULL) AND (answer_ms IS NULL) = (answer_status IS NULL)
    AND (answer_ms IS NULL) = (answer IS NULL) AND (answer_ms IS NULL) = (attestation IN ('not_sampled', 'pending', 'expired')))
);
CREATE UNIQUE INDEX telemetry_challenge ON telemetry_report (challenge_id) WHERE challenge_id IS NOT NULL;
CREATE INDEX telemetry_report_size ON telemetry_report (project, plane_id, epoch, tree_size) WHERE tree_size >= 0;
CREATE INDEX telemetry_report_unlinked ON telemetry_report (project, plane_id, epoch, sequence)
  WHERE link <> 'linked';
CREATE INDEX telemetry_challenge_open ON telemetry_report (challenge_expires_ms) WHERE attestation = 'pending';
CREATE INDEX telemetry_challenge_expired ON telemetry_report (project, plane_id) WHERE attestation = 'expired';`;
