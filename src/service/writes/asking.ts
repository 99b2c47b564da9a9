/**
 * The caller of a change that needs a valid credential at the moment of the change (contract B8, M6): of
 * credentials, projects and approvals. The store checks the caller against its own rows in the transaction of
 * the change, so a revoked key changes nothing. Proven by `test/service/access/callers.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { Scope } from '../../contract/operation.ts';
import type { RequiredCaller } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import type { Services } from '../port/services.ts';

/** The caller, and the scopes that the change needs: those of the operation, and those that it grants. */
export type Requester =
  | { readonly caller: Caller; readonly scopes: readonly [Scope, ...string[]] }
  | typeof byOperator;

/** An operator at the machine, who needs no credential. */
export const byOperator = 'operator';

/** The same caller, for a change that grants these scopes to others. */
export const asksFor = (asking: Requester, gives: readonly string[]): Requester =>
  asking === byOperator ? asking : { caller: asking.caller, scopes: [...asking.scopes, ...gives] };

/**
 * The caller that the store must check. Null for the operator, and for a person with an ID token, which the
 * store does not know.
 */
export function requiredOf(asking: Requester, atMs: number): RequiredCaller | null {
  if (asking === byOperator || asking.caller.credential === null) return null;
  const { credential } = asking.caller;
  return { kind: 'requireCaller', credential, scopes: asking.scopes, atMs };
}

/**
 * Runs a change. Where the store refuses the caller, drops the cached credential so that the next request
 * looks it up.
 */
export async function forgettingRefused<Value>(
  { forgetCredential }: Pick<Services, 'forgetCredential'>,
  asking: Requester,
  change: () => Promise<Value>,
): Promise<Value> {
  try {
    return await change();
  } catch (error) {
    const isOther = error instanceof GovError && (error.status === 401 || error.status === 403);
    if (isOther && asking !== byOperator) forgetCredential(asking.caller.id);
    throw error;
  }
}
