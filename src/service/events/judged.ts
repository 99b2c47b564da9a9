/**
 * Appends events that were judged by the project's newest rules: redaction and quota. A process caches these
 * rules for seconds (`src/service/credentials/callers.ts`), so the store refuses events that were judged by
 * old ones, and this file judges them again. The writer already knows when its project last changed, so the
 * check costs nothing else. Proven by `test/service/events/judged.test.ts`.
 */
import { refusedCredential } from '../../core/credential.ts';
import { refuseOutdated } from '../writes/append.ts';
import type { StoredAppend } from '../log/append-result.ts';
import { notFound, type Replayed } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import { appendMeteredOrStale, type MeteredCall, type Uncounted } from '../billing/quota.ts';
import type { Services } from '../port/services.ts';
import { rulesOf } from '../call/settings.ts';

/**
 * Appends the result of `judge` like `appendMetered`. INVALID_CREDENTIAL or NOT_FOUND where the project was
 * deleted in the meantime, OVERLOADED where it keeps changing.
 */
export async function appendJudged(
  services: Services,
  counted: MeteredCall,
  judge: (caller: Caller) => Promise<Uncounted> | Uncounted,
): Promise<StoredAppend | Replayed> {
  let { caller } = counted;
  const { projectId } = caller.project;
  return services.runs.untilJudged(projectId, 'the project', async () => {
    const { revisedMs } = caller.rules;
    const judged = judge(caller);
    // avoids a turn of the loop where no promise is needed, which is nearly always
    const request = judged instanceof Promise ? await judged : judged;
    const appended = revisedMs === undefined ? request : { ...request, revisedMs };
    const by = caller === counted.caller ? counted : { ...counted, caller };
    const stored = await appendMeteredOrStale(services, by, appended);
    if (!('outcome' in stored) || stored.outcome !== 'revised') return refuseOutdated(stored);
    services.forgetCredential(projectId);
    caller = await asOfNow(services, caller);
    return null;
  });
}

/** The caller with the project's current rules. */
async function asOfNow({ store, hosting }: Services, caller: Caller): Promise<Caller> {
  const { projectId, organizationId, environment } = caller.project;
  const stored = await store.storedProject(organizationId, projectId);
  if (stored === null || stored.deletedMs !== null || hosting === null) {
    throw caller.type === 'api_key' ? refusedCredential() : notFound('project');
  }
  return { ...caller, rules: rulesOf(stored, hosting.quotas[environment]) };
}
