/**
 * Reads of rows outside the log: graphs, proofs, checkpoints and stored responses.
 * Proven by `test/store/suite/log/work.ts` and `test/store/suite/log/checkpoints.ts`.
 */
import { keptOf, type KeptRow } from '../append/repeats.ts';
import { treeNumber } from '../append/trees.ts';
import { endOfTime } from '../port/bounds.ts';
import type { GraphPart, StoredGraph, StoreReader } from '../port/store.ts';
import { selected } from '../rules/columns.ts';
import { graphColumns, proofColumns, proofOf, type ProofRow } from '../rules/work-row.ts';
import { both, firstOf, rowsOf, step, type Queries, type Sql } from './queries.ts';

type ReaderPart<Names extends keyof StoreReader> = Pick<StoreReader, Names>;

export const workReads = (queries: Queries) => ({
  ...graphReads(queries),
  ...proofReads(queries),
  ...checkpointReads(queries),
  ...keptReads(queries),
});

const graphMembers = selected(graphColumns);
const state = both<
  Record<'declaration' | 'sealed_hash', string | null> & Record<'declared_ms' | 'sealed_ms', number | null>
>(
  'SELECT declaration, declared_ms, sealed_hash, sealed_ms FROM run_graph WHERE project = $1 AND run_id = $2',
);
const newest = both<StoredGraph>(
  `SELECT ${graphMembers} FROM graph WHERE project = $1 AND run_id = $2 ORDER BY leaf_index DESC LIMIT 1`,
);
const graphAt = both<StoredGraph>(`SELECT ${graphMembers} FROM graph WHERE project = $1 AND leaf_index = $2`);
/** Only parts of logged graphs: another process may be staging parts of a graph that is never logged. */
const nextPart = both<GraphPart>(
  `SELECT list, part, items FROM graph_part WHERE project = $1 AND graph_id = $2 AND list = $3 AND part > $4
     AND EXISTS (SELECT 1 FROM graph WHERE project = $1 AND graph_id = $2) ORDER BY part LIMIT 1`,
);

const graphReads = (queries: Queries): ReaderPart<'graphState' | 'graphAt' | 'graphParts'> => ({
  graphState: async (projectId, runId) => {
    const project = await queries.numberOf(projectId);
    const [states, graphs] = await queries.read({ project }, [
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
  graphAt: async (projectId, leafIndex) => (await rowsOf(queries, projectId, graphAt, leafIndex))[0] ?? null,
  async *graphParts(projectId, graphId, list, from = 0) {
    for (let after = from - 1; ;) {
      const [part] = await rowsOf(queries, projectId, nextPart, graphId, list, after);
      if (part === undefined) return;
      yield part;
      after = part.part;
    }
  },
});

const proofMembers = selected(proofColumns);
const oneProof = both<ProofRow>(`SELECT ${proofMembers} FROM proof WHERE project = $1 AND proof_id = $2`);
const proofPage = (ofRun: string) =>
  both<ProofRow>(
    `SELECT ${proofMembers} FROM proof WHERE project = $1 ${ofRun} AND (created_ms, proof_id) < ($2, $3)
     ORDER BY created_ms DESC, proof_id DESC LIMIT $4`,
  );
const page = proofPage('');
const pageOfRun = proofPage('AND run_id = $5');

const proofReads = (queries: Queries): ReaderPart<'proof' | 'proofs'> => ({
  proof: async (projectId, proofId) => firstOf(await rowsOf(queries, projectId, oneProof, proofId), proofOf),
  proofs: async (projectId, { runId }, { after, limit }) => {
    const values = [after?.ms ?? endOfTime, after?.id ?? '', limit];
    const rows =
      runId === undefined
        ? await rowsOf(queries, projectId, page, ...values)
        : await rowsOf(queries, projectId, pageOfRun, ...values, runId);
    return rows.map(proofOf);
  },
});

/** How many cosigned checkpoints are compared. */
const cosignedSeen = 256;

const noteWhere = (condition: string) =>
  both<{ note: string }>(
    `SELECT note || coalesce((SELECT string_agg(line, '' ORDER BY key) FROM cosignature k
       WHERE k.project = c.project AND k.tree = c.tree AND k.size = c.size), '') AS note
     FROM checkpoint c WHERE project = $1 AND tree = $2 AND size ${condition} LIMIT 1`,
  );
const noteFrom = noteWhere('>= $3::int8 ORDER BY size');
const noteBelow = noteWhere('< $3::int8 ORDER BY size DESC');
const noteWitnessed = noteWhere(`= (SELECT size FROM (
  SELECT size, count(*) AS witnesses FROM cosignature WHERE project = $1 AND tree = $2 AND size >= $3::int8
  GROUP BY size ORDER BY size LIMIT ${cosignedSeen}) AS first ORDER BY witnesses DESC, size LIMIT 1)`);

function checkpointReads(
  queries: Queries,
): ReaderPart<'newestCheckpoint' | 'checkpointFrom' | 'checkpointBelow' | 'witnessedCheckpoint'> {
  const find =
    (statement: Sql<{ note: string }>): StoreReader['checkpointFrom'] =>
    async (projectId, tree, size) =>
      (await rowsOf(queries, projectId, statement, treeNumber(tree), size))[0]?.note ?? null;
  const below = find(noteBelow);
  return {
    newestCheckpoint: (projectId, tree) => below(projectId, tree, endOfTime),
    checkpointFrom: find(noteFrom),
    checkpointBelow: below,
    witnessedCheckpoint: find(noteWitnessed),
  };
}

const kept = both<KeptRow>(
  'SELECT fingerprint, status, headers, body FROM idempotency WHERE project = $1 AND key = $2',
);

const keptReads = (queries: Queries): ReaderPart<'keptResponse'> => ({
  keptResponse: async (projectId, key) => firstOf(await rowsOf(queries, projectId, kept, key), keptOf),
});
