/**
 * What received telemetry made known: `t:` runs of traces, `c:` calls and the signal that reported them, `s:` sources, `q:`
 * numbers of sessions. `fsck` cannot compare it (`src/store/fsck/tables.ts`).
 * A migration of its own creates it.
 * Proven by `test/store/schema/tables.test.ts` and `test/store/suite/log/intake.ts`.
 */
import { id } from './words.ts';

/** Facts are found by the day of their last use, so that old ones can be deleted. `today`: SQL of the engine. */
export const intakeDays = (today: string): string => `
ALTER TABLE intake_fact ADD COLUMN day integer NOT NULL DEFAULT 0;
UPDATE intake_fact SET day = ${today};
CREATE INDEX intake_fact_day ON intake_fact (day);
`;

export const intakeTable = `
CREATE TABLE intake_fact (
  project integer NOT NULL,
  name ${id} NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (project, name)
) WITHOUT ROWID;
`;
