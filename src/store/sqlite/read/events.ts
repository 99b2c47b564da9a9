/**
 * Reads of events. A run's events are narrow rows in `runSeq` order, which is also index order. Scans run in
 * steps and yield to the event loop between two steps.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import type { StoreReader } from '../../port/store.ts';
import type { Leaf } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { allTypes, blockEvents, blockOf } from '../../append/blocks.ts';
import { boundsReader, factsReader, isUnbounded, someWithin, type Bounds, type RunFacts } from './filter.ts';
import { positionOf, positionSql } from '../../file/position.ts';
import { leafChecker, type LeafRow, type ProjectNumber } from './leaves.ts';
import type { Turns } from './turns.ts';

/** Rows per step between two turns of the event loop: narrow rows (2 ms), records (2 ms). */
const narrowStep = 10_000;
const recordStep = 400;

type EventReads = Pick<StoreReader, 'events' | 'runLeaves' | 'runEventsBelow' | 'eventsAfter'>;

export function eventReads(db: Connection, numberOf: ProjectNumber, turns: Turns): EventReads {
  const factsOf = factsReader(db);
  const below = seqFinder(db);
  const events = eventPages(db, numberOf, turns);
  const tail = projectTail(db, numberOf, turns);
  const check = leafChecker(db);
  const selectRun = (bodies: boolean) =>
    db.prepare<Value[], LeafRow>(
      `SELECT e.idx, leaf.record, ${bodies ? 'body.disclosures, body.erased, body.keys' : 'NULL AS disclosures'} FROM run_event e
       LEFT JOIN leaf ON leaf.position = ${positionSql('e')}
       ${bodies ? `LEFT JOIN body ON body.position = ${positionSql('e')}` : ''}
       WHERE e.project = ? AND e.run_no = ? AND e.run_seq >= ? AND e.run_seq < ? ORDER BY e.run_seq`,
    );
  const whole = selectRun(true);
  const records = selectRun(false);
  return {
    events,
    runEventsBelow: async (projectId, runId, beforeIndex) => {
      const project = numberOf(projectId);
      const run = factsOf(project, runId);
      return run === null ? 0 : below(project, run, beforeIndex);
    },
    runLeaves: async (projectId, runId, { fromSeq, beforeIndex, limit, bodies }) => {
      const project = numberOf(projectId);
      const run = factsOf(project, runId);
      if (run === null) return [];
      const end = Math.min(fromSeq + limit, below(project, run, beforeIndex));
      const select = bodies === false ? records : whole;
      return check(project, 'audit', select.all(project, run.no, fromSeq, end), bodies);
    },
    eventsAfter: async (projectId, { runId, eventType }, page) => {
      if (runId === undefined) return tail(projectId, eventType, page);
      const filter = { runId, ...(eventType === undefined ? {} : { eventType }) };
      return events(projectId, filter, { ...page, order: 'asc' });
    },
  };
}

/** Returns how many of a run's events have an index below the given one. */
type SeqBelow = (project: number, run: RunFacts, index: number) => number;

/**
 * `runSeq` and index rise together, so a search finds the position. It alternates between a guess from an
 * even spread of the run's events and the middle. Cost: 2-4 rows for a run that grew evenly, 2 log2 n for any
 * other.
 */
function seqFinder(db: Connection): SeqBelow {
  const indexOf = db
    .prepare<Value[], number>('SELECT idx FROM run_event WHERE project = ? AND run_no = ? AND run_seq = ?')
    .pluck();
  return (project, run, index) => {
    if (index > run.lastIndex) return run.events;
    // Events before `low` have a smaller index; events from `high` on do not.
    let [low, high] = [0, run.events - 1];
    let [under, over] = [0, run.lastIndex];
    for (let even = true; low < high; even = !even) {
      const share = even ? (index - under) / (over - under + 1) : 0.5;
      const probe = Math.min(high - 1, low + Math.floor((high - low) * Math.max(0, share)));
      const found = indexOf.get(project, run.no, probe) ?? 0;
      if (found < index) [low, under] = [probe + 1, found];
      else [high, over] = [probe, found];
    }
    return low;
  };
}

function eventPages(db: Connection, numberOf: ProjectNumber, turns: Turns): StoreReader['events'] {
  const factsOf = factsReader(db);
  const boundsOf = boundsReader(db);
  const below = seqFinder(db);
  const check = leafChecker(db);
  const rangesOf = rangeFinder(db, turns);
  const selectPage = (order: 'ASC' | 'DESC') =>
    db.prepare<Value[], LeafRow>(
      `SELECT e.idx, leaf.record, body.disclosures, body.erased, body.keys FROM run_event e
       LEFT JOIN leaf ON leaf.position = ${positionSql('e')}
       LEFT JOIN body ON body.position = ${positionSql('e')}
       WHERE e.project = ? AND e.run_no = ? AND e.run_seq >= ? AND e.run_seq < ?
         AND e.type_no BETWEEN ? AND ? AND e.at_ms BETWEEN ? AND ?
       ORDER BY e.run_seq ${order} LIMIT ?`,
    );
  const select = { asc: selectPage('ASC'), desc: selectPage('DESC') };
  return async (projectId, filter, { after, order, limit, fromIndex = 0 }) => {
    const project = numberOf(projectId);
    const bounds = boundsOf(project, filter);
    const run = factsOf(project, filter.runId);
    if (run === null || bounds === null || !someWithin(run, bounds.times)) return [];
    const first = order === 'asc' && after !== undefined ? Math.max(after + 1, fromIndex) : fromIndex;
    const from = first === 0 ? 0 : below(project, run, first);
    const to = order === 'desc' && after !== undefined ? below(project, run, after) : run.events;
    const leaves: Leaf[] = [];
    let looked = 0;
    for await (const [start, end] of rangesOf({ project, run, bounds, order, from, to })) {
      if ((looked += end - start) > narrowStep) {
        looked = 0;
        await turns.next(project);
      }
      const values = [start, end, ...bounds.types, ...bounds.times, limit - leaves.length];
      leaves.push(...check(project, 'audit', select[order].all(project, run.no, ...values)));
      if (leaves.length >= limit) break;
    }
    return leaves;
  };
}

interface EventsRequest {
  readonly project: number;
  readonly run: RunFacts;
  readonly bounds: Bounds;
  readonly order: 'asc' | 'desc';
  /** Events [from, to) of the run. */
  readonly from: number;
  readonly to: number;
}

/** Summaries of blocks per statement: 2 ms. */
const blockStep = 10_000;

/**
 * Yields, in order, the ranges that can hold matching events: blocks by their summaries, and the open block,
 * which has none.
 */
function rangeFinder(
  db: Connection,
  turns: Turns,
): (wanted: EventsRequest) => AsyncIterable<readonly [start: number, end: number]> {
  const selectBlocks = (order: 'ASC' | 'DESC') =>
    db
      .prepare<Value[], number>(
        `SELECT block FROM run_block WHERE project = ? AND run_no = ? AND type_no = ? AND block >= ? AND block < ?
           AND last_ms >= ? AND first_ms <= ? ORDER BY block ${order}`,
      )
      .pluck();
  const blocks = { asc: selectBlocks('ASC'), desc: selectBlocks('DESC') };
  return async function* rangesOf({ project, run, bounds, order, from, to }) {
    if (from >= to) return;
    if (isUnbounded(bounds)) {
      yield [from, to];
      return;
    }
    const open = blockOf(run.events) * blockEvents;
    const within = (start: number, end: number) => [Math.max(from, start), Math.min(to, end)] as const;
    if (order === 'desc' && to > open) yield within(open, to);
    const [first, end] = [blockOf(from), blockOf(Math.min(to, open) - 1) + 1];
    const [low, high] = bounds.times;
    const type = bounds.types[0] === bounds.types[1] ? bounds.types[0] : allTypes;
    for (let step = 0; step * blockStep < end - first; step += 1) {
      const start = order === 'asc' ? first + step * blockStep : end - (step + 1) * blockStep;
      const limits = [Math.max(first, start), Math.min(end, start + blockStep)];
      for (const block of blocks[order].all(project, run.no, type, ...limits, low, high)) {
        yield within(block * blockEvents, (block + 1) * blockEvents);
      }
      await turns.next(project);
    }
    if (order === 'asc' && to > open) yield within(open, to);
  };
}

/** Reads events of the whole project after an index, in index order. */
function projectTail(db: Connection, numberOf: ProjectNumber, turns: Turns) {
  const headSize = db
    .prepare<Value[], number>('SELECT size FROM head WHERE project = ? AND tree = 0')
    .pluck();
  // Clear members of a record match patterns without quotes or backslashes, and `type` is its last member.
  // Text comparison therefore finds exactly the records that parsing would find.
  const ending = '"type":"gov.event/1"}';
  const select = db.prepare<Value[], LeafRow>(
    `SELECT leaf.idx, record, disclosures, erased, keys FROM leaf
     LEFT JOIN body USING (position)
     WHERE position >= ? AND position < ?
       AND substr(record, -${ending.length}) = '${ending}' AND instr(record, ?) > 0
     ORDER BY position LIMIT ?`,
  );
  const check = leafChecker(db);
  return async (
    projectId: string,
    eventType: string | undefined,
    { after, limit }: { after: number; limit: number },
  ): Promise<Leaf[]> => {
    const project = numberOf(projectId);
    const needle = eventType === undefined ? '"eventType":"' : `"eventType":"${eventType}","runId":"`;
    const leaves: Leaf[] = [];
    for (let from = after + 1; from < (headSize.get(project) ?? 0); from += recordStep) {
      const range = [positionOf(project, from), positionOf(project, from + recordStep)];
      const rows = select.all(...range, needle, limit - leaves.length);
      leaves.push(...check(project, 'audit', rows));
      if (leaves.length >= limit) break;
      await turns.next(project);
    }
    return leaves;
  };
}
