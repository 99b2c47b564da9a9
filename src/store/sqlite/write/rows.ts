/**
 * The rows of one commit: collected while the sequencer plans requests, written together before COMMIT. Only
 * the summaries of a run's full blocks read rows that this commit wrote. A crash before COMMIT leaves none of
 * these rows; a crash after it leaves all.
 * Proven by `test/store/sqlite/suite.alone.test.ts` and `test/store/sqlite/crash.long.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { allTypes, blockEvents, filledBy } from '../../append/blocks.ts';
import { addedCounts, changedSpans } from '../../append/time-counts.ts';
import type { PendingLeaf, MeterRow, PendingCommit } from '../../append/pending.ts';
import type { TreeName } from '../../port/store.ts';
import type { Period } from '../../append/period.ts';
import { treeNumber } from '../../append/trees.ts';
import type { Prepare, Statement } from '../../file/statement.ts';
import { tileWriter, type TileWriter } from '../../file/tiles.ts';
import { addEntry, addMeter, addPeriod, addRuns, type BodySealer } from '../../write/commit-rows.ts';
import { commitTables } from '../../write/commit-tables.ts';
import { RowBuffer } from './row-buffer.ts';

const summary = (type: string, groups: string): string =>
  `SELECT project, run_no, run_seq / ${blockEvents} AS block, ${type}, count(*), min(at_ms), max(at_ms)
   FROM run_event WHERE project = ? AND run_no = ? AND run_seq >= ? AND run_seq < ? GROUP BY ${groups}`;

const buffersOf = (prepare: Prepare) => ({
  leaf: new RowBuffer(prepare, commitTables.leaf),
  body: new RowBuffer(prepare, commitTables.body),
  runEvent: new RowBuffer(prepare, commitTables.runEvent),
  meter: new RowBuffer(prepare, commitTables.meter),
  decided: new RowBuffer(prepare, commitTables.decided),
  subject: new RowBuffer(prepare, commitTables.subject),
  period: new RowBuffer(prepare, commitTables.period),
  type: new RowBuffer(prepare, commitTables.type),
  run: new RowBuffer(prepare, commitTables.run),
  typeTotal: new RowBuffer(prepare, commitTables.typeTotal),
  runType: new RowBuffer(prepare, commitTables.runType),
});

export class CommitRows {
  readonly #buffers: ReturnType<typeof buffersOf>;
  readonly #saveTiles: TileWriter;
  readonly #moveHead: Statement;
  readonly #raiseCount: Statement;
  readonly #widenSpan: Statement;
  readonly #fillBlocks: Statement;
  readonly #sealing: BodySealer;

  constructor(prepare: Prepare, sealing: BodySealer) {
    this.#sealing = sealing;
    this.#buffers = buffersOf(prepare);
    this.#saveTiles = tileWriter(prepare);
    this.#moveHead = prepare(
      'move head',
      'UPDATE head SET size = ?, root = ?, last_ms = ? WHERE project = ? AND tree = ? AND size = ?',
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

  addEntry(project: number, entry: PendingLeaf): void {
    addEntry(this.#buffers, project, entry, this.#sealing);
  }

  addMeter(project: number, row: MeterRow): void {
    addMeter(this.#buffers, project, row);
  }

  addPeriod(project: number, period: Period): void {
    addPeriod(this.#buffers, project, period);
  }

  /** Writes all rows of the commit; the caller runs COMMIT. */
  flush(projects: Iterable<PendingCommit>): void {
    const all = [...projects];
    for (const pending of all) addRuns(this.#buffers, pending);
    for (const rows of Object.values(this.#buffers)) rows.flush();
    for (const pending of all) {
      this.#flushTimes(pending);
      this.#flushBlocks(pending);
      this.#flushTree('audit', pending, pending.hashes);
      this.#flushTree('metering', pending, pending.meterHashes);
    }
  }

  /** Drops all rows after the transaction failed. */
  clear(): void {
    for (const rows of Object.values(this.#buffers)) rows.clear();
  }

  #flushTimes(pending: PendingCommit): void {
    const { no } = pending.ledger;
    for (const row of addedCounts(pending)) this.#raiseCount.run(no, ...row);
    for (const row of changedSpans(pending)) this.#widenSpan.run(no, ...row);
  }

  /** Runs after the rows of the events are written. */
  #flushBlocks(pending: PendingCommit): void {
    for (const { runNo, from, to } of filledBy(pending)) {
      const range = [pending.ledger.no, runNo, from, to];
      this.#fillBlocks.run(...range, ...range);
    }
  }

  /** Extends a tree and moves its head by compare-and-swap. */
  #flushTree(tree: TreeName, { ledger, lastMs }: PendingCommit, hashes: readonly Buffer[]): void {
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
