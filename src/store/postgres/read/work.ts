/**
 * Reads of rows outside the log: graphs, proofs, checkpoints and stored responses.
 * Proven by `test/store/postgres/suite.alone.test.ts`.
 */
import type { GraphPart, RunGraphState, StoredGraph, StoredProof, StoreReader } from '../../port/store.ts';
import { endOfTime } from '../../port/bounds.ts';
import { treeNumber } from '../../append/trees.ts';
import type { Database } from '../connection/database.ts';
import { keptOf } from '../write/facts.ts';
import type { ProjectNumber } from './leaves.ts';
import { sql, step, type Sql } from '../connection/wire.ts';

type Of<Names extends keyof StoreReader> = Pick<StoreReader, Names>;

export const workReads = (database: Database, numberOf: ProjectNumber) => ({
  ...graphReads(database, numberOf),
  ...proofReads(database, numberOf),
  ...checkpointReads(database, numberOf),
  ...keptReads(database, numberOf),
});

export const graphColumns = `graph_id AS "graphId", run_id AS "runId", leaf_index AS "leafIndex", events,
  declaration_hash AS "declarationHash", root_hash AS "rootHash", summary`;
const state = sql<
  Record<'declaration' | 'sealed_hash', string | null> & Record<'declared_ms' | 'sealed_ms', number | null>
>(
  'SELECT declaration, declared_ms, sealed_hash, sealed_ms FROM run_graph WHERE project = $1 AND run_id = $2',
);
const newest = sql<StoredGraph>(
  `SELECT ${graphColumns} FROM graph WHERE project = $1 AND run_id = $2 ORDER BY leaf_index DESC LIMIT 1`,
);
const graphAt = sql<StoredGraph>(`SELECT ${graphColumns} FROM graph WHERE project = $1 AND leaf_index = $2`);
/** Only parts of logged graphs: another process may be staging parts of a graph that is never logged. */
const nextPart = sql<GraphPart>(
  `SELECT list, part, items FROM graph_part WHERE project = $1 AND graph_id = $2 AND list = $3 AND part > $4
     AND EXISTS (SELECT FROM graph WHERE project = $1 AND graph_id = $2) ORDER BY part LIMIT 1`,
);

function graphReads(
  database: Database,
  numberOf: ProjectNumber,
): Of<'graphState' | 'graphAt' | 'graphParts'> {
  return {
    graphState: async (projectId, runId): Promise<RunGraphState> => {
      const project = await numberOf(projectId);
      const [states, graphs] = await database.read({ project }, [
        step(state, project, runId),
        step(newest, project, runId),
      ]);
      const row = states.rows[0];
      const sealedHash = row?.sealed_hash ?? null;
      const sealedMs = row?.sealed_ms ?? null;
      return {
        declaration: row?.declaration ?? null,
        declaredMs: row?.declared_ms ?? null,
        sealed: sealedHash === null || sealedMs === null ? null : { rootHash: sealedHash, atMs: sealedMs },
        newest: graphs.rows[0] ?? null,
      };
    },
    graphAt: async (projectId, leafIndex) => {
      const project = await numberOf(projectId);
      return (await database.read({ project }, [step(graphAt, project, leafIndex)]))[0].rows[0] ?? null;
    },
    async *graphParts(projectId, graphId, list) {
      const project = await numberOf(projectId);
      for (let after = -1; ;) {
        const [{ rows }] = await database.read({ project }, [step(nextPart, project, graphId, list, after)]);
        if (rows[0] === undefined) return;
        yield rows[0];
        after = rows[0].part;
      }
    },
  };
}

export type ProofRow = Omit<StoredProof, 'statements'> & { readonly statements: string };

export const proofColumns = `proof_id AS "proofId", run_id AS "runId", created_ms AS "createdMs", proof, preimage, statements,
  tree_size AS "treeSize", graph_index AS "graphIndex", leaf_index AS "leafIndex"`;
const oneProof = sql<ProofRow>(`SELECT ${proofColumns} FROM proof WHERE project = $1 AND proof_id = $2`);
const proofPage = (ofRun: string) =>
  sql<ProofRow>(
    `SELECT ${proofColumns} FROM proof WHERE project = $1 ${ofRun} AND (created_ms, proof_id) < ($2, $3)
     ORDER BY created_ms DESC, proof_id DESC LIMIT $4`,
  );
const page = proofPage('');
const pageOfRun = proofPage('AND run_id = $5');

export const proofOf = (row: ProofRow): StoredProof => ({
  ...row,
  statements: Object.fromEntries(JSON.parse(row.statements) as [string, string][]),
});

function proofReads(database: Database, numberOf: ProjectNumber): Of<'proof' | 'proofs'> {
  return {
    proof: async (projectId, proofId) => {
      const project = await numberOf(projectId);
      const [{ rows }] = await database.read({ project }, [step(oneProof, project, proofId)]);
      return rows[0] === undefined ? null : proofOf(rows[0]);
    },
    proofs: async (projectId, { runId }, { after, limit }) => {
      const project = await numberOf(projectId);
      const values = [project, after?.ms ?? endOfTime, after?.id ?? '', limit];
      const wanted = runId === undefined ? step(page, ...values) : step(pageOfRun, ...values, runId);
      return (await database.read({ project }, [wanted]))[0].rows.map(proofOf);
    },
  };
}

const noteWhere = (condition: string) =>
  sql<{ note: string }>(
    `SELECT note || coalesce((SELECT string_agg(line, '' ORDER BY key) FROM cosignature k
       WHERE k.project = c.project AND k.tree = c.tree AND k.size = c.size), '') AS note
     FROM checkpoint c WHERE project = $1 AND tree = $2 AND size ${condition} LIMIT 1`,
  );
const noteFrom = noteWhere('>= $3::int8 ORDER BY size');
const noteBelow = noteWhere('< $3::int8 ORDER BY size DESC');
const noteWitnessed = noteWhere(`= (SELECT size FROM (
  SELECT size, count(*) AS witnesses FROM cosignature WHERE project = $1 AND tree = $2 AND size >= $3::int8
  GROUP BY size ORDER BY size LIMIT 256) AS first ORDER BY witnesses DESC, size LIMIT 1)`);

function checkpointReads(
  database: Database,
  numberOf: ProjectNumber,
): Of<'newestCheckpoint' | 'checkpointFrom' | 'checkpointBelow' | 'witnessedCheckpoint'> {
  const find =
    (statement: Sql<{ note: string }>): StoreReader['checkpointFrom'] =>
    async (projectId, tree, size) => {
      const project = await numberOf(projectId);
      const wanted = step(statement, project, treeNumber(tree), size);
      return (await database.read({ project }, [wanted]))[0].rows[0]?.note ?? null;
    };
  const below = find(noteBelow);
  return {
    newestCheckpoint: (projectId, tree) => below(projectId, tree, endOfTime),
    checkpointFrom: find(noteFrom),
    checkpointBelow: below,
    witnessedCheckpoint: find(noteWitnessed),
  };
}

const kept = sql<Parameters<typeof keptOf>[0]>(
  'SELECT fingerprint, status, headers, body FROM idempotency WHERE project = $1 AND key = $2',
);

const keptReads = (database: Database, numberOf: ProjectNumber): Of<'keptResponse'> => ({
  keptResponse: async (projectId, key) => {
    const project = await numberOf(projectId);
    const [{ rows }] = await database.read({ project }, [step(kept, project, key)]);
    return rows[0] === undefined ? null : keptOf(rows[0]);
  },
});
