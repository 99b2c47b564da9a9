/** Writes of the search index. Proven by `test/store/suite/log/event-terms.ts`. */
import { write, type Writer } from './statement.ts';

/** Begins the index of a project; nothing for one that has begun. */
export const startTerms = write(
  'start search index',
  'INSERT INTO event_term_head (project, blocks, changes) VALUES (:project, 0, 0) ON CONFLICT DO NOTHING',
);
/** Counts one more block; changes no row if another process counted it. */
export const raiseTerms = write<{ readonly blocks: number; readonly changes: number }>(
  'raise search index',
  `UPDATE event_term_head SET blocks = blocks + 1
   WHERE project = :project AND blocks = :blocks::int8 AND changes = :changes::int8`,
);

interface Block {
  readonly block: number;
}
const lower = write<Block>(
  'lower search index',
  `INSERT INTO event_term_head (project, blocks, changes) VALUES (:project, 0, 1)
   ON CONFLICT (project) DO UPDATE SET changes = event_term_head.changes + 1, blocks =
     CASE WHEN event_term_head.blocks < :block::int8 THEN event_term_head.blocks ELSE :block::int8 END`,
);
const dropFrom = write<Block>(
  'drop event terms',
  'DELETE FROM event_term WHERE project = :project AND block >= :block::int8',
);
const dropBelow = write<Block>(
  'drop old terms',
  'DELETE FROM event_term WHERE project = :project AND block < :block::int8',
);

export const termWrites = (run: Writer<unknown>) => ({
  dropTermsFrom: (block: number): void => {
    run(lower, { block });
    run(dropFrom, { block });
  },
  dropTermsBelow: (block: number): void => void run(dropBelow, { block }),
});
