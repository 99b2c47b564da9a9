/** Tables of `telemetry.db`. Before the first release they are edited in place. */
import type { Migration } from '../../src/store/file/schema/tables.ts';

export const outboxMigrations: readonly Migration[] = [
  {
    version: 1,
    sql: `
CREATE TABLE report (
  plane_id TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  sequence INTEGER NOT NULL CHECK (sequence >= 1),
  report_id TEXT NOT NULL,
  hash TEXT NOT NULL,
  tree_size INTEGER NOT NULL,
  period_end_ms INTEGER NOT NULL,
  built_ms INTEGER NOT NULL,
  state TEXT NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'accepted', 'refused', 'replaced')),
  handed INTEGER NOT NULL DEFAULT 0 CHECK (handed IN (0, 1)),
  reason TEXT,
  settled_ms INTEGER,
  body TEXT NOT NULL,
  receipt TEXT,
  UNIQUE (plane_id, report_id)
) STRICT;
-- What was replaced stays beside what took its place.
CREATE UNIQUE INDEX report_place ON report (plane_id, epoch, sequence) WHERE state <> 'replaced';
CREATE INDEX report_waiting ON report (plane_id, epoch, sequence) WHERE state = 'queued';
CREATE INDEX report_refused ON report (plane_id) WHERE state = 'refused';
-- What may have left the machine stays as it was, and every report follows the one before; one that was taken over from the
-- service is accepted already.
CREATE TRIGGER report_update BEFORE UPDATE ON report
WHEN NEW.body <> OLD.body OR NEW.plane_id <> OLD.plane_id OR NEW.epoch <> OLD.epoch
  OR NEW.sequence <> OLD.sequence OR NEW.report_id <> OLD.report_id OR NEW.handed < OLD.handed
BEGIN SELECT RAISE(ABORT, 'a report stays as it was made'); END;
CREATE TRIGGER report_delete BEFORE DELETE ON report WHEN OLD.handed = 1
BEGIN SELECT RAISE(ABORT, 'a report that may have left stays'); END;
CREATE TRIGGER report_gap BEFORE INSERT ON report
WHEN NEW.sequence > 1 AND NEW.state <> 'accepted' AND NOT EXISTS (
  SELECT 1 FROM report WHERE plane_id = NEW.plane_id AND epoch = NEW.epoch AND sequence = NEW.sequence - 1
    AND state <> 'replaced'
)
BEGIN SELECT RAISE(ABORT, 'a report follows the one before'); END;

CREATE TABLE challenge (
  no INTEGER PRIMARY KEY,
  challenge_id TEXT NOT NULL UNIQUE,
  plane_id TEXT NOT NULL,
  report_id TEXT NOT NULL,
  challenge TEXT NOT NULL,
  received_ms INTEGER NOT NULL,
  answer TEXT,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'answered', 'refused')),
  receipt TEXT,
  reason TEXT,
  settled_ms INTEGER
) STRICT;
CREATE INDEX challenge_open ON challenge (plane_id, no) WHERE state = 'open';
CREATE INDEX challenge_state ON challenge (plane_id, state);
CREATE TRIGGER challenge_update BEFORE UPDATE ON challenge
WHEN OLD.answer IS NOT NULL AND NEW.answer IS NOT OLD.answer OR NEW.challenge <> OLD.challenge
BEGIN SELECT RAISE(ABORT, 'a challenge is answered once'); END;
CREATE TRIGGER challenge_delete BEFORE DELETE ON challenge
BEGIN SELECT RAISE(ABORT, 'challenges stay'); END;

CREATE TABLE contact (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  reached_ms INTEGER,
  failing_since_ms INTEGER,
  failure TEXT,
  -- the enrolment for which the service was asked what it holds; null: it is to be asked
  asked_for TEXT,
  -- whether it is asked since it refused a report for another one that it holds
  is_behind INTEGER NOT NULL DEFAULT 0,
  -- the newest report that the service holds, where the log does not have what it reports, and how it stands
  held TEXT,
  held_reason TEXT
) STRICT;
INSERT INTO contact (one) VALUES (1);
`,
  },
];
