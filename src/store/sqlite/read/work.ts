/**
 * Reads of rows outside the log: graphs, proofs, checkpoints and stored responses.
 * Proven by `test/store/sqlite/suite.alone.test.ts`.
 */
import type { GraphPart, StoredGraph, StoredProof, StoreReader } from '../../port/store.ts';
import type { Connection, Value } from '../../file/connection.ts';
import { endOfTime } from '../../port/bounds.ts';
import { keptReader } from '../write/repeats.ts';
import { type ProjectNumber } from './leaves.ts';
import { treeNumber } from '../../append/trees.ts';

type WorkReads = Pick<
  StoreReader,
  | 'graphState'
  | 'graphAt'
  | 'graphParts'
  | 'proof'
  | 'proofs'
  | 'newestCheckpoint'
  | 'checkpointFrom'
  | 'checkpointBelow'
  | 'witnessedCheckpoint'
  | 'keptResponse'
>;

export function workReads(db: Connection, numberOf: ProjectNumber): WorkReads {
  const kept = keptReader(db);
  return {
    ...graphReads(db, numberOf),
    ...proofReads(db, numberOf),
    ...checkpointReads(db, numberOf),
    keptResponse: async (projectId, key) => kept(numberOf(projectId), key),
  };
}

export const graphColumns = `graph_id AS graphId, run_id AS runId, leaf_index AS leafIndex, events,
  declaration_hash AS declarationHash, root_hash AS rootHash, summary`;

interface RunGraphRow {
  declaration: string | null;
  declared_ms: number | null;
  sealed_hash: string | null;
  sealed_ms: number | null;
}

function graphReads(
  db: Connection,
  numberOf: ProjectNumber,
): Pick<StoreReader, 'graphState' | 'graphAt' | 'graphParts'> {
  const state = db.prepare<Value[], RunGraphRow>(
    'SELECT declaration, declared_ms, sealed_hash, sealed_ms FROM run_graph WHERE project = ? AND run_id = ?',
  );
  const newest = db.prepare<Value[], StoredGraph>(
    `SELECT ${graphColumns} FROM graph WHERE project = ? AND run_id = ? ORDER BY leaf_index DESC LIMIT 1`,
  );
  const at = db.prepare<Value[], StoredGraph>(
    `SELECT ${graphColumns} FROM graph WHERE project = ? AND leaf_index = ?`,
  );
  const nextPart = db.prepare<Value[], GraphPart>(
    `SELECT list, part, items FROM graph_part
     WHERE project = ? AND graph_id = ? AND list = ? AND part > ? ORDER BY part LIMIT 1`,
  );
  return {
    graphState: async (projectId, runId) => {
      const project = numberOf(projectId);
      const row = state.get(project, runId);
      const sealed =
        row?.sealed_hash === undefined || row.sealed_hash === null || row.sealed_ms === null
          ? null
          : { rootHash: row.sealed_hash, atMs: row.sealed_ms };
      return {
        declaration: row?.declaration ?? null,
        declaredMs: row?.declared_ms ?? null,
        sealed,
        newest: newest.get(project, runId) ?? null,
      };
    },
    graphAt: async (projectId, leafIndex) => at.get(numberOf(projectId), leafIndex) ?? null,
    async *graphParts(projectId, graphId, list) {
      const project = numberOf(projectId);
      for (let part = nextPart.get(project, graphId, list, -1); part !== undefined;) {
        yield part;
        part = nextPart.get(project, graphId, list, part.part);
      }
    },
  };
}

export interface ProofRow extends Omit<StoredProof, 'statements'> {
  readonly statements: string;
}

export const proofColumns = `proof_id AS proofId, run_id AS runId, created_ms AS createdMs, proof, preimage, statements,
  tree_size AS treeSize, graph_index AS graphIndex, leaf_index AS leafIndex`;

export const proofOf = (row: ProofRow): StoredProof => ({
  ...row,
  statements: Object.fromEntries(JSON.parse(row.statements) as [string, string][]),
});

function proofReads(db: Connection, numberOf: ProjectNumber): Pick<StoreReader, 'proof' | 'proofs'> {
  const one = db.prepare<Value[], ProofRow>(
    `SELECT ${proofColumns} FROM proof WHERE project = ? AND proof_id = ?`,
  );
  const selectPage = (ofRun: string) =>
    db.prepare<Value[], ProofRow>(
      `SELECT ${proofColumns} FROM proof WHERE project = ? ${ofRun} AND (created_ms, proof_id) < (?, ?)
       ORDER BY created_ms DESC, proof_id DESC LIMIT ?`,
    );
  const page = selectPage('');
  const pageOfRun = selectPage('AND run_id = ?');
  return {
    proof: async (projectId, proofId) => {
      const row = one.get(numberOf(projectId), proofId);
      return row === undefined ? null : proofOf(row);
    },
    proofs: async (projectId, { runId }, { after, limit }) => {
      const project = numberOf(projectId);
      const position = [after?.ms ?? endOfTime, after?.id ?? ''];
      const rows =
        runId === undefined
          ? page.all(project, ...position, limit)
          : pageOfRun.all(project, runId, ...position, limit);
      return rows.map(proofOf);
    },
  };
}

/** How many cosigned checkpoints are compared. */
const cosignedSeen = 256;

function checkpointReads(
  db: Connection,
  numberOf: ProjectNumber,
): Pick<StoreReader, 'newestCheckpoint' | 'checkpointFrom' | 'checkpointBelow' | 'witnessedCheckpoint'> {
  const select = (condition: string) =>
    db
      .prepare<Value[], string>(
        `SELECT note || coalesce((SELECT group_concat(line, '' ORDER BY key) FROM cosignature k
           WHERE k.project = c.project AND k.tree = c.tree AND k.size = c.size), '')
         FROM checkpoint c WHERE project = ? AND tree = ? ${condition} LIMIT 1`,
      )
      .pluck();
  const newest = select('ORDER BY size DESC');
  const from = select('AND size >= ? ORDER BY size');
  const below = select('AND size < ? ORDER BY size DESC');
  const witnessed = select(`AND size = (SELECT size FROM (
    SELECT size, count(*) AS witnesses FROM cosignature WHERE project = ? AND tree = ? AND size >= ?
    GROUP BY size ORDER BY size LIMIT ${cosignedSeen}) AS first ORDER BY witnesses DESC, size LIMIT 1)`);
  return {
    newestCheckpoint: async (projectId, tree) => newest.get(numberOf(projectId), treeNumber(tree)) ?? null,
    checkpointFrom: async (projectId, tree, size) =>
      from.get(numberOf(projectId), treeNumber(tree), size) ?? null,
    checkpointBelow: async (projectId, tree, size) =>
      below.get(numberOf(projectId), treeNumber(tree), size) ?? null,
    witnessedCheckpoint: async (projectId, tree, size) => {
      const log = [numberOf(projectId), treeNumber(tree)];
      return witnessed.get(...log, ...log, size) ?? null;
    },
  };
}
