/**
 * Chunks of artifacts, and the rules of exports.
 * Chunks serve processes that share no directory.
 * Proven by `test/store/suite/governance/exports.ts`.
 */
import { id } from '../../schema/words.ts';
import { changed, own, type TableRules } from './rule-words.ts';

export const exportTables = `
CREATE TABLE export_chunk (
  project integer NOT NULL,
  export_id ${id} NOT NULL,
  artifact ${id} NOT NULL,
  n integer NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (project, export_id, artifact, n)
);
ALTER TABLE export_chunk ALTER COLUMN bytes SET STORAGE EXTERNAL;`;

/** `sweeping`: SQL, whether the sweep asks, which serves all tenants. */
export const exportRules = (sweeping: string): Readonly<Record<string, TableRules>> => ({
  export_job: {
    sees: `${own} OR ${sweeping}`,
    writes: own,
    may: 'SELECT, INSERT, UPDATE',
    changes: {
      when: `(OLD.completed_ms IS NOT NULL AND (NEW.expires_ms > OLD.expires_ms
          OR ${changed('artifact row_count size_bytes digest manifest completed_ms')}))
        OR NEW.removed < OLD.removed
        OR ${changed('project export_id job_id resource format filters include_proof tree_size created_ms')}`,
      message: 'an export is completed once and removed once, and nothing else of it changes',
    },
  },
  export_chunk: { sees: own, may: 'SELECT, INSERT, DELETE', changes: null },
});
