/**
 * The rows of one commit as columns: one INSERT of arrays per table, for any number of rows. Nothing is
 * parsed or planned per row. Only the summaries of a run's full blocks read rows of this commit. A crash
 * before COMMIT leaves none of these rows.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import { allTypes, blockEvents, filledBy } from '../../append/blocks.ts';
import type { BodySeal } from '../../erasure/body-seal.ts';
import type { PendingLeaf, MeterRow, PendingCommit } from '../../append/pending.ts';
import type { Period } from '../../append/period.ts';
import { changedParts } from '../../append/tile-parts.ts';
import { treeNumber } from '../../append/trees.ts';
import type { TileEdge } from '../../../core/merkle/tile.ts';
import type { TreeName } from '../../port/store.ts';
import { sealingKeys } from '../effects/subject-keys.ts';
import type { NewSubjectKey, SubjectFacts } from './known.ts';
import { sql, step, type Step } from '../../read/queries.ts';
import { addEntry, addMeter, addPeriod, addRuns, type BodySealer } from '../../write/commit-rows.ts';
import { clientTable, commitTables, keptTable, table } from '../../write/commit-tables.ts';
import { Table, Rows } from './table-rows.ts';

const project = ['project', 'int4'] as const;
const inserts = {
  leaf: new Table(commitTables.leaf),
  body: new Table(commitTables.body),
  runEvent: new Table(commitTables.runEvent),
  meter: new Table(commitTables.meter),
  period: new Table(commitTables.period),
  decided: new Table(commitTables.decided),
  subject: new Table(commitTables.subject),
  type: new Table(commitTables.type),
  run: new Table(commitTables.run),
  typeTotal: new Table(commitTables.typeTotal),
  runType: new Table(commitTables.runType),
};
const inserted = {
  client: new Table(clientTable),
  kept: new Table(keptTable),
  subjectKey: new Table(
    table<NewSubjectKey>('subject_key', {
      project,
      keyId: ['key_id', 'text'],
      subject: ['subject', 'text'],
      secret: ['secret', 'bytea'],
    }),
  ),
  tile: new Table(
    table<TileRow>(
      'tile',
      {
        project,
        tree: ['tree', 'int4'],
        level: ['level', 'int4'],
        index: ['n', 'int8'],
        part: ['part', 'int4'],
        hashes: ['hashes', 'bytea'],
      },
      { key: 'project, tree, level, n, part', set: 'hashes = excluded.hashes' },
    ),
  ),
};

interface TileRow {
  readonly project: number;
  readonly tree: number;
  readonly level: number;
  readonly index: number;
  readonly part: number;
  readonly hashes: Uint8Array;
}

const newRows = () => ({
  leaf: new Rows(inserts.leaf),
  body: new Rows(inserts.body),
  runEvent: new Rows(inserts.runEvent),
  meter: new Rows(inserts.meter),
  period: new Rows(inserts.period),
  decided: new Rows(inserts.decided),
  subject: new Rows(inserts.subject),
  type: new Rows(inserts.type),
  run: new Rows(inserts.run),
  typeTotal: new Rows(inserts.typeTotal),
  runType: new Rows(inserts.runType),
});

const moveHead = sql(
  'SELECT move_head($1::integer, $2::smallint, $3::bigint, $4::bigint, $5::bytea, $6::bigint)',
);

const markGrown = sql('INSERT INTO grown (project) VALUES ($1) ON CONFLICT DO NOTHING');

export class CommitRows {
  readonly #rows = newRows();
  readonly clients = new Rows(inserted.client);
  readonly kept = new Rows(inserted.kept);
  readonly #subjectKeys = new Rows(inserted.subjectKey);
  readonly #sealing: BodySealer;

  constructor(seal: BodySeal, facts: SubjectFacts) {
    const keysOf = sealingKeys(facts, this.#subjectKeys);
    this.#sealing = { seal, keysOf: (no, subjects) => (seal.seals ? keysOf(no, subjects) : []) };
  }

  addEntry(no: number, entry: PendingLeaf): void {
    addEntry(this.#rows, no, entry, this.#sealing);
  }

  addMeter(no: number, row: MeterRow): void {
    addMeter(this.#rows, no, row);
  }

  addPeriod(no: number, period: Period): void {
    addPeriod(this.#rows, no, period);
  }

  /**
   * Returns all steps of the commit except its effects and COMMIT; the heads come last, by compare-and-swap.
   */
  steps(added: Iterable<PendingCommit>): Step[] {
    const all = [...added];
    for (const pending of all) addRuns(this.#rows, pending);
    const rows = [...Object.values(this.#rows), this.#subjectKeys, this.clients, this.kept];
    const steps = rows.flatMap((each) => each.steps());
    for (const pending of all) {
      if (pending.meterHashes.length > 0) steps.push(step(markGrown, pending.ledger.no));
      steps.push(...blockSteps(pending));
      steps.push(...treeSteps('audit', pending, pending.hashes));
      steps.push(...treeSteps('metering', pending, pending.meterHashes));
    }
    return steps;
  }
}

const fillBlocks = sql(
  `INSERT INTO run_block (project, run_no, block, type_no, events, first_ms, last_ms)
   SELECT $1::int4, $2::int8, run_seq / ${blockEvents}, coalesce(type_no, ${allTypes}), count(*), min(at_ms), max(at_ms)
   FROM run_event WHERE project = $1 AND run_no = $2 AND run_seq >= $3::int8 AND run_seq < $4::int8
   GROUP BY GROUPING SETS ((run_seq / ${blockEvents}, type_no), (run_seq / ${blockEvents}))`,
);

/** Run after the rows of the events. */
const blockSteps = (pending: PendingCommit): Step[] =>
  filledBy(pending).map(({ runNo, from, to }) => step(fillBlocks, pending.ledger.no, runNo, from, to));

/** Extends a tree and moves its head. */
function treeSteps(tree: TreeName, { ledger, lastMs }: PendingCommit, hashes: readonly Buffer[]): Step[] {
  if (hashes.length === 0) return [];
  const edge = tree === 'audit' ? ledger.audit : ledger.metering;
  const storedSize = edge.size;
  edge.append(hashes);
  const no = treeNumber(tree);
  return [
    ...tileRows(ledger.no, no, { edge, storedSize }).steps(),
    step(moveHead, ledger.no, no, storedSize, edge.size, edge.root(), lastMs),
  ];
}

function tileRows(no: number, tree: number, change: { edge: TileEdge; storedSize: number }): Rows<TileRow> {
  const rows = new Rows(inserted.tile);
  for (const part of changedParts(change.edge, change.storedSize)) rows.add({ project: no, tree, ...part });
  return rows;
}
