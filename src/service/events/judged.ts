/**
 * Events are judged by what holds in their project: what is redacted, how much room a quota has. A process remembers that
 * for some seconds (`src/service/access/credentials.ts`), so the store refuses what was judged by anything but the newest, whichever process
 * changed it, and it is judged anew here. The writer knows when its project was changed last, so nobody else pays for
 * this. Proven by `test/service/events/judged.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { refusedCredential } from '../../core/credential.ts';
import { refuseOutdated, type Stored } from './append.ts';
import { notFound, type Caller, type Replayed } from '../call/handler.ts';
import { appendMeteredOrStale, type Counted, type Uncounted } from '../access/quota.ts';
import type { Services } from '../dependencies.ts';
import { rulesOf } from '../call/settings.ts';

const attempts = 5;

/**
 * Appends what `judge` makes for a caller, as `appendMetered`. INVALID_CREDENTIAL or NOT_FOUND where the project was
 * deleted meanwhile, OVERLOADED where it never rests.
 */
export async function appendJudged(
  services: Services,
  counted: Counted,
  judge: (caller: Caller) => Promise<Uncounted> | Uncounted,
): Promise<Stored | Replayed> {
  let { caller } = counted;
  for (let attempt = 0; attempt < attempts; attempt++) {
    const { revisedMs } = caller.rules;
    const judged = judge(caller);
    // nothing waits where it is known at once, as it nearly always is
    const request = judged instanceof Promise ? await judged : judged;
    const appended = revisedMs === undefined ? request : { ...request, revisedMs };
    const by = caller === counted.caller ? counted : { ...counted, caller };
    const stored = await appendMeteredOrStale(services, by, appended);
    if (!('outcome' in stored) || stored.outcome !== 'revised') return refuseOutdated(stored);
    services.forgetCredential(caller.project.projectId);
    caller = await asOfNow(services, caller);
  }
  throw new GovError('OVERLOADED', 'the project kept changing meanwhile; repeat later', {
    retryAfterSeconds: limits.overloadRetrySeconds,
  });
}

/** The caller with what holds in the project now. */
async function asOfNow({ store, hosting }: Services, caller: Caller): Promise<Caller> {
  const { projectId, organizationId, environment } = caller.project;
  const stored = await store.storedProject(organizationId, projectId);
  if (stored === null || stored.deletedMs !== null || hosting === null) {
    throw caller.type === 'api_key' ? refusedCredential() : notFound('project');
  }
  return { ...caller, rules: rulesOf(stored, hosting.quotas[environment]) };
}
