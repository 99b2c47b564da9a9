/** The policies that decided an evaluation. Tested by `test/cli/commands/runs/show.test.ts`. */
import type { PolicyEvaluationRecord } from '../../contract/governance.ts';
import { isObject } from '../json/object.ts';

interface DecidingPolicy {
  readonly policyId: string;
  readonly version: number | null;
  readonly reasoning: string;
}

/** The policies whose decision is the combined one. */
export function decidingPolicies({
  decisions,
  combined,
}: Pick<PolicyEvaluationRecord, 'decisions' | 'combined'>): DecidingPolicy[] {
  return (Array.isArray(decisions) ? (decisions as unknown[]) : []).flatMap((each) => {
    if (!isObject(each)) return [];
    const { policyId, version, decision, outcome, reasoning } = each;
    if (decision !== combined || outcome === 'not_matched' || typeof policyId !== 'string') return [];
    return [
      {
        policyId,
        version: typeof version === 'number' ? version : null,
        reasoning: typeof reasoning === 'string' ? reasoning : '',
      },
    ];
  });
}
