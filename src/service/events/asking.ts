/**
 * Changes that must not outlive the credential they are asked with (contract B8, M6): of credentials, projects and
 * approvals. `append` does not take their effects; what does is told who asks, and has the store judge the caller by its
 * own rows, in the transaction of the change. Proven by `test/service/access/callers.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import type { Scope } from '../../contract/operation.ts';
import type { AppendRequest, Effect, RequiredCaller } from '../../store/port/store.ts';
import { appendGuarded, refuseOutdated, type Refused, type Stored } from './append.ts';
import type { Caller, Replayed } from '../call/handler.ts';
import type { Services } from '../dependencies.ts';

/** Who asks, and the scopes that the change relies on: of the operation, and what is given to others. */
export type Asking =
  | { readonly caller: Caller; readonly scopes: readonly [Scope, ...string[]] }
  | typeof byOperator;

/** Somebody at the machine, who needs no credential. */
export const byOperator = 'operator';

/** The same, where the change gives these scopes to others. */
export const asksFor = (asking: Asking, gives: readonly string[]): Asking =>
  asking === byOperator ? asking : { caller: asking.caller, scopes: [...asking.scopes, ...gives] };

/** What the store is to require; null for the operator, and for a person with an ID token, of which it knows nothing. */
export function requiredOf(asking: Asking, atMs: number): RequiredCaller | null {
  if (asking === byOperator || asking.caller.credential === null) return null;
  const { credential } = asking.caller;
  return { kind: 'requireCaller', credential, scopes: asking.scopes, atMs };
}

/**
 * As `append`, of effects that somebody has to be known for. INVALID_CREDENTIAL and INSUFFICIENT_SCOPE where the caller
 * is no longer what this process believes.
 */
export async function appendFor(
  services: Services,
  asking: Asking,
  request: AppendRequest,
): Promise<Stored | Replayed> {
  return refuseOutdated(await appendForOrStale(services, asking, request));
}

/** As above, as `appendOrStale`. */
export async function appendForOrStale(
  services: Services,
  asking: Asking,
  request: AppendRequest,
): Promise<Stored | Replayed | Refused> {
  const required = requiredOf(asking, services.now());
  const effects: Effect[] = [...(required === null ? [] : [required]), ...(request.effects ?? [])];
  return believed(services, asking, () => appendGuarded(services, { ...request, effects }));
}

/** Asks for a caller anew who turned out to be another than this process believes. */
export async function believed<Value>(
  { forgetCredential }: Pick<Services, 'forgetCredential'>,
  asking: Asking,
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
