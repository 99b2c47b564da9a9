/**
 * Saves blocks of the search index. Of two processes that save one block, the first one wins.
 * Proven by `test/store/suite/log/event-terms.ts`.
 */
import type { EventTermStore, TermBlock } from '../../port/event-terms.ts';
import { arrayOf } from '../connection/arrays.ts';
import type { Database } from '../connection/database.ts';
import { sql, step } from '../../read/queries.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { raiseTerms, startTerms } from '../../write/event-terms.ts';
import { stepper } from './writing.ts';

const save = sql(
  `INSERT INTO event_term (project, term, block, first_ms, last_ms, places)
     SELECT $1::int4, w.term, $2::int8, w.first_ms, w.last_ms, w.places
     FROM unnest($3::bytea[], $4::int8[], $5::int8[], $6::bytea[]) AS w(term, first_ms, last_ms, places)`,
);

export const eventTermWrites = (database: Database, numberOf: ProjectNumber): EventTermStore => ({
  saveTermBlock: async (projectId, { blocks, changes }, terms) => {
    const project = await numberOf(projectId);
    const to = stepper(project);
    return database.transaction({ project }, async ({ run, commit }) => {
      const [, raised] = await run([to(startTerms, {}), to(raiseTerms, { blocks, changes })]);
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
