/**
 * Reads of projects, trees and leaves, each checked before it is returned. Source: RFC 6962 §2.1. One
 * statement reads a leaf and its hash from the tiles, so both are of one snapshot. A record is returned only
 * if it has that hash, and a disclosure only if the record commits to it (`committedOf`).
 * Proven by `test/store/postgres/suite.alone.test.ts` and `test/store/postgres/write/fsck.long.test.ts`.
 */
import { GovError } from '../../../contract/problems.ts';
import { hashBytes, leafHash } from '../../../core/merkle/tree.ts';
import type { StoreReader } from '../../port/store.ts';
import type { TreeHead } from '../../port/store.ts';
import type { Leaf } from '../../port/store.ts';
import type { Bodies } from '../../port/store.ts';
import type { TreeName } from '../../port/store.ts';
import { altered } from '../../append/altered.ts';
import { closedBody, openBody } from '../../erasure/body-seal.ts';
import { committedOf, leafOf, noBody } from '../../append/leaf.ts';
import { projectOf } from '../../port/project.ts';
import { pruned } from '../../erasure/pruned.ts';
import { hashesPerPart } from '../../append/tile-parts.ts';
import { recordTable, treeNumber } from '../../append/trees.ts';
import { arrayOf } from '../connection/arrays.ts';
import type { Database } from '../connection/database.ts';
import { totalsOf } from '../write/ledger.ts';
import { positionBits } from '../schema/tables.ts';
import { keysOf, secretsColumn, secretsOf } from '../effects/subject-secrets.ts';
import { sql, step } from '../../read/queries.ts';

/** A leaf as the tables store it; `record` and `hash` are null if a row is missing. */
export interface LeafRow {
  readonly idx: number;
  readonly record: string | null;
  readonly disclosures: string | null;
  /** Absent if the caller did not ask for bodies, like the next two. */
  readonly erased?: string | null;
  readonly keys?: string | null;
  /** The keys that the body names. */
  readonly secrets?: string | null;
  readonly hash: Buffer | null;
  /** Events below this index are pruned; set if the record is missing. */
  readonly below?: number | null;
}

/**
 * SQL: the rows of `query`, which name leaves of project `$1` by `idx`, with the keys of their rows in other
 * tables. OFFSET fences the query, and the look-ups that use it. Under row-level security a condition that
 * computes with a column uses no index, because an operator that can fail could reveal the value. The fence
 * also keeps each look-up a look-up, for any statistics.
 */
export const located = (query: string): string =>
  `(SELECT x.*, ($1::int8 << ${positionBits}) + x.idx AS position, x.idx >> 8 AS tile,
     ((x.idx & 255) / ${hashesPerPart})::smallint AS part FROM (${query}) x OFFSET 0)`;

/** SQL: the stored hash of the leaf that `row` names, from tile row `t`. */
export const hashOf = (row: string): string =>
  `substr(t.hashes, ((${row}.idx & ${hashesPerPart - 1}) * ${hashBytes})::integer + 1, ${hashBytes})`;

export const tileOf = (row: string, tree: TreeName): string =>
  `LEFT JOIN LATERAL (SELECT hashes FROM tile WHERE project = $1 AND tree = ${treeNumber(tree)} AND level = 0
     AND n = ${row}.tile AND part = ${row}.part OFFSET 0) t ON true`;

export const recordOf = (row: string): string =>
  `LEFT JOIN LATERAL (SELECT record FROM leaf WHERE position = ${row}.position OFFSET 0) l ON true`;
export const bodyOf = (row: string): string =>
  `LEFT JOIN LATERAL (SELECT disclosures, erased, keys FROM body WHERE position = ${row}.position OFFSET 0) b ON true`;

const bodyColumns = `b.disclosures, b.erased, b.keys, ${secretsColumn}`;

/** Evaluated at most once, and only if a record is missing. */
const floorOf =
  'CASE WHEN l.record IS NULL THEN (SELECT max(min_index) FROM prune WHERE project = $1) END AS below';

/** SQL: columns and joins of `LeafRow` for the audit leaves of a `located` row. */
export const leafColumns = (row: string, bodies = true): string =>
  `${row}.idx, l.record, ${bodies ? bodyColumns : 'NULL AS disclosures'}, ${hashOf(row)} AS hash, ${floorOf}`;
export const leafJoins = (row: string, bodies = true): string =>
  `${recordOf(row)} ${bodies ? bodyOf(row) : ''} ${tileOf(row, 'audit')}`;

/**
 * Turns rows into leaves. STORAGE_FAULT with the position if a row is not what was logged. Cost: 8 µs with
 * its bodies.
 */
export function checkLeaves(tree: TreeName, rows: readonly LeafRow[], bodies: Bodies = true): Leaf[] {
  return rows.map(({ idx, record, disclosures, erased = null, keys = null, hash: stored, below }) => {
    if (record === null) throw missingLeaf(tree, idx, below ?? 0);
    if (stored?.length !== hashBytes) {
      throw new GovError('STORAGE_FAULT', `expected the hash of ${tree} leaf ${idx}, got no row; run fsck`);
    }
    const hash = leafHash(record);
    if (!stored.equals(hash)) throw altered(tree, idx, 'does not match its hash');
    const committed = disclosures === null ? noBody : committedOf(record, disclosures, bodies);
    if (committed === null) throw altered(tree, idx, 'has a body that it did not commit to');
    return leafOf({ index: idx, record, hash }, committed, { erased, keys });
  });
}

/** The same for the audit log; opens the bodies. */
export const auditLeaves = (
  { seal }: Pick<Database, 'seal'>,
  rows: readonly LeafRow[],
  bodies: Bodies = true,
): Leaf[] =>
  rows.flatMap((row): Leaf[] => {
    const { disclosures, keys = null, secrets } = row;
    if (disclosures === null) return checkLeaves('audit', [row], bodies);
    const opened = openBody(seal, { disclosures, keys }, keysOf(secretsOf(secrets)));
    if (opened !== 'gone') {
      const text = opened === 'closed' ? closedBody : opened.text;
      return checkLeaves('audit', [{ ...row, disclosures: text }], bodies);
    }
    return checkLeaves('audit', [{ ...row, disclosures: '[]' }], bodies).map((leaf) => ({
      ...leaf,
      isGone: true,
    }));
  });

const missingLeaf = (tree: TreeName, index: number, below: number): GovError =>
  tree === 'audit' && index < below ? pruned(index, below) : altered(tree, index, 'is missing');

export interface ProjectRow {
  project: number;
  project_id: string;
  organization_id: string;
  environment: 'production' | 'sandbox';
  audit_origin: string;
  metering_origin: string;
}

const selectProject = sql<ProjectRow>(
  `SELECT project, project_id, organization_id, environment, audit_origin, metering_origin
   FROM project WHERE project_id = $1`,
);

/** Returns the number of a project; NOT_FOUND for an unknown project. */
export type ProjectNumber = (projectId: string) => Promise<number>;

/** Numbers never change, so a process caches them. */
export interface ProjectNumbers {
  readonly of: ProjectNumber;
  /** Makes the next use look up and judge again: one project, or all. */
  forget(projectId?: string): void;
}

/** `judge` sees each project before its number is first returned, and refuses it by throwing. */
export function projectNumbers(
  database: Database,
  judge?: (project: ProjectRow) => Promise<void>,
): ProjectNumbers {
  const known = new Map<string, number>();
  return {
    of: async (projectId) => {
      const found = known.get(projectId);
      if (found !== undefined) return found;
      const [{ rows }] = await database.read({ projectId }, [step(selectProject, projectId)]);
      const [row] = rows;
      if (row === undefined) throw new GovError('NOT_FOUND', `no project ${projectId} in this store`);
      await judge?.(row);
      if (known.size >= heldNumbers) known.clear();
      known.set(projectId, row.project);
      return row.project;
    },
    forget: (projectId) => {
      if (projectId === undefined) known.clear();
      else known.delete(projectId);
    },
  };
}

/** About 10 MB. */
const heldNumbers = 100_000;

export const prunedBelow = sql<{ below: number | null }>(
  'SELECT max(min_index) AS below FROM prune WHERE project = $1',
);
const selectHead = sql<TreeHead>('SELECT size, root FROM head WHERE project = $1 AND tree = $2');
const newestMeter = sql<{ size: number; record: string | null }>(
  `SELECT h.size, m.record FROM (SELECT size, ($1::int8 << ${positionBits}) + size - 1 AS position FROM head
     WHERE project = $1 AND tree = 1 OFFSET 0) h LEFT JOIN meter m ON m.position = h.position`,
);
const one = sql<LeafRow>(
  `SELECT ${leafColumns('i')} FROM ${located('SELECT $2::int8 AS idx')} i ${leafJoins('i')}`,
);

/** A range of records; a missing record has no row. */
const rangeOf = (tree: TreeName, bodies: boolean) => {
  const records = `SELECT position & ${2 ** positionBits - 1} AS idx, record FROM ${recordTable(tree)}
    WHERE position >= ($1::int8 << ${positionBits}) + $2::int8 AND position < ($1::int8 << ${positionBits}) + $3::int8`;
  return sql<LeafRow>(
    `SELECT i.idx, i.record, ${bodies ? bodyColumns : 'NULL AS disclosures'}, ${hashOf('i')} AS hash
     FROM ${located(records)} i ${bodies ? bodyOf('i') : ''} ${tileOf('i', tree)}
     ORDER BY i.idx`,
  );
};
const ranges = {
  audit: rangeOf('audit', true),
  records: rangeOf('audit', false),
  metering: rangeOf('metering', false),
};

const wantedTiles = sql<{ at: number; hashes: Buffer }>(
  `SELECT w.at, t.hashes FROM unnest($3::int4[], $4::int8[]) WITH ORDINALITY AS w(level, n, at)
   CROSS JOIN LATERAL (SELECT part, hashes FROM tile
     WHERE project = $1 AND tree = $2 AND level = w.level AND n = w.n OFFSET 0) t ORDER BY w.at, t.part`,
);

type LeafReads = Pick<
  StoreReader,
  'project' | 'head' | 'totals' | 'leaves' | 'leaf' | 'prunedBelow' | 'tiles'
>;

export function leafReads(database: Database, numberOf: ProjectNumber): LeafReads {
  const headOf = ([head]: readonly TreeHead[], projectId: string, tree: TreeName): TreeHead => {
    if (head !== undefined) return head;
    throw new GovError('INTERNAL', `expected a ${tree} head of project ${projectId}, got no row; run fsck`);
  };
  return {
    project: async (projectId) => {
      const [{ rows }] = await database.read({ projectId }, [step(selectProject, projectId)]);
      return rows[0] === undefined ? null : projectOf(rows[0]);
    },
    head: async (projectId, tree) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(selectHead, project, treeNumber(tree))]);
      return headOf(rows, projectId, tree);
    },
    totals: async (projectId) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(newestMeter, project)]);
      return totalsOf(rows[0]?.size ?? 0, rows[0]?.record ?? undefined);
    },
    leaves: async (projectId, tree, { from, to, bodies = true }) => {
      const project = await numberOf(projectId);
      const [heads, floor, { rows }] = await database.read({ project }, [
        step(selectHead, project, treeNumber(tree)),
        step(prunedBelow, project),
        step(
          ranges[tree === 'audit' && !bodies ? 'records' : tree],
          project,
          from,
          Math.max(from, Math.min(to, 2 ** positionBits)),
        ),
      ]);
      // The head was read first, so the second statement saw every leaf that the head covers.
      const end = Math.min(to, headOf(heads.rows, projectId, tree).size);
      const found = rows.filter(({ idx }) => idx < end);
      const leaves = tree === 'audit' ? auditLeaves(database, found) : checkLeaves(tree, found);
      const gap = leaves.findIndex(({ index }, at) => index !== from + at);
      const below = floor.rows[0]?.below ?? 0;
      if (gap !== -1) throw missingLeaf(tree, from + gap, below);
      if (leaves.length < end - from) throw missingLeaf(tree, from + leaves.length, below);
      return leaves;
    },
    leaf: async (projectId, index) => {
      const project = await numberOf(projectId);
      if (index < 0 || index >= 2 ** positionBits) return null;
      const [heads, { rows }] = await database.read({ project }, [
        step(selectHead, project, 0),
        step(one, project, index),
      ]);
      if (index >= headOf(heads.rows, projectId, 'audit').size) return null;
      return auditLeaves(database, rows)[0] ?? null;
    },
    prunedBelow: async (projectId) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(prunedBelow, project)]);
      return rows[0]?.below ?? 0;
    },
    tiles: async (projectId, tree, wanted) => {
      const project = await numberOf(projectId);
      const [levels, numbers] = [wanted.map(({ level }) => level), wanted.map(({ index }) => index)];
      const [{ rows }] = await database.read({ project }, [
        step(wantedTiles, project, treeNumber(tree), arrayOf('int4', levels), arrayOf('int8', numbers)),
      ]);
      const parts: Buffer[][] = wanted.map(() => []);
      for (const { at, hashes } of rows) parts[at - 1]?.push(hashes);
      return parts.map((each) => Buffer.concat(each));
    },
  };
}
