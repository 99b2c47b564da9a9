/**
 * Writes outside the log and its effects: signed checkpoints, and sweeps of old rows.
 * Proven by `test/store/suite/log/checkpoints.ts` and `test/store/suite/governance/jobs.ts`.
 */
import type { Cosignature } from '../port/store.ts';
import { comparesSql } from '../erasure/withdrawn.ts';
import { endedSql } from '../rules/job-row.ts';
import { write } from './statement.ts';

/** `tree`: the number of the tree. */
interface SavedNote {
  readonly tree: number;
  readonly size: number;
  readonly root: Uint8Array;
  readonly note: string;
}

export const saveNote = write<SavedNote>(
  'save checkpoint',
  `INSERT INTO checkpoint (project, tree, size, root, note) VALUES (:project, :tree, :size, :root, :note)
   ON CONFLICT DO NOTHING`,
);
export const saveLine = write<Pick<SavedNote, 'tree' | 'size'> & Cosignature>(
  'save cosignature',
  `INSERT INTO cosignature (project, tree, size, key, line) VALUES (:project, :tree, :size, :key, :line)
   ON CONFLICT DO NOTHING`,
);

/** Rows deleted in one transaction. */
export const sweepRows = 1000;

export const sweepRequests = write<{ readonly beforeMs: number }>(
  'sweep job requests',
  `UPDATE job SET request = NULL
   WHERE request IS NOT NULL AND ${endedSql} AND completed_ms < :beforeMs AND NOT ${comparesSql}`,
);
export const sweepSessions = write<{ readonly beforeMs: number }>(
  'sweep sessions',
  'DELETE FROM session WHERE expires_ms < :beforeMs',
);
/** Days since 1970. */
export const sweepFacts = write<{ readonly beforeDay: number }>(
  'sweep intake facts',
  `DELETE FROM intake_fact WHERE (project, name) IN (
     SELECT project, name FROM intake_fact WHERE day < :beforeDay LIMIT ${sweepRows})`,
);
