/**
 * A row of an export out of the leaf that it shows (docs/exports.md): the text that is written is the text that a
 * verifier makes again. Resources whose rows stand beside the log are held against the hash that their leaf has of them.
 * Proven by `test/core/exportartifact.test.ts`.
 */
import type { ExportResource } from '../contract/exports.ts';
import { readProof } from './bundleread.ts';
import { evaluationRecordBody, openEvaluation } from './decided/evaluation.ts';
import { openLeaf, type ListCommitment } from './decided/leaf.ts';
import { openReplay } from './decided/replayed.ts';
import { openRiskDecision, riskDecisionBody } from './decided/riskdecision.ts';
import {
  edgeRow,
  graphRoot,
  nodeRow,
  readEdgeRow,
  readNodeRow,
  type EdgeItem,
  type NodeItem,
} from './graph.ts';
import { hashText, sha256Text } from './hash.ts';
import { canonicalize, parseJson, readJson, type Json, type JsonObject } from './json.ts';
import { limits } from '../contract/limits.ts';
import { ListRoot } from './listroot.ts';
import { proofPreimage } from './proof.ts';
import { isWithdrawnResult } from './replay/withdrawn.ts';
import { openEvent } from './record.ts';

/** A leaf as it is stored, and what its row is where that stands beside the log. */
export interface ExportLeaf {
  readonly index: number;
  readonly record: string;
  readonly disclosures: string | null;
  /** `[[leaf, digest, …], …]` (`erased.ts`), where fields were erased. */
  readonly erased?: string | null | undefined;
  /** compliance_proofs: JCS of the proof; replays: the result; causal_graphs: `graphText`. */
  readonly stored?: string | undefined;
}

/** Resources of which each row comes from one leaf. */
export type LoggedResource = Exclude<ExportResource, 'jobs'>;

/** The type of the leaves of each. */
export const leafTypes = {
  audit_events: 'gov.event/1',
  compliance_proofs: 'gov.proof/1',
  risk_decisions: 'gov.decision/1',
  replays: 'gov.replay/1',
  causal_graphs: 'gov.graph/1',
  policy_evaluations: 'gov.evaluation/1',
} as const satisfies Record<LoggedResource, string>;

/** The row as JSON without a line break. Throws where the leaf is not one of ours: the store has checked it. */
export function exportRow(resource: LoggedResource, leaf: ExportLeaf): string {
  switch (resource) {
    case 'audit_events':
      return JSON.stringify(
        openEvent(leaf.index, leaf.record, leaf.disclosures ?? '[]', leaf.erased ?? null),
      );
    case 'risk_decisions':
      return JSON.stringify(riskDecisionBody(openRiskDecision(openLeaf(leaf))));
    case 'policy_evaluations':
      return JSON.stringify(evaluationRecordBody(leaf.index, openEvaluation(openLeaf(leaf))));
    case 'compliance_proofs':
    case 'replays':
    case 'causal_graphs':
      if (leaf.stored === undefined) throw new Error(`expected what leaf ${leaf.index} commits to, got none`);
      return leaf.stored;
  }
}

/**
 * The row that the leaf gives, where `shown` is the row of an artifact; null where `shown` stands beside the log and the
 * leaf is of another. An attacker controls all of it; throws what parsers throw.
 */
export function rowOfLeaf(resource: LoggedResource, leaf: ExportLeaf, shown: string): string | null {
  switch (resource) {
    case 'audit_events':
    case 'risk_decisions':
    case 'policy_evaluations':
      return exportRow(resource, leaf);
    case 'compliance_proofs':
      return isProofOf(leaf, shown) ? shown : null;
    case 'replays':
      return sha256Text(shown) === openReplay(openLeaf(leaf)).result || isWithdrawnRow(leaf, shown)
        ? shown
        : null;
    case 'causal_graphs':
      return isGraphOf(leaf, shown) ? shown : null;
  }
}

/** Whether a row of replays stands in place of a result, by the word of whoever keeps the log. Throws as above. */
export const isWithdrawnRow = (leaf: ExportLeaf, shown: string): boolean =>
  isWithdrawnResult(openReplay(openLeaf(leaf)), shown);

function isProofOf({ record }: ExportLeaf, shown: string): boolean {
  const proof = readProof(parseJson(Buffer.from(shown), rowBounds));
  const clear = readJson(record) as JsonObject;
  const { commitment } = proof;
  return (
    canonicalize(proof as unknown as Json) === shown && // a proof is JSON by its type
    clear['proofId'] === proof.proofId &&
    clear['runId'] === proof.runId &&
    clear['proofHash'] === proof.proofHash &&
    proofPreimage(proof).hash === proof.proofHash &&
    commitment.runId === proof.runId &&
    commitment.schemaVersion === proof.schemaVersion &&
    commitment.timestamp === proof.createdAt
  );
}

/** Rows of graphs and results are as large as a line may be. */
export const rowBounds = {
  depth: 2 * limits.jsonDepth,
  values: limits.bundleValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.exportLineBytes,
};

/** The row of a graph, of the rows of its nodes and edges as they are committed to. */
export const graphText = (graph: {
  readonly runId: string;
  readonly rootHash: string;
  readonly nodes: readonly string[];
  readonly edges: readonly string[];
}): string =>
  `{"runId":${JSON.stringify(graph.runId)},"rootHash":"${graph.rootHash}",` +
  `"nodes":[${graph.nodes.join(',')}],"edges":[${graph.edges.join(',')}]}`;

function isGraphOf({ record }: ExportLeaf, shown: string): boolean {
  const row = parseJson(Buffer.from(shown), rowBounds) as JsonObject;
  const clear = readJson(record) as JsonObject;
  const nodes = rowsOf(row['nodes'], (node) => nodeRow(node as unknown as NodeItem), readNodeRow);
  const edges = rowsOf(row['edges'], (edge) => edgeRow(edge as unknown as EdgeItem), readEdgeRow);
  const { runId, rootHash } = clear;
  if (nodes === null || edges === null || typeof runId !== 'string' || typeof rootHash !== 'string')
    return false;
  const root = graphRoot(runId, { nodes: nodes.committed, edges: edges.committed });
  return (
    root.hash === rootHash && graphText({ runId, rootHash, nodes: nodes.rows, edges: edges.rows }) === shown
  );
}

/** The rows of items, and what commits to them; null where one has no such form. */
function rowsOf(
  items: Json | undefined,
  write: (item: Json) => string,
  read: (row: string) => unknown,
): { readonly rows: string[]; readonly committed: ListCommitment } | null {
  if (!Array.isArray(items)) return null;
  const root = new ListRoot();
  const rows: string[] = [];
  for (const item of items) {
    if (typeof item !== 'object' || item === null) return null;
    const row = write(item);
    if (read(row) === null) return null;
    root.add(`\0${row}`);
    rows.push(row);
  }
  return { rows, committed: { n: root.size, root: hashText(root.root()) } };
}
