/**
 * `fsck`: compares logged graphs with their gov.graph/1 leaves, and seals of runs with the leaves that sealed
 * them.
 * If `deep`, it also compares the rows of each graph with the roots in its leaf. One statement per case, all
 * in one transaction, finds rows without a leaf. Erasures and prunings never remove a graph, so a missing one
 * is a problem.
 * Proven by `test/store/fsck/tamper-proved.test.ts`.
 */
import { inflateRawSync } from 'node:zlib';
import { limits } from '../../../contract/limits.ts';
import { hashText } from '../../../core/hash.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../../../core/json/parse.ts';
import { ListRoot } from '../../../core/merkle/list-root.ts';
import type { CheckedProject } from '../check.ts';
import type { Check } from '../check.ts';
import { columnCheck, type Columns } from '../columns.ts';
import { shown, type RecordCheck } from '../record.ts';
import type { Value } from '../../file/connection.ts';
import { positionBits } from '../../file/position.ts';

interface GraphRow extends Columns {
  readonly graph_id: string;
  readonly summary: string;
}

/** Cost, if deep: two hashes for each node and edge, with one part of them in memory at a time. */
export function graphCheck(check: Check, project: CheckedProject): RecordCheck {
  const { db, deep, problem } = check;
  const { no, projectId } = project;
  const compare = columnCheck(check, 'graph_mismatch');
  const compareRows = rowsCheck(check, project);
  const find = db.prepare<Value[], GraphRow>(
    'SELECT graph_id, run_id, events, root_hash, summary FROM graph WHERE project = ? AND leaf_index = ?',
  );
  const findSeal = db.prepare<Value[], Columns>(
    // the store takes a run without the time for one that is not sealed
    'SELECT sealed_hash, sealed_ms IS NOT NULL AS sealed FROM run_graph WHERE project = ? AND run_id = ?',
  );
  const visit = (index: number, record: JsonObject): void => {
    if (record['type'] !== 'gov.graph/1') return;
    const runId = shown(record['runId']);
    const hash = shown(record['rootHash']);
    if (record['sealed'] === true)
      compare(`${projectId}/run_graph/${runId}`, findSeal.get(no, runId), { sealed_hash: hash, sealed: 1 });
    const row = find.get(no, index);
    if (row === undefined) {
      const expected = `the graph of run ${runId} that leaf ${index} logs as ${hash}`;
      const what = { expected, got: 'none: restore it from a backup' };
      return problem(`${projectId}/audit/${index}`, 'graph_mismatch', what);
    }
    const position = `${projectId}/graph/${row.graph_id}`;
    compare(position, { ...row, summary: canonical(row.summary) }, loggedOf(record));
    if (deep) for (const list of ['nodes', 'edges'] as const) compareRows(row.graph_id, list, record[list]);
  };
  const finish = (): void => {
    const graphs = db
      .prepare<Value[], { graph_id: string; leaf_index: number }>(
        `SELECT graph_id, leaf_index FROM graph g WHERE project = ? AND NOT EXISTS (
           SELECT 1 FROM leaf WHERE ${leafOf('g')})`,
      )
      .iterate(no);
    for (const { graph_id: id, leaf_index: index } of graphs) {
      const expected = `a gov.graph/1 leaf at ${index} that logs it`;
      problem(`${projectId}/graph/${id}`, 'graph_mismatch', { expected, got: 'none' });
    }
    const seals = db
      .prepare<Value[], string>(
        `SELECT run_id FROM run_graph r WHERE project = ? AND sealed_ms IS NOT NULL AND NOT EXISTS (
           SELECT 1 FROM graph g JOIN leaf ON ${leafOf('g')}
           WHERE g.project = r.project AND g.run_id = r.run_id AND instr(record, '"sealed":true') > 0)`,
      )
      .pluck()
      .iterate(no);
    for (const runId of seals) {
      const what = { expected: 'a gov.graph/1 leaf that sealed it', got: 'none' };
      problem(`${projectId}/run_graph/${runId}`, 'graph_mismatch', what);
    }
  };
  return { visit, finish };
}

/** SQL: the leaf of a row of `graph`. Quotes within a text of its record are escaped. */
const leafOf = (row: string): string =>
  `leaf.position = (${row}.project << ${positionBits}) + ${row}.leaf_index
   AND instr(leaf.record, '"type":"gov.graph/1"') > 0`;

/** The record may be altered, which is reported elsewhere: its members may have any type. */
function loggedOf({ runId, events, rootHash, nodes, edges, unresolved }: JsonObject): Columns {
  const summary = canonicalize({
    nodes: nodes ?? null,
    edges: edges ?? null,
    unresolved: unresolved ?? null,
  });
  return { run_id: shown(runId), events: Number(events), root_hash: shown(rootHash), summary };
}

function canonical(text: string): string {
  try {
    return canonicalize(readJson(text));
  } catch {
    return text;
  }
}

/** Limit of a row's size in bytes. A row of nodes or edges is far smaller: two ids of 128 characters. */
const rowBytes = 1024;

interface PartRow {
  readonly part: number;
  readonly items: Buffer;
}

/** Checks that the rows of a graph have the root in its leaf. */
function rowsCheck({ db, problem }: Check, { no, projectId }: CheckedProject) {
  const select = db.prepare<Value[], PartRow>(
    'SELECT part, items FROM graph_part WHERE project = ? AND graph_id = ? AND list = ? ORDER BY part',
  );
  return (graphId: string, list: 'nodes' | 'edges', logged: Json | undefined): void => {
    const root = new ListRoot();
    let fault: string | null = null;
    for (const { part, items } of select.iterate(no, graphId, list)) {
      const rows = rowsOf(items);
      if (rows === null) fault ??= `part ${part} that cannot be read`;
      for (const row of rows ?? []) root.add(`\0${row}`);
    }
    const expected = canonicalize(logged ?? null);
    const got = fault ?? canonicalize({ n: root.size, root: hashText(root.root()) });
    if (got !== expected)
      problem(`${projectId}/graph/${graphId}/${list}`, 'graph_mismatch', { expected, got });
  };
}

function rowsOf(items: Buffer): string[] | null {
  try {
    const bytes = inflateRawSync(items, { maxOutputLength: limits.graphPartItems * rowBytes });
    return bytes.toString('utf8').split('\n');
  } catch {
    return null;
  }
}
