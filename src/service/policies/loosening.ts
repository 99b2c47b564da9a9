/**
 * Which change of the policies in force loosens a plane (contract O23). A new policy never does, because the strictest
 * decision counts. Proven by `test/service/policies/loosening.test.ts`.
 */
import type { PolicyAction } from '../../contract/policy-words.ts';
import { canonicalize } from '../../core/json/parse.ts';
import type { PolicyVersion } from '../../core/policies/set/member.ts';

/** From the mildest. */
const actions: readonly PolicyAction[] = ['allow', 'warn', 'escalate', 'deny'];

/**
 * What a change does that an approver has to sign, after “to”; null where it only tightens, or changes nothing. `after`:
 * undefined where the version in force stays.
 */
export function loosening(
  before: PolicyVersion | undefined,
  after: PolicyVersion | null | undefined,
): string | null {
  if (before === undefined || after === undefined || before.policyHash === after?.policyHash) return null;
  const { policyId } = before;
  if (after === null) return `end policy ${policyId}`;
  if (canonicalize(before.condition) !== canonicalize(after.condition))
    return `change the condition of policy ${policyId}`;
  if (actions.indexOf(after.action) < actions.indexOf(before.action))
    return `change policy ${policyId} from ${before.action} to ${after.action}`;
  const isSigned = after.requireSignedApproval === true || after.action === 'deny';
  return before.requireSignedApproval === true && !isSigned
    ? `let anybody approve what policy ${policyId} escalates`
    : null;
}
