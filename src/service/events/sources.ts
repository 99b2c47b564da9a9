/** Sources of received telemetry (contract P18). Proven by `test/service/events/sources.engines.test.ts`. */
import { limits } from '../../contract/limits.ts';
import type { Source } from '../../contract/sources.ts';
import type { SourceState } from '../../core/intake/otlp/sources.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ByAge } from '../../store/port/store.ts';
import type { Handlers } from '../call/handler.ts';
import { byAge, listPage, pageLimit } from '../call/pages.ts';

/** The beginning of the names of facts about sources. */
export const sourcePrefix = 's:';

export const sources: Pick<Handlers, 'listSources'> = {
  async listSources({ query, caller }, services) {
    const { projectId } = caller.project;
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'sources', projectId, filters: {} },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: ({ after, limit }: { after?: ByAge; limit: number }) =>
        services.store.factsFrom(projectId, sourcePrefix, {
          limit,
          ...(after === undefined ? {} : { after: after.id }),
        }),
      // names have no age
      position: ({ name }) => byAge(0, name),
    });
    return { status: 200, body: { data: rows.map(({ value }) => sourceBody(value)), nextCursor } };
  },
};

/** The service wrote the text itself. */
function sourceBody(value: string): Source {
  const { firstSeenMs, lastSeenMs, offsetMs, ...state } = JSON.parse(value) as SourceState;
  return {
    ...state,
    firstSeenAt: formatTimestamp(firstSeenMs),
    lastSeenAt: formatTimestamp(lastSeenMs),
    clockOffsetMs: offsetMs,
  };
}
