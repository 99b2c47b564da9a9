/**
 * Reads the writer's state of a project (`src/store/append/ledger.ts`) from the tables.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { zeroTotals, type Totals } from '../../../core/planes/metering.ts';
import { TileEdge } from '../../../core/merkle/tile.ts';
import type { Ledger, RunState } from '../../append/ledger.ts';
import { baseOf } from '../../append/period.ts';
import type { Period } from '../../append/period.ts';
import type { IndexedLeaf, TreeName } from '../../port/store.ts';
import { treeNumber } from '../../append/trees.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { typeNumbers } from '../../rules/decided.ts';
import { runColumns } from '../../append/run-row.ts';
import { positionOf } from '../../file/position.ts';
import { selected } from '../../rules/columns.ts';
import type { Prepare } from '../../file/statement.ts';
import { tileReader } from '../../file/tiles.ts';

export type RunReader = (project: number, runId: string) => RunState | null;

export function runReader(prepare: Prepare): RunReader {
  const select = prepare<RunState>(
    'find run',
    `SELECT ${selected(runColumns)} FROM run WHERE project = ? AND run_id = ?`,
  );
  return (project, runId) => select.get(project, runId) ?? null;
}

interface HeadRow {
  size: number;
  root: Buffer;
  last_ms: number;
}

interface OpenTree {
  readonly edge: TileEdge;
  readonly lastMs: number;
}

/** Reads a project's state. NOT_FOUND for an unknown project; STORAGE_FAULT if head and tiles disagree. */
export type LedgerReader = (projectId: string) => Ledger;

export function ledgerReader(db: Connection, prepare: Prepare): LedgerReader {
  const project = prepare<{ no: number }>(
    'read project',
    'SELECT project AS no FROM project WHERE project_id = ?',
  );
  const types = prepare<{ name: string; type_no: number }>(
    'read event types',
    'SELECT name, type_no FROM event_type WHERE project = ?',
  );
  const profile = prepare<{ ms: number }>(
    'read revision',
    'SELECT updated_ms AS ms FROM project_profile WHERE project = ?',
  );
  const openTree = treeOpener(db, prepare);
  const totals = totalsReader(db);
  const period = periodReader(prepare);
  const newest = prepare<{ index: number | null }>(
    'find newest leaf',
    'SELECT max(idx) AS "index" FROM decided WHERE project = ? AND type = ?',
  );
  const newestOf = (no: number, type: IndexedLeaf) => newest.get(no, typeNumbers[type])?.index ?? null;
  return (projectId) => {
    const no = project.get(projectId)?.no;
    if (no === undefined) throw new GovError('NOT_FOUND', `no project ${projectId} in this store`);
    const audit = openTree(no, 'audit');
    const metering = openTree(no, 'metering');
    return {
      no,
      audit: audit.edge,
      metering: metering.edge,
      lastMs: Math.max(audit.lastMs, metering.lastMs),
      totals: totals(no, metering.edge.size),
      period: period(no),
      policyIndex: newestOf(no, 'gov.policy/1'),
      configIndex: newestOf(no, 'gov.config/1'),
      revisedMs: profile.get(no)?.ms ?? null,
      runs: new Map(),
      types: new Map(types.all(no).map(({ name, type_no }) => [name, type_no])),
    };
  };
}

function periodReader(prepare: Prepare): (project: number) => Period | null {
  const select = prepare<{ month: string; base: string }>(
    'read period',
    'SELECT month, base FROM period WHERE project = ? ORDER BY month DESC LIMIT 1',
  );
  return (project) => {
    const row = select.get(project);
    return row === undefined ? null : { month: row.month, base: baseOf(row.base) };
  };
}

function treeOpener(db: Connection, prepare: Prepare): (project: number, tree: TreeName) => OpenTree {
  const heads = prepare<HeadRow>(
    'read head',
    'SELECT size, root, last_ms FROM head WHERE project = ? AND tree = ?',
  );
  const read = tileReader(db);
  return (project, tree) => {
    const head = heads.get(project, treeNumber(tree));
    if (head === undefined)
      throw new GovError(
        'STORAGE_FAULT',
        `expected a ${tree} head of project ${project}, got no row; run fsck`,
      );
    const edge = TileEdge.from(head.size, (level, index) => read(project, tree, { level, index }));
    if (!edge.root().equals(head.root)) {
      throw new GovError(
        'STORAGE_FAULT',
        `expected the root of the ${tree} head at size ${head.size}, got another root from the tiles; run fsck`,
      );
    }
    return { edge, lastMs: head.last_ms };
  };
}

/** Returns the totals of the newest of `size` metering leaves. */
export function totalsReader(db: Connection): (project: number, size: number) => Totals {
  const select = db.prepare<Value[], { record: string }>('SELECT record FROM meter WHERE position = ?');
  return (project, size) => {
    if (size === 0) return zeroTotals;
    const row = select.get(positionOf(project, size - 1));
    if (row === undefined) {
      throw new GovError('STORAGE_FAULT', `expected metering leaf ${size - 1}, got no row; run fsck`);
    }
    return (JSON.parse(row.record) as { totals: Totals }).totals;
  };
}
