/**
 * Sources that fell silent (contract P18): a service that has sent telemetry for at least `limits.sourceSilentHours` and
 * then nothing for longer than that. Programs that ran once raise no alarm. Health names them until they send again, or
 * until the sweep forgets them. Proven by `test/service/events/silence.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { isSilent, type ServiceState } from '../../core/intake/otlp/sources.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { Services } from '../port/services.ts';
import { factNames } from './facts.ts';

/** Services that a reason names. */
const named = 3;
const pageFacts = 500;

/** Returns one reason for health; none where every service of the project sends. Reads `limits.sourcesWatched` services. */
export async function silentSources(
  { store, now }: Pick<Services, 'store' | 'now'>,
  projectId: string,
): Promise<readonly string[]> {
  const silent: ServiceState[] = [];
  let after: string | undefined;
  for (let read = 0; read < limits.sourcesWatched; read += pageFacts) {
    const page = { limit: pageFacts, ...(after === undefined ? {} : { after }) };
    const facts = await store.factsFrom(projectId, factNames.service, page);
    const states = facts.map(({ value }) => JSON.parse(value) as ServiceState);
    silent.push(...states.filter((state) => isSilent(state, now())));
    if (facts.length < pageFacts) break;
    after = facts.at(-1)?.name;
  }
  if (silent.length === 0) return [];
  const names = silent
    .toSorted((a, b) => a.lastSeenMs - b.lastSeenMs)
    .slice(0, named)
    .map(({ service, lastSeenMs }) => `${service} since ${formatTimestamp(lastSeenMs)}`);
  const more = silent.length > named ? `, and ${silent.length - named} more` : '';
  return [`source_silent: ${names.join(', ')}${more}`];
}
