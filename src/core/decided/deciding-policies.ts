/** The policies behind a recorded evaluation. Tested by `test/cli/commands/runs/show.test.ts`. */
import type { PolicyEvaluationRecord } from '../../contract/governance.ts';
import { isObject } from '../json/object.ts';

interface DecidingPolicy {
  readonly policyId: string;
  readonly version: number | null;
  readonly reasoning: string;
}

/** The policies whose decision is the combined one. */
export const decidingPolicies = ({
  decisions,
  combined,
}: Pick<PolicyEvaluationRecord, 'decisions' | 'combined'>): DecidingPolicy[] =>
  policiesOf(decisions, (decision) => decision === combined).map(({ policyId, version, reasoning }) => ({
    policyId,
    version,
    reasoning,
  }));

/** The policies in review that would have decided something; nobody enforced it. */
export const reviewedPolicies = ({ shadow }: Pick<PolicyEvaluationRecord, 'shadow'>) =>
  policiesOf(shadow, () => true);

/** The recorded decisions of a kind whose condition holds or cannot be decided. */
const policiesOf = (
  decisions: unknown,
  isWanted: (decision: unknown) => boolean,
): (DecidingPolicy & { readonly decision: string })[] =>
  (Array.isArray(decisions) ? (decisions as unknown[]) : []).flatMap((each) => {
    if (!isObject(each)) return [];
    const { policyId, version, decision, outcome, reasoning } = each;
    if (!isWanted(decision) || outcome === 'not_matched' || typeof policyId !== 'string') return [];
    return [
      {
        policyId,
        version: typeof version === 'number' ? version : null,
        decision: String(decision),
        reasoning: typeof reasoning === 'string' ? reasoning : '',
      },
    ];
  });
