/**
 * Reads of events. A run's events are narrow rows in `runSeq` order, which is also index order.
 * `events_below` finds a position by binary search over the indexes, so a page costs the same at any
 * position.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import type { StoreReader } from '../../port/store.ts';
import type { Leaf } from '../../port/store.ts';
import { endOfTime } from '../../port/bounds.ts';
import type { Database } from '../connection/database.ts';
import { auditLeaves, leafColumns, leafJoins, located, type LeafRow, type ProjectNumber } from './leaves.ts';
import { positionBits } from '../schema/tables.ts';
import { sql, step } from '../../read/queries.ts';

type EventReads = Pick<StoreReader, 'events' | 'runLeaves' | 'runEventsBelow' | 'eventsAfter'>;

/** SQL: the number of events of run `$2` below an index; `r` has the run's number and count. */
const below = (index: string): string =>
  `(SELECT CASE WHEN ${index} > r.last_index THEN r.events ELSE events_below($1, r.run_no, r.events, ${index}) END)`;

const theRun = '(SELECT run_no, events, last_index FROM run WHERE project = $1 AND run_id = $2 OFFSET 0) r';

const runEventsBelow = sql<{ n: number }>(`SELECT ${below('$3::int8')} AS n FROM ${theRun}`);

const selectRun = (bodies: boolean) =>
  sql<LeafRow>(
    `SELECT ${leafColumns('e', bodies)} FROM ${located(`SELECT v.idx, v.run_seq FROM ${theRun}
       CROSS JOIN LATERAL (SELECT idx, run_seq FROM run_event e WHERE e.project = $1 AND e.run_no = r.run_no
         AND e.run_seq >= $3::int8 AND e.run_seq < least($3::int8 + $5::int8, ${below('$4::int8')})
         ORDER BY e.run_seq) v`)} e
     ${leafJoins('e', bodies)} ORDER BY e.run_seq`,
  );
const wholeRun = selectRun(true);
const recordsOfRun = selectRun(false);

/** `$3`, `$4`: indexes from and to; `$5`: the limit. */
const selectPage = (order: 'ASC' | 'DESC') =>
  sql<LeafRow>(
    `SELECT ${leafColumns('e')} FROM ${located(`SELECT v.idx, v.run_seq FROM ${theRun}
       CROSS JOIN LATERAL (SELECT idx, run_seq FROM run_event e WHERE e.project = $1 AND e.run_no = r.run_no
         AND e.run_seq >= ${below('$3::int8')} AND e.run_seq < ${below('$4::int8')}
         ORDER BY e.run_seq ${order} LIMIT $5) v`)} e
     ${leafJoins('e')} ORDER BY e.run_seq ${order}`,
  );
const pages = { asc: selectPage('ASC'), desc: selectPage('DESC') };

/** The same parameters; `$6`: a type or null; `$7`, `$8`: times. Uses the summaries of blocks. */
const selectFiltered = (order: 'ASC' | 'DESC') =>
  sql<LeafRow>(
    `SELECT ${leafColumns('e')} FROM ${located(`SELECT v.idx, v.run_seq FROM ${theRun}
       CROSS JOIN LATERAL ${order === 'ASC' ? 'events_ahead' : 'events_back'}($1, r.run_no,
         ${below('$3::int8')}, ${below('$4::int8')}, r.events, CASE WHEN $6::text IS NOT NULL THEN
           coalesce((SELECT type_no FROM event_type WHERE project = $1 AND name = $6), -1) END,
         $7::int8, $8::int8, $5::int8) v`)} e
     ${leafJoins('e')} ORDER BY e.run_seq ${order}`,
  );
const filteredPages = { asc: selectFiltered('ASC'), desc: selectFiltered('DESC') };

// Clear members of a record match patterns without quotes or backslashes, and `type` is its last member. Text
// comparison therefore finds exactly the records that parsing would find.
const ending = '"type":"gov.event/1"}';
const tail = sql<LeafRow>(
  `SELECT ${leafColumns('e')} FROM ${located(`SELECT position & ${2 ** positionBits - 1} AS idx FROM leaf
     WHERE position > ($1::int8 << ${positionBits}) + $2::int8 AND position < ($1::int8 + 1) << ${positionBits}
       AND right(record, ${ending.length}) = '${ending}' AND strpos(record, $3) > 0
     ORDER BY leaf.position LIMIT $4`)} e
   ${leafJoins('e')} ORDER BY e.idx`,
);

export function eventReads(database: Database, numberOf: ProjectNumber): EventReads {
  const events: EventReads['events'] = async (projectId, filter, { after, order, limit, fromIndex = 0 }) => {
    const { runId, eventType = null, startMs = 0, endMs = endOfTime } = filter;
    const project = await numberOf(projectId);
    const from = order === 'asc' && after !== undefined ? Math.max(after + 1, fromIndex) : fromIndex;
    const to = order === 'desc' && after !== undefined ? after : endOfTime;
    const values = [project, runId, from, to, limit];
    const wanted =
      eventType === null && startMs === 0 && endMs === endOfTime
        ? step(pages[order], ...values)
        : step(filteredPages[order], ...values, eventType, startMs, endMs);
    const [{ rows }] = await database.read({ project }, [wanted]);
    return auditLeaves(database, rows);
  };
  return {
    events,
    runEventsBelow: async (projectId, runId, beforeIndex) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [
        step(runEventsBelow, project, runId, beforeIndex),
      ]);
      return rows[0]?.n ?? 0;
    },
    runLeaves: async (projectId, runId, { fromSeq, beforeIndex, limit, bodies }) => {
      const project = await numberOf(projectId);
      const select = bodies === false ? recordsOfRun : wholeRun;
      const [{ rows }] = await database.read({ project }, [
        step(select, project, runId, fromSeq, beforeIndex, limit),
      ]);
      return auditLeaves(database, rows, bodies);
    },
    eventsAfter: async (projectId, { runId, eventType }, { after, limit }): Promise<Leaf[]> => {
      if (runId !== undefined) {
        const filter = { runId, ...(eventType === undefined ? {} : { eventType }) };
        return events(projectId, filter, { after, limit, order: 'asc' });
      }
      const project = await numberOf(projectId);
      const needle = eventType === undefined ? '"eventType":"' : `"eventType":"${eventType}","runId":"`;
      const [{ rows }] = await database.read({ project }, [step(tail, project, after, needle, limit)]);
      return auditLeaves(database, rows);
    },
  };
}
