/**
 * What received telemetry made known: `t:` runs of traces, `c:` calls and the signal that reported them, `s:` sources, `q:`
 * numbers of sessions. The log does not need it, so `fsck` does not check it.
 * A migration of its own creates it.
 * Proven by `test/store/schema/tables.test.ts` and `test/store/suite/log/intake.ts`.
 */
import { id } from './words.ts';

export const intakeTable = `
CREATE TABLE intake_fact (
  project integer NOT NULL,
  name ${id} NOT NULL,
  value text NOT NULL,
  PRIMARY KEY (project, name)
) WITHOUT ROWID;
`;
