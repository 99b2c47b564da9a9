/**
 * Appends events that were judged by the project's newest rules: redaction and quota. A process caches these
 * rules for seconds (`src/service/credentials/callers.ts`), so the store refuses events that were judged by
 * old ones, and this file judges them again. The writer already knows when its project last changed, so the
 * check costs nothing else. Proven by `test/service/events/judged.test.ts`.
 */
import { refusedCredential } from '../../core/credential.ts';
import { append, type PlainRequest } from '../writes/append.ts';
import type { StoredAppend } from '../log/append-result.ts';
import { notFound, type ReplayedResponse } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import type { Services } from '../port/services.ts';
import { rulesOf } from '../call/settings.ts';
import { eventMeter } from './batch.ts';

/**
 * Appends the events that `judge` returns to the caller's project, metered. INVALID_CREDENTIAL or NOT_FOUND
 * where the project was deleted in the meantime, OVERLOADED where it keeps changing.
 */
export async function recordEvents(
  services: Services,
  caller: Caller,
  judge: (by: Caller) => Promise<JudgedEvents> | JudgedEvents,
): Promise<StoredAppend | ReplayedResponse> {
  let by = caller;
  const { projectId } = caller.project;
  return services.runs.untilJudged(projectId, 'the project', async () => {
    const { revisedMs } = by.rules;
    const judged = judge(by);
    // avoids a turn of the loop where no promise is needed, which is nearly always
    const request = judged instanceof Promise ? await judged : judged;
    const stored = await append(
      services,
      { ...request, projectId },
      { meter: eventMeter(services, by), expect: revisedMs === undefined ? {} : { revisedMs } },
    );
    if ('replayed' in stored || stored.outcome === 'stored') return stored;
    services.forgetCredential(projectId);
    by = await asOfNow(services, by);
    return null;
  });
}

/** A request of judged events to the caller's project. */
type JudgedEvents = Omit<PlainRequest, 'projectId'>;

/** The caller with the project's current rules. */
async function asOfNow({ store, hosting }: Services, caller: Caller): Promise<Caller> {
  const { projectId, organizationId, environment } = caller.project;
  const stored = await store.storedProject(organizationId, projectId);
  if (stored === null || stored.deletedMs !== null || hosting === null) {
    throw caller.type === 'api_key' ? refusedCredential() : notFound('project');
  }
  return { ...caller, rules: rulesOf(stored, hosting.quotas[environment]) };
}
