/**
 * The layers of a compliance proof (`docs/reference/proof-format.md`): their names, order and statements.
 * A layer depends only on the leaves below a tree size, so it can be recomputed at any later time.
 * `integrity.ts` has `event_integrity`. Proven by `test/core/proofs/layers.test.ts`.
 */
import type { FieldCode } from '../../contract/field-codes.ts';
import type { LayerName } from '../../contract/proofs.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { GraphFacts } from '../graphs/rows.ts';
import { hashText } from '../hash.ts';
import type { JsonObject } from '../json/parse.ts';
import { emptyRoot } from '../merkle/tree.ts';
import { type LayerResult, verdictOf } from './statement.ts';

/** Layers in response order, equal to `layerNames` of the contract (`test/core/proofs/layers.test.ts`). */
export const layerOrder: readonly LayerName[] = [
  'event_integrity',
  'causal_consistency',
  'policy_compliance',
  'decision_lineage',
  'replay_determinism',
  'log_inclusion',
  'x-coverage',
  'x-recordings',
];
const layersByDefault: readonly LayerName[] = layerOrder.slice(0, 3);

/**
 * Returns the layers to prove, in response order; always includes `event_integrity`. Throws VALIDATION_ERROR for an
 * empty list, a repeated name, or an unknown one. The client controls the names.
 */
export function chooseLayers(requested: readonly string[] = layersByDefault): LayerName[] {
  const refuse = (at: number, code: FieldCode, detail: string): never => {
    const pointer = at < 0 ? '/composed/layers' : `/composed/layers/${at}`;
    throw new GovError('VALIDATION_ERROR', `body ${pointer}: ${detail}`, {
      errors: [{ pointer, in: 'body', code, detail }],
    });
  };
  if (requested.length === 0) refuse(-1, 'TOO_FEW', `expected one or more of ${layerOrder.join(', ')}`);
  if (requested.length > limits.layers)
    refuse(-1, 'TOO_MANY', `expected at most ${limits.layers} layers, got ${requested.length}`);
  for (const [at, name] of requested.entries()) {
    if (!(layerOrder as readonly string[]).includes(name)) {
      refuse(
        at,
        'NOT_ALLOWED',
        `expected one of ${layerOrder.join(', ')}, got ${name.slice(0, limits.echoChars)}`,
      );
    }
    if (requested.indexOf(name) !== at) refuse(at, 'DUPLICATE_ITEM', 'expected each layer once');
  }
  return layerOrder.filter((name) => name === 'event_integrity' || requested.includes(name));
}

/** The part of the run that a graph covers. */
export interface GraphExtent {
  /** Index of the gov.graph/1 leaf; null where the graph is that of the run at S, and its leaf follows S. */
  readonly graphIndex: number | null;
  /** The graph covers the events below this leaf index. Absent: below `graphIndex`. */
  readonly through?: number;
}

/**
 * The layer `causal_consistency` of a logged graph. `runEvents`: number of events of the run in the extent of the graph,
 * which must cover all of them.
 */
export function causalConsistency(
  facts: GraphFacts,
  { runEvents, ...extent }: GraphExtent & { readonly runEvents: number },
): LayerResult {
  const { nodes, edges, rootHash, events, unresolved } = facts;
  const { acyclic, causesBeforeEffects, nodesBoundToLeaves } = facts.checks;
  const checks = [
    { id: 'acyclic', pass: acyclic },
    { id: 'causes_before_effects', pass: causesBeforeEffects },
    { id: 'nodes_bound_to_leaves', pass: nodesBoundToLeaves && events === runEvents },
  ];
  return {
    layer: 'causal_consistency',
    claims: { ...extent, events, nodes: { ...nodes }, edges: { ...edges }, rootHash, unresolved },
    checks,
    verdict: verdictOf(checks),
  };
}

const emptyList = (): JsonObject => ({ n: 0, root: hashText(emptyRoot) });

/** The layer `policy_compliance` of a project without an active policy: it passes, and its code says why. */
export const noPolicyActive = (): LayerResult => ({
  layer: 'policy_compliance',
  claims: {
    code: 'NO_POLICY_ACTIVE',
    vacuous: true,
    policySets: [],
    decisions: emptyList(),
    denied: 0,
    escalated: 0,
    undecided: 0,
  },
  checks: [
    { id: 'sets_were_in_force', pass: true },
    { id: 'every_governed_event_decided', pass: true },
    { id: 'nothing_ran_after_deny', pass: true },
    { id: 'escalations_approved', pass: true },
  ],
  verdict: 'pass',
});

/** The layer `decision_lineage` of a run without risk decisions: a layer that is not run is not satisfied. */
export const decisionNotRun = (): LayerResult => ({
  layer: 'decision_lineage',
  claims: { code: 'DECISION_NOT_RUN', decisions: emptyList() },
  checks: [],
  verdict: 'not_run',
});

/** The layer `replay_determinism` of a run that was never replayed: a layer that is not run is not satisfied. */
export const replayNotRun = (): LayerResult => ({
  layer: 'replay_determinism',
  claims: { code: 'REPLAY_NOT_RUN', steps: 0, mismatches: emptyList(), replayId: null, snapshot: null },
  checks: [],
  verdict: 'not_run',
});

/** Checkpoint S, the signed checkpoint before it, and its witnesses. */
export interface LogFacts {
  /** The signed text of checkpoint S: origin, size, root. */
  readonly checkpoint: string;
  /** Whether a key of the log signed it. */
  readonly signed: boolean;
  /** The signed checkpoint before S, null if S is the first; `consistent`: S extends it. */
  readonly previous: { readonly size: number; readonly consistent: boolean } | null;
  /** The witnesses that cosigned S, `<name>+<key id>`, and the number that the log requires; 0: no witness. */
  readonly cosigners: readonly string[];
  readonly quorum: number;
}

/** The layer `log_inclusion`: checkpoint S is signed, extends the previous one, and has the required cosignatures. */
export function logInclusion({ checkpoint, signed, previous, cosigners, quorum }: LogFacts): LayerResult {
  const checks = [
    { id: 'checkpoint_signed', pass: signed },
    { id: 'consistent_with_previous', pass: previous === null || previous.consistent },
    { id: 'witness_policy_met', pass: cosigners.length >= quorum },
  ];
  return {
    layer: 'log_inclusion',
    claims: {
      checkpoint,
      previousSize: previous?.size ?? null,
      cosigners: [...cosigners],
      quorum,
      witness: cosigners.length === 0 ? 'unwitnessed' : 'witnessed',
    },
    checks,
    verdict: verdictOf(checks),
  };
}
