/**
 * The rows of one commit: collected while the sequencer plans requests, written together before COMMIT. Only
 * the summaries of a run's full blocks read rows that this commit wrote. A crash before COMMIT leaves none of
 * these rows; a crash after it leaves all.
 * Proven by `test/store/sqlite/suite.alone.test.ts` and `test/store/sqlite/crash.long.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { allTypes, blockEvents, filledBy } from '../../append/blocks.ts';
import { addedCounts, changedSpans } from '../../append/time-counts.ts';
import { typeNumber } from '../../rules/decided.ts';
import type { RunState } from '../../append/ledger.ts';
import type { Entry, MeterRow, Pending } from '../../append/pending.ts';
import type { TreeName } from '../../port/store.ts';
import { baseText } from '../../append/period.ts';
import type { Period } from '../../append/period.ts';
import { treeNumber } from '../../append/trees.ts';

import type { BodySeal } from '../../erasure/body-seal.ts';
import { idsText } from '../../erasure/subject-keys.ts';
import { positionOf } from '../../file/position.ts';
import { RowBuffer, type Prepare, type Statement } from '../../file/statement.ts';
import type { SubjectKeys } from '../effects/subject-keys.ts';
import { tileWriter, type TileWriter } from '../../file/tiles.ts';

const summary = (type: string, groups: string): string =>
  `SELECT project, run_no, run_seq / ${blockEvents} AS block, ${type}, count(*), min(at_ms), max(at_ms)
   FROM run_event WHERE project = ? AND run_no = ? AND run_seq >= ? AND run_seq < ? GROUP BY ${groups}`;

const none: readonly string[] = [];

/** How bodies are sealed. */
export interface Sealing {
  readonly seal: BodySeal;
  readonly keys: Pick<SubjectKeys, 'of'>;
}

export class CommitRows {
  readonly #leaves: RowBuffer;
  readonly #bodies: RowBuffer;
  readonly #runEvents: RowBuffer;
  readonly #meters: RowBuffer;
  readonly #decided: RowBuffer;
  readonly #subjects: RowBuffer;
  readonly #periods: RowBuffer;
  readonly #saveTiles: TileWriter;
  readonly #moveHead: Statement;
  readonly #saveType: Statement;
  readonly #saveRun: Statement;
  readonly #raiseRunType: Statement;
  readonly #raiseType: Statement;
  readonly #raiseCount: Statement;
  readonly #widenSpan: Statement;
  readonly #fillBlocks: Statement;

  readonly #seal: BodySeal;
  readonly #keys: Pick<SubjectKeys, 'of'>;

  constructor(prepare: Prepare, { seal, keys }: Sealing) {
    this.#seal = seal;
    this.#keys = keys;
    this.#leaves = new RowBuffer(prepare, 'leaf', ['position', 'record']);
    this.#bodies = new RowBuffer(prepare, 'body', ['position', 'disclosures', 'keys']);
    const ofEvent = ['project', 'run_no', 'run_seq', 'idx', 'type_no', 'at_ms'];
    this.#runEvents = new RowBuffer(prepare, 'run_event', ofEvent);
    const ofMeter = ['position', 'first_index', 'leaf_count', 'nonce', 'record'];
    this.#meters = new RowBuffer(prepare, 'meter', ofMeter);
    this.#decided = new RowBuffer(prepare, 'decided', ['project', 'type', 'idx', 'run_id', 'id']);
    this.#subjects = new RowBuffer(prepare, 'subject', ['project', 'subject', 'idx']);
    this.#periods = new RowBuffer(prepare, 'period', ['project', 'month', 'base']);
    this.#saveTiles = tileWriter(prepare);
    this.#moveHead = prepare(
      'move head',
      'UPDATE head SET size = ?, root = ?, last_ms = ? WHERE project = ? AND tree = ? AND size = ?',
    );
    this.#saveType = prepare(
      'save event type',
      'INSERT INTO event_type (type_no, project, name) VALUES (?, ?, ?)',
    );
    this.#saveRun = prepare(
      'save run',
      `INSERT INTO run (run_no, project, run_id, events, first_index, last_index, first_ms, last_ms,
         last_server_ms, ai_system_id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
       ON CONFLICT (run_no) DO UPDATE SET events = excluded.events, last_index = excluded.last_index,
         first_ms = excluded.first_ms, last_ms = excluded.last_ms, last_server_ms = excluded.last_server_ms,
         ai_system_id = excluded.ai_system_id`,
    );
    this.#raiseRunType = prepare(
      'raise run type',
      `INSERT INTO run_type (project, run_no, type_no, events) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET events = events + excluded.events`,
    );
    this.#raiseType = prepare(
      'raise type total',
      `INSERT INTO type_total (project, type_no, events) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET events = events + excluded.events`,
    );
    this.#raiseCount = prepare(
      'raise event count',
      `INSERT INTO event_count (project, type_no, width, bucket, events) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET events = events + excluded.events`,
    );
    this.#widenSpan = prepare(
      'widen run span',
      `INSERT INTO run_span (project, block, first_ms, last_ms) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET first_ms = min(first_ms, excluded.first_ms), last_ms = max(last_ms, excluded.last_ms)
         WHERE excluded.first_ms < first_ms OR excluded.last_ms > last_ms`,
    );
    this.#fillBlocks = prepare(
      'fill run blocks',
      `INSERT INTO run_block (project, run_no, block, type_no, events, first_ms, last_ms)
       ${summary('type_no', 'block, type_no')} UNION ALL ${summary(`${allTypes}`, 'block')}`,
    );
  }

  addEntry(project: number, { draft, index, record, event }: Entry): void {
    const position = positionOf(project, index);
    this.#leaves.add([position, record]);
    const subjects = draft.subjects ?? none;
    if (draft.disclosures !== null) {
      const keys = this.#keys.of(project, subjects);
      this.#bodies.add([position, this.#seal.seal(draft.disclosures, keys), idsText(keys) || null]);
    }
    for (const subject of subjects) this.#subjects.add([project, subject, index]);
    if (draft.kind === 'other') {
      const type = typeNumber(draft.type);
      if (type !== null) this.#decided.add([project, type, index, draft.runId, draft.id]);
      return;
    }
    if (event === null) return;
    this.#runEvents.add([project, event.run.no, event.runSeq, index, event.typeNo, draft.timestampMs]);
  }

  addMeter(project: number, { index, firstIndex, count, nonce, record }: MeterRow): void {
    this.#meters.add([positionOf(project, index), firstIndex, count, nonce, record]);
  }

  addPeriod(project: number, period: Period): void {
    this.#periods.add([project, period.month, baseText(period)]);
  }

  /** Writes all rows of the commit; the caller runs COMMIT. */
  flush(projects: Iterable<Pending>): void {
    this.#leaves.flush();
    this.#bodies.flush();
    this.#runEvents.flush();
    this.#meters.flush();
    this.#decided.flush();
    this.#subjects.flush();
    this.#periods.flush();
    for (const pending of projects) {
      this.#flushRuns(pending);
      this.#flushTimes(pending);
      this.#flushBlocks(pending);
      this.#flushTree('audit', pending, pending.hashes);
      this.#flushTree('metering', pending, pending.meterHashes);
    }
  }

  /** Drops all rows after the transaction failed. */
  clear(): void {
    const leaves = this.#leaves;
    const bodies = this.#bodies;
    const runEvents = this.#runEvents;
    const meters = this.#meters;
    const decided = this.#decided;
    const subjects = this.#subjects;
    const periods = this.#periods;
    for (const rows of [leaves, bodies, runEvents, meters, decided, subjects, periods]) rows.clear();
  }

  #flushRuns({ ledger, runs, types, typeEvents, runTypeEvents }: Pending): void {
    for (const [name, no] of types) this.#saveType.run(no, ledger.no, name);
    for (const run of runs.values()) this.#flushRun(ledger.no, run);
    for (const [typeNo, events] of typeEvents) this.#raiseType.run(ledger.no, typeNo, events);
    for (const [runNo, byType] of runTypeEvents) {
      for (const [typeNo, events] of byType) this.#raiseRunType.run(ledger.no, runNo, typeNo, events);
    }
  }

  #flushTimes(pending: Pending): void {
    const { no } = pending.ledger;
    for (const row of addedCounts(pending)) this.#raiseCount.run(no, ...row);
    for (const row of changedSpans(pending)) this.#widenSpan.run(no, ...row);
  }

  /** Runs after the rows of the events are written. */
  #flushBlocks(pending: Pending): void {
    for (const { runNo, from, to } of filledBy(pending)) {
      const range = [pending.ledger.no, runNo, from, to];
      this.#fillBlocks.run(...range, ...range);
    }
  }

  #flushRun(project: number, run: RunState): void {
    const { no, runId, events, firstIndex, lastIndex, firstMs, lastMs, lastServerMs, aiSystemId } = run;
    this.#saveRun.run(
      no,
      project,
      runId,
      events,
      firstIndex,
      lastIndex,
      firstMs,
      lastMs,
      lastServerMs,
      aiSystemId,
    );
  }

  /** Extends a tree and moves its head by compare-and-swap. */
  #flushTree(tree: TreeName, { ledger, lastMs }: Pending, hashes: readonly Buffer[]): void {
    if (hashes.length === 0) return;
    const edge = tree === 'audit' ? ledger.audit : ledger.metering;
    const storedSize = edge.size;
    edge.append(hashes);
    this.#saveTiles(ledger.no, tree, { edge, storedSize });
    const moved = this.#moveHead.run(edge.size, edge.root(), lastMs, ledger.no, treeNumber(tree), storedSize);
    if (moved.changes !== 1) {
      throw new GovError(
        'STORAGE_FAULT',
        `expected the ${tree} head at size ${storedSize}, got another size: another process writes to this database`,
      );
    }
  }
}
