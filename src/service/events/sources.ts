/** Sources of received telemetry (contract P18). Proven by `test/service/events/sources.engines.test.ts`. */
import { limits } from '../../contract/limits.ts';
import type { Source, SourceDay } from '../../contract/sources.ts';
import { isBalanced, type DayBalance } from '../../core/intake/otlp/day-balance.ts';
import { isSilent, serviceId, type ServiceState, type SourceState } from '../../core/intake/otlp/sources.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ByAge } from '../../store/port/store.ts';
import type { Handlers } from '../port/handler.ts';
import { byAge, listPage, pageLimit } from '../call/pages.ts';
import { factNames } from './facts.ts';

export const sources: Pick<Handlers, 'listSources' | 'listSourceDays'> = {
  async listSources({ query, caller }, services) {
    const { projectId } = caller.project;
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'sources', projectId, filters: {} },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: ({ after, limit }: { after?: ByAge; limit: number }) =>
        services.store.factsFrom(projectId, factNames.source, {
          limit,
          ...(after === undefined ? {} : { after: after.id }),
        }),
      // names have no age
      position: ({ name }) => byAge(0, name),
    });
    // the service wrote these texts itself
    const states = rows.map(({ value }) => JSON.parse(value) as SourceState);
    const names = new Set(states.map(({ service }) => factNames.service + serviceId(service)));
    const ofServices = await services.store.facts(projectId, [...names]);
    const nowMs = services.now();
    const isSilentNow = ({ service }: SourceState): boolean => {
      const fact = ofServices.get(factNames.service + serviceId(service));
      return fact !== undefined && isSilent(JSON.parse(fact.value) as ServiceState, nowMs);
    };
    const data = states.map((state) => sourceBody(state, isSilentNow(state)));
    return { status: 200, body: { data, nextCursor } };
  },

  async listSourceDays({ query, caller }, services) {
    const { projectId } = caller.project;
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'sources', projectId, filters: { by: 'day' } },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: ({ after, limit }: { after?: ByAge; limit: number }) =>
        services.store.factsFrom(projectId, factNames.day, {
          limit,
          ...(after === undefined ? {} : { after: after.id }),
        }),
      position: ({ name }) => byAge(0, name),
    });
    return { status: 200, body: { data: rows.map(({ value }) => dayBody(value)), nextCursor } };
  },
};

function dayBody(value: string): SourceDay {
  // the service wrote it
  const balance = JSON.parse(value) as DayBalance;
  return { ...balance, balanced: isBalanced(balance) };
}

function sourceBody({ firstSeenMs, lastSeenMs, offsetMs, ...state }: SourceState, silent: boolean): Source {
  return {
    ...state,
    firstSeenAt: formatTimestamp(firstSeenMs),
    lastSeenAt: formatTimestamp(lastSeenMs),
    silent,
    clockOffsetMs: offsetMs,
  };
}
