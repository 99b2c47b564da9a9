/**
 * Rows of an export, made from the leaves that they show (`docs/reference/export-format.md`). A verifier makes the same text again.
 * Rows of resources outside the log are compared with the hash in their leaf.
 * Proven by `test/core/exports/artifact.test.ts`.
 */
import type { ExportResource } from '../../contract/exports.ts';
import { readProof } from '../proofs/read-bundle.ts';
import { evaluationRecordBody, openEvaluation } from '../decided/evaluation.ts';
import { openLeaf, type ListCommitment } from '../decided/leaf.ts';
import { openReplay } from '../decided/replay.ts';
import { openRiskDecision, riskDecisionBody } from '../decided/risk-decision.ts';
import { eventRow, eventText, type EventText } from '../events/text.ts';
import { graphRoot, readEdgeRow, readNodeRow } from '../graphs/rows.ts';
import { hashText, sha256Text } from '../hash.ts';
import { canonicalText, parseJson, readJson, type JsonObject } from '../json/parse.ts';
import { limits } from '../../contract/limits.ts';
import { ListRoot } from '../merkle/list-root.ts';
import { leafHash } from '../merkle/tree.ts';
import { proofPreimage } from '../proofs/binding.ts';
import { isWithdrawnResult } from '../replay/withdrawn.ts';
import { openEvent } from '../events/record.ts';

/** A leaf as stored, with its row if the row is outside the log. */
export interface ExportLeaf {
  readonly index: number;
  readonly record: string;
  readonly disclosures: string | null;
  /** Start and end of each disclosure, alternating (`tupleBounds`), if known. */
  readonly bounds?: readonly number[];
  /** Leaf hash of the record, if known: 32 bytes. */
  readonly hash?: Uint8Array;
  /** `[[leaf, digest, …], …]` (`src/core/events/erased.ts`), if fields were erased. */
  readonly erased?: string | null | undefined;
  /** compliance_proofs: JCS of the proof; replays: the result; causal_graphs: `graphStart`, its node rows, `graphMiddle`, its edge rows, `graphEnd`. */
  readonly stored?: string | undefined;
  /** Instead of `stored`: the row in pieces, if it may be too large for memory. */
  readonly pieces?: (() => AsyncIterable<string>) | undefined;
}

/** Resources whose rows each come from one leaf. */
export type LoggedResource = Exclude<ExportResource, 'jobs'>;

/** The leaf type of each resource. */
export const leafTypes = {
  audit_events: 'gov.event/1',
  compliance_proofs: 'gov.proof/1',
  risk_decisions: 'gov.decision/1',
  replays: 'gov.replay/1',
  causal_graphs: 'gov.graph/1',
  policy_evaluations: 'gov.evaluation/1',
} as const satisfies Record<LoggedResource, string>;

/** Returns the row as JSON without a line break. Throws for a foreign leaf: the store has checked it. */
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
      if (leaf.stored === undefined)
        throw new Error(`expected the stored row of leaf ${leaf.index}, got none`);
      return leaf.stored;
  }
}

/** Returns the event of a leaf as texts; null if it must be opened in full (`src/core/events/text.ts`). */
export function eventOf({ index, record, disclosures, bounds, hash }: ExportLeaf): EventText | null {
  if (disclosures === null) return null;
  return eventText({ index, record, disclosures, bounds, hash: hash ?? leafHash(record) });
}

/**
 * Returns the row of a leaf, where `shown` is the row of an artifact; null if `shown` is outside the log and belongs to
 * another leaf. Attacker controlled; throws the errors of the parsers.
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

/** Returns whether a row of replays replaces a withdrawn result, according to the owner of the log. Throws as above. */
const isWithdrawnRow = (leaf: ExportLeaf, shown: string): boolean =>
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

/** Limits of a row: rows of graphs and results may fill the longest line. */
export const rowBounds = {
  depth: 2 * limits.jsonDepth,
  values: limits.bundleValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.exportLineBytes,
};

/** The texts before the node rows, between node and edge rows, and after the edge rows. */
export const graphStart = ({ runId, rootHash }: { runId: string; rootHash: string }): string =>
  `{"runId":${JSON.stringify(runId)},"rootHash":"${rootHash}","nodes":[`;
export const graphMiddle = '],"edges":[';
export const graphEnd = ']}';

/** Returns the root hash of the graph of a leaf, `sha256:…`; null if the leaf is of another run. Throws as parsers do. */
export function rootOfGraph({ record }: Pick<ExportLeaf, 'record'>, runId: string): string | null {
  const clear = readJson(record) as JsonObject;
  return clear['runId'] === runId && typeof clear['rootHash'] === 'string' ? clear['rootHash'] : null;
}

/** A row may have 64 MiB, so it is read once from left to right without a copy. */
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

/** Returns the commitment to the rows from a position on, and their end; null if a row is malformed. */
function rowsFrom(
  text: string,
  from: number,
  read: (row: string) => unknown,
): { readonly committed: ListCommitment; readonly end: number } | null {
  const root = new ListRoot();
  let at = from;
  for (let more = text.charAt(at) === '{'; more;) {
    const end = text.indexOf('}', at) + 1; // no member of a row contains a brace
    const row = text.slice(at, end);
    if (read(row) === null) return null;
    root.add(`\0${row}`);
    more = text.charAt(end) === ',';
    at = more ? end + 1 : end;
  }
  return { committed: { n: root.size, root: hashText(root.root()) }, end: at };
}
