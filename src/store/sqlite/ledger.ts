/** Reads what the writer knows of a project (`../ledger.ts`) from the tables. */
import { GovError } from '../../contract/problems.ts';
import { zeroTotals, type Totals } from '../../core/metering.ts';
import { TileEdge } from '../../core/tile.ts';
import type { Ledger, RunState } from '../ledger.ts';
import { baseOf, type Period } from '../quota.ts';
import { treeNumber } from '../trees.ts';
import type { Connection, Value } from './connection.ts';
import { newestReader } from './newest.ts';
import { positionOf } from './position.ts';
import type { Prepare } from './statement.ts';
import { tileReader } from './tiles.ts';

interface RunRow {
  run_no: number;
  events: number;
  first_index: number;
  last_index: number;
  first_ms: number;
  last_ms: number;
  last_server_ms: number;
  ai_system_id: string | null;
}

export type RunReader = (project: number, runId: string) => RunState | null;

export function runReader(prepare: Prepare): RunReader {
  const select = prepare<RunRow>(
    'find run',
    `SELECT run_no, events, first_index, last_index, first_ms, last_ms, last_server_ms, ai_system_id
     FROM run WHERE project = ? AND run_id = ?`,
  );
  return (project, runId) => {
    const row = select.get(project, runId);
    if (row === undefined) return null;
    return {
      no: row.run_no,
      runId,
      events: row.events,
      firstIndex: row.first_index,
      lastIndex: row.last_index,
      firstMs: row.first_ms,
      lastMs: row.last_ms,
      lastServerMs: row.last_server_ms,
      aiSystemId: row.ai_system_id,
    };
  };
}

interface HeadRow {
  size: number;
  root: Buffer;
  last_ms: number;
}

/** Reads a project's state. NOT_FOUND without such a project; STORAGE_FAULT where head and tiles disagree. */
export function openLedger(db: Connection, projectId: string): Ledger {
  const project = db
    .prepare<Value[], { project: number }>('SELECT project FROM project WHERE project_id = ?')
    .get(projectId);
  if (project === undefined) throw new GovError('NOT_FOUND', `no project ${projectId} in this store`);
  const no = project.project;
  const audit = openTree(db, no, 'audit');
  const metering = openTree(db, no, 'metering');
  const types = db
    .prepare<Value[], { name: string; type_no: number }>(
      'SELECT name, type_no FROM event_type WHERE project = ?',
    )
    .all(no);
  const newest = newestReader(db);
  return {
    no,
    audit: audit.edge,
    metering: metering.edge,
    lastMs: Math.max(audit.lastMs, metering.lastMs),
    totals: readTotals(db, no, metering.edge.size),
    period: newestPeriod(db, no),
    policyIndex: newest(no, 'gov.policy/1'),
    configIndex: newest(no, 'gov.config/1'),
    runs: new Map(),
    types: new Map(types.map(({ name, type_no }) => [name, type_no])),
  };
}

function newestPeriod(db: Connection, project: number): Period | null {
  const row = db
    .prepare<Value[], { month: string; base: string }>(
      'SELECT month, base FROM period WHERE project = ? ORDER BY month DESC LIMIT 1',
    )
    .get(project);
  return row === undefined ? null : { month: row.month, base: baseOf(row.base) };
}

function openTree(
  db: Connection,
  project: number,
  tree: 'audit' | 'metering',
): { edge: TileEdge; lastMs: number } {
  const head = db
    .prepare<Value[], HeadRow>('SELECT size, root, last_ms FROM head WHERE project = ? AND tree = ?')
    .get(project, treeNumber(tree));
  if (head === undefined)
    throw new GovError('STORAGE_FAULT', `project ${project} has no ${tree} head; run fsck`);
  const read = tileReader(db);
  const edge = TileEdge.from(head.size, (level, index) => read(project, tree, { level, index }));
  if (!edge.root().equals(head.root)) {
    throw new GovError(
      'STORAGE_FAULT',
      `the ${tree} tiles do not lead to the head at size ${head.size}; run fsck`,
    );
  }
  return { edge, lastMs: head.last_ms };
}

/** Totals after the newest of `size` metering leaves. */
export function readTotals(db: Connection, project: number, size: number): Totals {
  if (size === 0) return zeroTotals;
  const row = db
    .prepare<Value[], { record: string }>('SELECT record FROM meter WHERE position = ?')
    .get(positionOf(project, size - 1));
  if (row === undefined) {
    throw new GovError('STORAGE_FAULT', `metering leaf ${size - 1} is missing; run fsck`);
  }
  return (JSON.parse(row.record) as { totals: Totals }).totals;
}
