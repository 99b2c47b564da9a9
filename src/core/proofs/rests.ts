/**
 * What each check rests on. Where a check fails, those that rest on it are not shown as passed: that the log has no more events
 * than a file shows says nothing about a file whose events are others. A missing key is no finding against the file, so it
 * takes nothing back. Proven by `test/core/proofs/rests.test.ts`.
 */
import type { CheckId, CheckResult } from './verdict.ts';

/** Check → the checks that it rests on. */
export type Prerequisites<Id extends string> = Readonly<Partial<Record<Id, readonly Id[]>>>;

/** The results, with a passed check `not_checked` where one that it rests on, at any depth, failed. */
export function settled<Id extends string>(
  results: readonly CheckResult<Id>[],
  rests: Prerequisites<Id>,
): CheckResult<Id>[] {
  return results.map((each) => {
    const fault = each.result === 'passed' ? failedUnder(rests[each.id] ?? [], results, rests) : null;
    return fault === null ? each : { id: each.id, result: 'not_checked', detail: restsText(fault.id) };
  });
}

/** The first failed one of these checks and of those that they rest on, at any depth; null where none failed. */
export function failedUnder<Id extends string>(
  ids: readonly Id[],
  results: readonly CheckResult<Id>[],
  rests: Prerequisites<Id>,
): CheckResult<Id> | null {
  const under = new Set<Id>(ids);
  // a set gives what is added while it is read
  for (const id of under) for (const below of rests[id] ?? []) under.add(below);
  return results.find((each) => under.has(each.id) && isFault(each)) ?? null;
}

const isFault = ({ result, code }: CheckResult<string>): boolean =>
  result === 'failed' && code !== 'NO_TRUSTED_KEY';

const restsText = (id: string): string => `it rests on ${id}, which failed`;

/** The checks of a proof bundle. */
export const bundleRests: Prerequisites<CheckId> = {
  layer_statements: ['proof_hash'],
  proof_inclusion: ['checkpoint_signatures', 'proof_hash'],
  consistency: ['checkpoint_signatures'],
  tree_root: ['checkpoint_signatures', 'layer_statements'],
  witnesses: ['checkpoint_signatures'],
  completeness: ['consistency', 'tree_root', 'proof_inclusion', 'events'],
  events: ['tree_root'],
  disclosures: ['events'],
  approval_signatures: ['tree_root', 'events'],
  graph: ['tree_root'],
  graph_derivation: ['graph', 'events', 'disclosures'],
  layers_recomputed: ['events', 'graph', 'disclosures'],
  layers_satisfied: [
    'commitment',
    'proof_inclusion',
    'consistency',
    'completeness',
    'approval_signatures',
    'graph_derivation',
    'layers_recomputed',
  ],
};

/** What each layer of a proof rests on, beside the proof and what ties every layer to the log. */
export const layerRests: Readonly<Record<string, readonly CheckId[]>> = {
  event_integrity: ['events', 'completeness'],
  causal_consistency: ['events', 'graph', 'graph_derivation'],
  policy_compliance: ['events', 'disclosures', 'approval_signatures', 'completeness'],
  decision_lineage: ['completeness'],
  replay_determinism: [],
  log_inclusion: [],
  'x-coverage': ['events', 'disclosures'],
  'x-recordings': ['events', 'disclosures'],
};
