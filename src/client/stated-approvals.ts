/**
 * Signed approvals in a bundle, for runtimes without Node: their keys (ECDSA, RSA) need node:crypto, so nothing is verified
 * here, and the check says so. The layer `policy_compliance` then is the log's word for the signatures.
 * Tested by `test/service/approvers/bundle.test.ts`.
 */
import { signedIn } from '../core/proof/answers.ts';
import type { BundleFrame } from '../core/proof/bundle.ts';
import type { Statement } from '../core/proof/statement.ts';
import type { CheckList } from '../core/proof/verdict.ts';

export function checkApprovals(
  _frame: BundleFrame,
  { statements }: { readonly statements: ReadonlyMap<string, Statement> },
  checks: CheckList,
): void {
  const claimed = signedIn(statements.get('policy_compliance')) ?? [];
  if (claimed.length === 0) return;
  const detail = `${claimed.length} by the word of the log; verify them with gov proofs verify, or in Node`;
  checks.skip('approval_signatures', detail);
}
