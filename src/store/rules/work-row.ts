/**
 * The columns of proofs and graphs.
 * Proven by `test/store/suite/log/work.ts`.
 */
import type { StoredGraph, StoredProof } from '../port/store.ts';
import { columnsOf } from './columns.ts';

/** `statements`: JSON of the entries, which keeps their order. */
export type ProofRow = Omit<StoredProof, 'statements'> & { readonly statements: string };

export const proofColumns = columnsOf<ProofRow>('proof', {
  proofId: 'proof_id',
  runId: 'run_id',
  createdMs: 'created_ms',
  proof: 'proof',
  preimage: 'preimage',
  statements: 'statements',
  treeSize: 'tree_size',
  graphIndex: 'graph_index',
  leafIndex: 'leaf_index',
});

export const proofRow = (proof: StoredProof): ProofRow => ({
  ...proof,
  statements: JSON.stringify(Object.entries(proof.statements)),
});
export const proofOf = (row: ProofRow): StoredProof => ({
  ...row,
  statements: Object.fromEntries(JSON.parse(row.statements) as [string, string][]),
});

export const graphColumns = columnsOf<StoredGraph>('graph', {
  graphId: 'graph_id',
  runId: 'run_id',
  leafIndex: 'leaf_index',
  events: 'events',
  declarationHash: 'declaration_hash',
  rootHash: 'root_hash',
  summary: 'summary',
});
