/**
 * Writes of the search index. Of two processes that save one block, the first one wins.
 * Proven by `test/store/suite/log/event-terms.ts`.
 */
import type { EventTermRows } from '../../append/effects.ts';
import type { EventTermStore, TermBlock } from '../../port/event-terms.ts';
import { arrayOf } from '../connection/arrays.ts';
import type { Database } from '../connection/database.ts';
import { sql, step } from '../../read/queries.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import type { Writing } from './writing.ts';

const start = sql(
  'INSERT INTO event_term_head (project, blocks, changes) VALUES ($1, 0, 0) ON CONFLICT DO NOTHING',
);
const raise = sql(
  'UPDATE event_term_head SET blocks = blocks + 1 WHERE project = $1 AND blocks = $2::int8 AND changes = $3::int8',
);
const save = sql(
  `INSERT INTO event_term (project, term, block, first_ms, last_ms, places)
     SELECT $1::int4, w.term, $2::int8, w.first_ms, w.last_ms, w.places
     FROM unnest($3::bytea[], $4::int8[], $5::int8[], $6::bytea[]) AS w(term, first_ms, last_ms, places)`,
);

export const eventTermWrites = (database: Database, numberOf: ProjectNumber): EventTermStore => ({
  saveTermBlock: async (projectId, { blocks, changes }, terms) => {
    const project = await numberOf(projectId);
    return database.transaction({ project }, async ({ run, commit }) => {
      const [, raised] = await run([step(start, project), step(raise, project, blocks, changes)]);
      if (raised.count === 0) return false;
      const bytes = (of: (term: TermBlock) => Uint8Array): Buffer => arrayOf('bytea', terms.map(of));
      const times = (of: (term: TermBlock) => number): Buffer => arrayOf('int8', terms.map(of));
      const columns = [
        bytes(({ term }) => term),
        times(({ firstMs }) => firstMs),
        times(({ lastMs }) => lastMs),
        bytes(({ places }) => places),
      ];
      await commit([step(save, project, blocks, ...columns)]);
      return true;
    });
  },
});

const lower = sql(
  `INSERT INTO event_term_head (project, blocks, changes) VALUES ($1, 0, 1)
   ON CONFLICT (project) DO UPDATE SET blocks = least(event_term_head.blocks, $2::int8),
     changes = event_term_head.changes + 1`,
);
const dropFrom = sql('DELETE FROM event_term WHERE project = $1 AND block >= $2::int8');
const dropBelow = sql('DELETE FROM event_term WHERE project = $1 AND block < $2::int8');

export const eventTermRows = ({ project, write }: Writing): EventTermRows => ({
  dropTermsFrom: (block) => {
    write(step(lower, project, block));
    write(step(dropFrom, project, block));
  },
  dropTermsBelow: (block) => write(step(dropBelow, project, block)),
});
