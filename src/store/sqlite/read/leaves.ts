/**
 * Reads of projects, trees and leaves, each checked before it is returned. Source: RFC 6962 §2.1. A record is
 * returned only if its hash equals the one in the tiles. A disclosure is returned only if the record commits
 * to it, alone or with all others as one text (`committedOf`). Changes below SQL therefore never pass.
 * Proven by `test/store/sqlite/suite.alone.test.ts` and `test/store/fsck/tamper.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { leafHash } from '../../../core/merkle/tree.ts';
import { altered } from '../../append/altered.ts';
import type { StoreReader } from '../../port/store.ts';
import type { TreeHead } from '../../port/store.ts';
import type { Leaf } from '../../port/store.ts';
import type { Bodies } from '../../port/store.ts';
import type { TreeName } from '../../port/store.ts';
import { projectOf, type ProjectRow } from '../../port/project.ts';
import { bodyReader } from '../../file/body-seal.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { totalsReader } from '../write/ledger.ts';
import { committedOf, leafOf, noBody } from '../../append/leaf.ts';
import { pruned } from '../../erasure/pruned.ts';
import { leavesPerProject, positionOf } from '../../file/position.ts';
import { floorReader } from '../../file/pruned.ts';
import { leafHashReader, tileReader } from '../../file/tiles.ts';
import { recordTable, treeNumber } from '../../append/trees.ts';

/** A leaf as the tables store it; `record` is null if the row is missing. */
export interface LeafRow {
  idx: number;
  record: string | null;
  disclosures: string | null;
  /** Absent if the caller did not ask for bodies, like `keys`. */
  erased?: string | null;
  keys?: string | null;
}

/** Returns the number of a project; NOT_FOUND for an unknown project. */
export type ProjectNumber = (projectId: string) => number;

/** Numbers cached in memory: about 10 MB. */
const heldNumbers = 100_000;

export function projectNumbers(db: Connection): ProjectNumber {
  const find = db.prepare<Value[], number>('SELECT project FROM project WHERE project_id = ?').pluck();
  const known = new Map<string, number>();
  return (projectId) => {
    const number = known.get(projectId) ?? find.get(projectId);
    if (number === undefined) throw new GovError('NOT_FOUND', `no project ${projectId} in this store`);
    if (known.size >= heldNumbers) known.clear();
    known.set(projectId, number);
    return number;
  };
}

/**
 * Turns rows into leaves. Throws STORAGE_FAULT with the position if a record or a body is not what was
 * logged.
 */
export type CheckLeaves = (
  project: number,
  tree: TreeName,
  rows: readonly LeafRow[],
  bodies?: Bodies,
) => Leaf[];

/** Cost: 2 µs a record, 1 µs more with its bodies; 6 µs for a record with erased values. */
export function leafChecker(db: Connection): CheckLeaves {
  const hashes = leafHashReader(db);
  const floorOf = floorReader(db);
  const read = bodyReader(db);
  return (project, tree, rows, bodies = true) => {
    const stored = hashes(
      project,
      tree,
      rows.map(({ idx }) => idx),
    );
    return rows.map(({ idx, record, disclosures, erased = null, keys = null }, at) => {
      if (record === null) throw missingLeaf(tree, idx, floorOf(project));
      const hash = leafHash(record);
      if (stored[at]?.equals(hash) !== true) throw altered(tree, idx, 'does not match its hash');
      const leaf = { index: idx, record, hash };
      if (disclosures === null) return leafOf(leaf, noBody, { erased, keys });
      const body = read(positionOf(project, idx), { disclosures, erased, keys });
      if (body.opened === 'gone')
        return { ...leafOf(leaf, { disclosures: '[]' }, { erased: body.erased, keys }), isGone: true };
      if (body.opened === 'closed') throw altered(tree, idx, 'has a body that this master key does not open');
      const committed = committedOf(record, body.opened.text, bodies);
      if (committed === null) throw altered(tree, idx, 'has a body that it did not commit to');
      return leafOf(leaf, committed, { erased: body.erased, keys });
    });
  };
}

/** The error for a missing leaf; events below `below` are pruned. */
function missingLeaf(tree: TreeName, index: number, below: number): GovError {
  return tree === 'audit' && index < below ? pruned(index, below) : altered(tree, index, 'is missing');
}

type LeafReads = Pick<
  StoreReader,
  'project' | 'head' | 'totals' | 'leaves' | 'leaf' | 'prunedBelow' | 'tiles'
>;

/** Ranges of leaves: of the audit log with and without bodies, and of the metering log. */
function rangeStatements(db: Connection) {
  return {
    audit: db.prepare<Value[], LeafRow>(
      `SELECT leaf.idx, record, disclosures, erased, keys FROM leaf
       LEFT JOIN body USING (position)
       WHERE position >= ? AND position < ? ORDER BY position`,
    ),
    records: db.prepare<Value[], LeafRow>(
      `SELECT idx, record, NULL AS disclosures FROM leaf WHERE position >= ? AND position < ? ORDER BY position`,
    ),
    metering: db.prepare<Value[], LeafRow>(
      `SELECT idx, record, NULL AS disclosures FROM ${recordTable('metering')}
       WHERE position >= ? AND position < ? ORDER BY position`,
    ),
  };
}

export function leafReads(db: Connection, numberOf: ProjectNumber): LeafReads {
  const selectProject = db.prepare<Value[], ProjectRow>(
    `SELECT project_id, organization_id, environment, audit_origin, metering_origin
     FROM project WHERE project_id = ?`,
  );
  const selectHead = db.prepare<Value[], TreeHead>(
    'SELECT size, root FROM head WHERE project = ? AND tree = ?',
  );
  const selectRange = rangeStatements(db);
  const selectOne = db.prepare<Value[], LeafRow>(
    `SELECT leaf.idx, record, disclosures, erased, keys FROM leaf
     LEFT JOIN body USING (position) WHERE position = ?`,
  );
  const check = leafChecker(db);
  const floorOf = floorReader(db);
  const tile = tileReader(db);
  const totalsAt = totalsReader(db);
  const headOf = (project: number, tree: TreeName): TreeHead => {
    const head = selectHead.get(project, treeNumber(tree));
    if (head === undefined)
      throw new GovError('INTERNAL', `expected a ${tree} head of project ${project}, got no row; run fsck`);
    return head;
  };
  const range = (
    project: number,
    tree: TreeName,
    { from, to, bodies = true }: { from: number; to: number; bodies?: boolean },
  ): Leaf[] => {
    const end = Math.min(to, headOf(project, tree).size);
    if (from >= end) return [];
    const select = selectRange[tree === 'audit' && !bodies ? 'records' : tree];
    const leaves = check(project, tree, select.all(positionOf(project, from), positionOf(project, end)));
    const gap = leaves.findIndex(({ index }, at) => index !== from + at);
    if (gap !== -1) throw missingLeaf(tree, from + gap, floorOf(project));
    if (leaves.length < end - from) throw missingLeaf(tree, from + leaves.length, floorOf(project));
    return leaves;
  };
  return {
    project: async (projectId) => {
      const row = selectProject.get(projectId);
      return row === undefined ? null : projectOf(row);
    },
    head: async (projectId, tree) => headOf(numberOf(projectId), tree),
    totals: async (projectId) => {
      const project = numberOf(projectId);
      return totalsAt(project, headOf(project, 'metering').size);
    },
    leaves: async (projectId, tree, wanted) => range(numberOf(projectId), tree, wanted),
    leaf: async (projectId, index) => {
      const project = numberOf(projectId);
      // an event id may name a position that no project has, or that is another project's row
      if (index < 0 || index >= leavesPerProject) return null;
      const row = selectOne.get(positionOf(project, index));
      if (row !== undefined) return check(project, 'audit', [row])[0] ?? null;
      if (index >= headOf(project, 'audit').size) return null;
      throw missingLeaf('audit', index, floorOf(project));
    },
    prunedBelow: async (projectId) => floorOf(numberOf(projectId)),
    tiles: async (projectId, tree, wanted) => {
      const project = numberOf(projectId);
      return wanted.map(({ level, index }) => tile(project, tree, { level, index }));
    },
  };
}
