/**
 * The state of a project that a process remembers between commits. It is valid while both heads are where
 * this process left them: no process changes that state without moving a head. If a head moved, the state is
 * read again.
 * Source: PostgreSQL 18, chapter 13.3.2 (row-level locks).
 * Proven by `test/store/postgres/processes.long.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { zeroTotals, type Totals } from '../../../core/planes/metering.ts';
import { rootPlan, TileEdge, type TileId } from '../../../core/merkle/tile.ts';
import type { TreeName } from '../../port/store.ts';
import { typeNumbers } from '../../rules/decided.ts';
import type { Ledger } from '../../append/ledger.ts';
import { baseOf } from '../../append/period.ts';
import type { Period } from '../../append/period.ts';
import { treeNumber } from '../../append/trees.ts';
import { arrayOf } from '../connection/arrays.ts';
import type { Transaction } from '../connection/database.ts';
import { positionBits } from '../schema/tables.ts';
import { sql, step } from '../../read/queries.ts';

export interface OpenLedger extends Ledger {
  nextRunNo: number;
  nextTypeNo: number;
}

export interface HeadRow {
  readonly tree: number;
  readonly size: number;
  readonly root: Buffer;
  readonly last_ms: number;
}

/** The lock that lets one commit of a project run at a time, over all processes. */
export const lockHeads = sql<HeadRow>(
  'SELECT tree, size, root, last_ms FROM head WHERE project = $1 ORDER BY tree FOR UPDATE',
);

export interface BothHeads {
  readonly audit: HeadRow;
  readonly metering: HeadRow;
}

export function bothHeads(project: number, rows: readonly HeadRow[]): BothHeads {
  const [audit, metering] = rows;
  if (audit?.tree === 0 && metering?.tree === 1) return { audit, metering };
  throw new GovError(
    'STORAGE_FAULT',
    `expected two heads of project ${project}, got ${rows.length}; run fsck`,
  );
}

/** Whether no other process wrote since, and no other copy of the database answers. */
export const isCurrent = (ledger: Ledger, { audit, metering }: BothHeads): boolean =>
  isAt(ledger.audit, audit) && isAt(ledger.metering, metering);

const isAt = (edge: TileEdge, { size, root }: HeadRow): boolean =>
  edge.size === size && edge.root().equals(root);

const newestTotals = sql<{ record: string }>(
  `SELECT record FROM meter WHERE position = ($1::int8 << ${positionBits}) + $2::int8 - 1`,
);
const types = sql<{ name: string; type_no: number }>(
  'SELECT name, type_no FROM event_type WHERE project = $1',
);
const newestPeriod = sql<{ month: string; base: string }>(
  'SELECT month, base FROM period WHERE project = $1 ORDER BY month DESC LIMIT 1',
);
const revised = sql<{ ms: number }>('SELECT updated_ms AS ms FROM project_profile WHERE project = $1');
const newestLeaf = (type: 'gov.policy/1' | 'gov.config/1') =>
  sql<{ idx: number }>(
    `SELECT idx FROM decided WHERE project = $1 AND type = ${typeNumbers[type]} ORDER BY idx DESC LIMIT 1`,
  );
const newestPolicy = newestLeaf('gov.policy/1');
const newestConfig = newestLeaf('gov.config/1');
const newestRun = sql<{ run_no: number }>(
  'SELECT run_no FROM run WHERE project = $1 ORDER BY run_no DESC LIMIT 1',
);
const tileParts = sql<{ tree: number; level: number; n: number; hashes: Buffer }>(
  `SELECT w.tree, w.level, w.n, t.hashes FROM unnest($2::int4[], $3::int4[], $4::int8[]) AS w(tree, level, n)
   CROSS JOIN LATERAL (SELECT part, hashes FROM tile
     WHERE project = $1 AND tree = w.tree AND level = w.level AND n = w.n OFFSET 0) t
   ORDER BY w.tree, w.level, w.n, t.part`,
);

/** Reads a project's state under the lock on its heads. STORAGE_FAULT if heads and tiles disagree. */
export async function openLedger(
  { run }: Pick<Transaction, 'run'>,
  no: number,
  heads: BothHeads,
): Promise<OpenLedger> {
  const wanted = [...edgeTiles('audit', heads.audit.size), ...edgeTiles('metering', heads.metering.size)];
  const [totals, periods, names, policy, config, profile, runs, parts] = await run([
    step(newestTotals, no, heads.metering.size),
    step(newestPeriod, no),
    step(types, no),
    step(newestPolicy, no),
    step(newestConfig, no),
    step(revised, no),
    step(newestRun, no),
    step(
      tileParts,
      no,
      arrayOf(
        'int4',
        wanted.map(({ tree }) => tree),
      ),
      arrayOf(
        'int4',
        wanted.map(({ level }) => level),
      ),
      arrayOf(
        'int8',
        wanted.map(({ index }) => index),
      ),
    ),
  ]);
  const tiles = new Map<string, Buffer[]>();
  for (const { tree, level, n, hashes } of parts.rows) {
    const key = `${tree}/${level}/${n}`;
    const held = tiles.get(key);
    if (held === undefined) tiles.set(key, [hashes]);
    else held.push(hashes);
  }
  const edge = (tree: TreeName): TileEdge =>
    edgeOf(heads[tree], (level, index) =>
      Buffer.concat(tiles.get(`${treeNumber(tree)}/${level}/${index}`) ?? []),
    );
  return {
    no,
    audit: edge('audit'),
    metering: edge('metering'),
    lastMs: Math.max(heads.audit.last_ms, heads.metering.last_ms),
    totals: totalsOf(heads.metering.size, totals.rows[0]?.record),
    period: periodOf(periods.rows[0]),
    policyIndex: policy.rows[0]?.idx ?? null,
    configIndex: config.rows[0]?.idx ?? null,
    revisedMs: profile.rows[0]?.ms ?? null,
    runs: new Map(),
    types: new Map(names.rows.map(({ name, type_no }) => [name, type_no])),
    nextRunNo: (runs.rows[0]?.run_no ?? 0) + 1,
    nextTypeNo: Math.max(0, ...names.rows.map(({ type_no }) => type_no)) + 1,
  };
}

/** The state of a new project. */
export const emptyLedger = (no: number): OpenLedger => ({
  no,
  audit: TileEdge.from(0, () => Buffer.alloc(0)),
  metering: TileEdge.from(0, () => Buffer.alloc(0)),
  lastMs: 0,
  totals: zeroTotals,
  period: null,
  policyIndex: null,
  configIndex: null,
  revisedMs: null,
  runs: new Map(),
  types: new Map(),
  nextRunNo: 1,
  nextTypeNo: 1,
});

const periodOf = (row: { month: string; base: string } | undefined): Period | null =>
  row === undefined ? null : { month: row.month, base: baseOf(row.base) };

/** Returns the tiles of the right edge, which also lead to the root. */
function edgeTiles(tree: TreeName, size: number): (TileId & { tree: number })[] {
  const open: TileId[] = [];
  for (let level = 0; 256 ** level <= size; level++) {
    const width = Math.floor(size / 256 ** level) % 256;
    if (width > 0) open.push({ level, index: Math.floor(size / 256 ** (level + 1)), width });
  }
  const ids = new Map([...open, ...rootPlan(size)].map((tile) => [`${tile.level}/${tile.index}`, tile]));
  return [...ids.values()].map((tile) => ({ ...tile, tree: treeNumber(tree) }));
}

function edgeOf({ tree, size, root }: HeadRow, read: (level: number, index: number) => Buffer): TileEdge {
  const edge = TileEdge.from(size, read);
  if (edge.root().equals(root)) return edge;
  const name = tree === 0 ? 'audit' : 'metering';
  throw new GovError(
    'STORAGE_FAULT',
    `expected the root of the ${name} head at size ${size}, got another root from the tiles; run fsck`,
  );
}

export function totalsOf(size: number, record: string | undefined): Totals {
  if (size === 0) return zeroTotals;
  if (record !== undefined) return (JSON.parse(record) as { totals: Totals }).totals;
  throw new GovError('STORAGE_FAULT', `expected metering leaf ${size - 1}, got no row; run fsck`);
}
