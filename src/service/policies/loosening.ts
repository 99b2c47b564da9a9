/**
 * Which change of the policies in force loosens a plane (contract O23). A new policy never does, because the strictest
 * decision counts; but a map of money (`mcp-map.SERVER`) can hide an amount from the others. Proven by `test/service/policies/loosening.test.ts`.
 */
import { isMapPolicy } from '../../core/action/money.ts';
import { canonicalize, type JsonObject } from '../../core/json/parse.ts';
import { decide, restriction } from '../../core/policies/evaluate/decision.ts';
import type { PolicyVersion } from '../../core/policies/set/member.ts';

/**
 * What a change does that an approver has to sign, after “to”; null where it only tightens, or changes nothing. `after`:
 * undefined where the version in force stays.
 */
export function loosening(
  before: PolicyVersion | undefined,
  after: PolicyVersion | null | undefined,
): string | null {
  if (before === undefined && after && isMapPolicy(after.policyId))
    return `say with policy ${after.policyId} where calls have money`;
  if (before === undefined || after === undefined || before.policyHash === after?.policyHash) return null;
  const { policyId } = before;
  if (after === null) return `end policy ${policyId}`;
  if (canonicalize(before.condition) !== canonicalize(after.condition))
    return `change the condition of policy ${policyId}`;
  if (restriction(after.action) < restriction(before.action))
    return `change policy ${policyId} from ${before.action} to ${after.action}`;
  const [was, is] = [before, after].map(
    ({ action, onIndeterminate }) => decide(action, 'indeterminate', onIndeterminate).decision,
  );
  if (was !== undefined && is !== undefined && restriction(is) < restriction(was))
    return `change what policy ${policyId} decides where nobody knows, from ${was} to ${is}`;
  // a member that this function does not know
  if (canonicalize(othersOf(before)) !== canonicalize(othersOf(after)))
    return `change policy ${policyId} in more than its action`;
  const isSigned = after.requireSignedApproval === true || (after.action === 'deny' && is === 'deny');
  return before.requireSignedApproval === true && !isSigned
    ? `let anybody approve what policy ${policyId} escalates`
    : null;
}

/** The members that only a person may judge. */
function othersOf({
  policyId: _id,
  name: _name,
  version: _version,
  severity: _severity,
  policyHash: _hash,
  condition: _condition,
  action: _action,
  requireSignedApproval: _signed,
  onIndeterminate: _unknown,
  ...others
}: PolicyVersion): JsonObject {
  return { ...others };
}
