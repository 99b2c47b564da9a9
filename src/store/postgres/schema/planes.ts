/**
 * Tables of data planes, with SQLite's columns (`src/store/file/schema/planes.ts`). The triggers of
 * `rules-planes.ts` limit the changes of their rows. Without statistics, PostgreSQL's planner rates indexes
 * with the same first columns alike and may read a whole epoch for one report. Therefore, for queries without
 * sizes, links or ids, only the key begins with project, plane and epoch.
 * Proven by `test/store/suite/tenancy/planes.ts`.
 */
const id = 'text COLLATE "C"';

export const telemetryTables = `
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
CREATE INDEX telemetry_challenge_expired ON telemetry_report (project, plane_id) WHERE attestation = 'expired';

CREATE TABLE telemetry_epoch (
  project integer NOT NULL,
  plane_id ${id} NOT NULL,
  epoch bigint NOT NULL,
  held bigint NOT NULL,
  next_sequence bigint NOT NULL,
  newest_sequence bigint NOT NULL,
  tree_size bigint NOT NULL,
  PRIMARY KEY (project, plane_id, epoch)
) WITH (fillfactor = 70);

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
) WITH (fillfactor = 70);

CREATE TABLE telemetry_usage (
  project integer NOT NULL,
  month ${id} NOT NULL,
  audit_event bigint NOT NULL CHECK (audit_event >= 0),
  compliance_proof bigint NOT NULL CHECK (compliance_proof >= 0),
  risk_decision bigint NOT NULL CHECK (risk_decision >= 0),
  replay_verification bigint NOT NULL CHECK (replay_verification >= 0),
  PRIMARY KEY (project, month)
) WITH (fillfactor = 70);`;
