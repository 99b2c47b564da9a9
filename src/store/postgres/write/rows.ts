/**
 * The rows of one commit as columns: one INSERT of arrays per table, for any number of rows. Nothing is
 * parsed or planned per row. Only the summaries of a run's full blocks read rows of this commit. A crash
 * before COMMIT leaves none of these rows.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import { allTypes, blockEvents, filledBy } from '../../append/blocks.ts';
import { typeNumber } from '../../rules/decided.ts';
import type { BodySeal } from '../../erasure/body-seal.ts';
import type { Entry, Pending } from '../../append/pending.ts';
import type { MeterRow } from '../../append/pending.ts';
import { baseText } from '../../append/period.ts';
import type { Period } from '../../append/period.ts';
import { changedParts } from '../../append/tile-parts.ts';
import { treeNumber } from '../../append/trees.ts';
import type { TileEdge } from '../../../core/merkle/tile.ts';
import type { TreeName } from '../../port/store.ts';
import { idsText } from '../../erasure/subject-keys.ts';
import { sealingKeys } from '../effects/subject-keys.ts';
import type { SubjectFacts } from './known.ts';
import { sql, step, type Step } from '../../read/queries.ts';
import { Table, Rows } from './table-rows.ts';

const ofRun = {
  run_no: 'int8',
  run_id: 'text',
  events: 'int8',
  first_index: 'int8',
  last_index: 'int8',
} as const;
const times = { first_ms: 'int8', last_ms: 'int8', last_server_ms: 'int8', ai_system_id: 'text' } as const;

const tables = {
  leaf: new Table('leaf', { position: 'position', record: 'text' }),
  body: new Table('body', { position: 'position', disclosures: 'text', keys: 'text' }),
  subjectKey: new Table('subject_key', { project: 'int4', key_id: 'text', subject: 'text', secret: 'bytea' }),
  runEvent: new Table('run_event', {
    project: 'int4',
    run_no: 'int8',
    run_seq: 'int8',
    idx: 'int8',
    type_no: 'int4',
    at_ms: 'int8',
  }),
  meter: new Table('meter', {
    position: 'position',
    first_index: 'int8',
    leaf_count: 'int4',
    nonce: 'bytea',
    record: 'text',
  }),
  period: new Table('period', { project: 'int4', month: 'text', base: 'text' }),
  decided: new Table('decided', { project: 'int4', type: 'int4', idx: 'int8', run_id: 'text', id: 'text' }),
  subject: new Table('subject', { project: 'int4', subject: 'text', idx: 'int8' }),
  client: new Table('client_event', {
    project: 'int4',
    client_event_id: 'text',
    idx: 'int8',
    fingerprint: 'text',
  }),
  kept: new Table('idempotency', {
    project: 'int4',
    key: 'text',
    fingerprint: 'text',
    at_ms: 'int8',
    status: 'int4',
    headers: 'text',
    body: 'text',
  }),
  type: new Table('event_type', { project: 'int4', type_no: 'int4', name: 'text' }),
  run: new Table(
    'run',
    { project: 'int4', ...ofRun, ...times },
    `ON CONFLICT (project, run_no) DO UPDATE SET events = excluded.events, last_index = excluded.last_index,
       first_ms = excluded.first_ms, last_ms = excluded.last_ms, last_server_ms = excluded.last_server_ms,
       ai_system_id = excluded.ai_system_id`,
  ),
  runType: new Table(
    'run_type',
    { project: 'int4', run_no: 'int8', type_no: 'int4', events: 'int8' },
    'ON CONFLICT (project, run_no, type_no) DO UPDATE SET events = run_type.events + excluded.events',
  ),
  typeTotal: new Table(
    'type_total',
    { project: 'int4', type_no: 'int4', events: 'int8' },
    'ON CONFLICT (project, type_no) DO UPDATE SET events = type_total.events + excluded.events',
  ),
  tile: new Table(
    'tile',
    { project: 'int4', tree: 'int4', level: 'int4', n: 'int8', part: 'int4', hashes: 'bytea' },
    'ON CONFLICT (project, tree, level, n, part) DO UPDATE SET hashes = excluded.hashes',
  ),
};

const moveHead = sql(
  'SELECT move_head($1::integer, $2::smallint, $3::bigint, $4::bigint, $5::bytea, $6::bigint)',
);

const markGrown = sql('INSERT INTO grown (project) VALUES ($1) ON CONFLICT DO NOTHING');

const none: readonly string[] = [];

export class CommitRows {
  readonly #leaves = new Rows(tables.leaf);
  readonly #bodies = new Rows(tables.body);
  readonly #runEvents = new Rows(tables.runEvent);
  readonly #meters = new Rows(tables.meter);
  readonly #periods = new Rows(tables.period);
  readonly #decided = new Rows(tables.decided);
  readonly #subjects = new Rows(tables.subject);
  readonly clients = new Rows(tables.client);
  readonly kept = new Rows(tables.kept);
  readonly #subjectKeys = new Rows(tables.subjectKey);
  readonly #seal: BodySeal;
  readonly #keysOf: ReturnType<typeof sealingKeys>;

  constructor(seal: BodySeal, facts: SubjectFacts) {
    this.#seal = seal;
    this.#keysOf = sealingKeys(facts, this.#subjectKeys);
  }

  addEntry(project: number, { draft, index, record, event }: Entry): void {
    const position = { project, index };
    this.#leaves.add(position, record);
    const subjects = draft.subjects ?? none;
    if (draft.disclosures !== null) {
      const keys = this.#seal.seals ? this.#keysOf(project, subjects) : [];
      this.#bodies.add(position, this.#seal.seal(draft.disclosures, keys), idsText(keys) || null);
    }
    for (const subject of subjects) this.#subjects.add(project, subject, index);
    if (draft.kind === 'other') {
      const type = typeNumber(draft.type);
      if (type !== null) this.#decided.add(project, type, index, draft.runId, draft.id);
    } else if (event !== null) {
      this.#runEvents.add(project, event.run.no, event.runSeq, index, event.typeNo, draft.timestampMs);
    }
  }

  addMeter(project: number, { index, firstIndex, count, nonce, record }: MeterRow): void {
    this.#meters.add({ project, index }, firstIndex, count, nonce, record);
  }

  addPeriod(project: number, period: Period): void {
    this.#periods.add(project, period.month, baseText(period));
  }

  /**
   * Returns all steps of the commit except its effects and COMMIT; the heads come last, by compare-and-swap.
   */
  steps(added: Iterable<Pending>): Step[] {
    const { clients, kept } = this;
    const leaves = this.#leaves;
    const bodies = this.#bodies;
    const runEvents = this.#runEvents;
    const meters = this.#meters;
    const periods = this.#periods;
    const decided = this.#decided;
    const subjects = this.#subjects;
    const subjectKeys = this.#subjectKeys;
    const rows = [leaves, bodies, subjectKeys, runEvents, meters, periods, decided, subjects, clients, kept];
    const steps = rows.flatMap((each) => each.steps());
    for (const pending of added) {
      if (pending.meterHashes.length > 0) steps.push(step(markGrown, pending.ledger.no));
      steps.push(...runSteps(pending), ...blockSteps(pending));
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
const blockSteps = (pending: Pending): Step[] =>
  filledBy(pending).map(({ runNo, from, to }) => step(fillBlocks, pending.ledger.no, runNo, from, to));

function runSteps({ ledger, runs, types, typeEvents, runTypeEvents }: Pending): Step[] {
  const rows = {
    types: new Rows(tables.type),
    runs: new Rows(tables.run),
    totals: new Rows(tables.typeTotal),
    runTypes: new Rows(tables.runType),
  };
  for (const [name, no] of types) rows.types.add(ledger.no, no, name);
  for (const run of runs.values()) {
    const { no, runId, events, firstIndex, lastIndex, firstMs, lastMs, lastServerMs, aiSystemId } = run;
    const counted = [ledger.no, no, runId, events, firstIndex, lastIndex];
    rows.runs.add(...counted, firstMs, lastMs, lastServerMs, aiSystemId);
  }
  for (const [typeNo, events] of typeEvents) rows.totals.add(ledger.no, typeNo, events);
  for (const [runNo, byType] of runTypeEvents) {
    for (const [typeNo, events] of byType) rows.runTypes.add(ledger.no, runNo, typeNo, events);
  }
  return Object.values(rows).flatMap((each) => each.steps());
}

/** Extends a tree and moves its head. */
function treeSteps(tree: TreeName, { ledger, lastMs }: Pending, hashes: readonly Buffer[]): Step[] {
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

function tileRows(project: number, tree: number, change: { edge: TileEdge; storedSize: number }): Rows {
  const rows = new Rows(tables.tile);
  for (const { level, index, part, hashes } of changedParts(change.edge, change.storedSize)) {
    rows.add(project, tree, level, index, part, hashes);
  }
  return rows;
}
