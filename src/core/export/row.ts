/**
 * A row of an export out of the leaf that it shows (docs/reference/export-format.md): the text that is written is the text that a
 * verifier makes again. Resources whose rows stand beside the log are held against the hash that their leaf has of them.
 * Proven by `test/core/export/artifact.test.ts`.
 */
import type { ExportResource } from '../../contract/exports.ts';
import { readProof } from '../proof/read-bundle.ts';
import { evaluationRecordBody, openEvaluation } from '../decided/evaluation.ts';
import { openLeaf, type ListCommitment } from '../decided/leaf.ts';
import { openReplay } from '../decided/replay.ts';
import { openRiskDecision, riskDecisionBody } from '../decided/risk-decision.ts';
import { eventRow, eventText, type EventText } from '../event/text.ts';
import { graphRoot, readEdgeRow, readNodeRow } from '../graph/rows.ts';
import { hashText, sha256Text } from '../hash.ts';
import { canonicalText, parseJson, readJson, type JsonObject } from '../json/parse.ts';
import { limits } from '../../contract/limits.ts';
import { ListRoot } from '../merkle/list-root.ts';
import { leafHash } from '../merkle/tree.ts';
import { proofPreimage } from '../proof/binding.ts';
import { isWithdrawnResult } from '../replay/withdrawn.ts';
import { openEvent } from '../event/record.ts';

/** A leaf as it is stored, and what its row is where that stands beside the log. */
export interface ExportLeaf {
  readonly index: number;
  readonly record: string;
  readonly disclosures: string | null;
  /** Where each of them begins and ends, by turns (`tupleBounds`), where that is known already. */
  readonly bounds?: readonly number[];
  /** Of the record, where it was made already: 32 bytes. */
  readonly hash?: Uint8Array;
  /** `[[leaf, digest, …], …]` (`src/core/event/erased.ts`), where fields were erased. */
  readonly erased?: string | null | undefined;
  /** compliance_proofs: JCS of the proof; replays: the result; causal_graphs: `graphText`. */
  readonly stored?: string | undefined;
  /** Instead of it, piece by piece: of what may be too large to be held. */
  readonly pieces?: (() => AsyncIterable<string>) | undefined;
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
    case 'audit_events': {
      const event = eventOf(leaf);
      if (event !== null) return eventRow(event);
      return JSON.stringify(
        openEvent(leaf.index, leaf.record, leaf.disclosures ?? '[]', leaf.erased ?? null),
      );
    }
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

/** The event of a leaf as its texts; null where it has to be opened (`src/core/event/text.ts`). */
export function eventOf({ index, record, disclosures, bounds, hash }: ExportLeaf): EventText | null {
  if (disclosures === null) return null;
  return eventText({ index, record, disclosures, bounds, hash: hash ?? leafHash(record) });
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
    canonicalText(proof) === shown &&
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
}): string => `${graphStart(graph)}${graph.nodes.join(',')}${graphMiddle}${graph.edges.join(',')}${graphEnd}`;

/** What stands before the rows of the nodes, between them and those of the edges, and behind these. */
export const graphStart = ({ runId, rootHash }: { runId: string; rootHash: string }): string =>
  `{"runId":${JSON.stringify(runId)},"rootHash":"${rootHash}","nodes":[`;
export const graphMiddle = '],"edges":[';
export const graphEnd = ']}';

/** The root hash of the graph of a leaf, `sha256:…`; null where the leaf is of another run. Throws as parsers do. */
export function rootOfGraph({ record }: Pick<ExportLeaf, 'record'>, runId: string): string | null {
  const clear = readJson(record) as JsonObject;
  return clear['runId'] === runId && typeof clear['rootHash'] === 'string' ? clear['rootHash'] : null;
}

/** A row may be 64 MiB, so it is read from left to right and nothing of it is kept. */
function isGraphOf({ record }: ExportLeaf, shown: string): boolean {
  const { runId, rootHash } = readJson(record) as JsonObject;
  if (typeof runId !== 'string' || typeof rootHash !== 'string') return false;
  const start = graphStart({ runId, rootHash });
  const nodes = shown.startsWith(start) ? rowsFrom(shown, start.length, readNodeRow) : null;
  if (nodes === null || !shown.startsWith(graphMiddle, nodes.end)) return false;
  const edges = rowsFrom(shown, nodes.end + graphMiddle.length, readEdgeRow);
  if (edges === null || shown.slice(edges.end) !== graphEnd) return false;
  return graphRoot(runId, { nodes: nodes.committed, edges: edges.committed }).hash === rootHash;
}

/** What commits to the rows that stand from a place on, and where they end; null where one has no such form. */
function rowsFrom(
  text: string,
  from: number,
  read: (row: string) => unknown,
): { readonly committed: ListCommitment; readonly end: number } | null {
  const root = new ListRoot();
  let at = from;
  for (let more = text.charAt(at) === '{'; more;) {
    const end = text.indexOf('}', at) + 1; // no member of a row has one
    const row = text.slice(at, end);
    if (read(row) === null) return null;
    root.add(`\0${row}`);
    more = text.charAt(end) === ',';
    at = more ? end + 1 : end;
  }
  return { committed: { n: root.size, root: hashText(root.root()) }, end: at };
}
