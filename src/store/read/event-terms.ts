/** Reads of the search index. Proven by `test/store/suite/log/event-terms.ts`. */
import type { EventTermReader, TermHead } from '../port/event-terms.ts';
import { both, rowsOf, type Queries } from './queries.ts';

const head = both<TermHead>('SELECT blocks, changes FROM event_term_head WHERE project = $1');
const blocks = both<{ block: number; places: Buffer }>(
  `SELECT block, places FROM event_term
   WHERE project = $1 AND term = $2 AND block >= $3 AND block < $4 AND last_ms >= $5 AND first_ms <= $6
   ORDER BY block DESC`,
);
const within = both<{ idx: number }>(
  `SELECT idx FROM run_event WHERE project = $1 AND at_ms >= $2 AND at_ms <= $3 AND idx >= $4 AND idx < $5
   ORDER BY idx DESC`,
);

export const eventTermReads = (queries: Queries): EventTermReader => ({
  termHead: async (projectId) => (await rowsOf(queries, projectId, head))[0] ?? { blocks: 0, changes: 0 },
  termBlocks: (projectId, term, { from, to, startMs, endMs }) =>
    rowsOf(queries, projectId, blocks, Buffer.from(term), from, to, startMs, endMs),
  eventsWithin: async (projectId, { from, to, startMs, endMs }) =>
    (await rowsOf(queries, projectId, within, startMs, endMs, from, to)).map(({ idx }) => idx),
});
