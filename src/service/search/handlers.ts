/**
 * Search over the events of all runs (contract O12, P3). Proven by `test/service/search/handlers.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { EventSearch } from '../../core/search/terms.ts';
import type { Handlers } from '../call/handler.ts';
import { pageLimit, timeRange } from '../call/pages.ts';
import { walk } from './walk.ts';

export const search: Pick<Handlers, 'searchEvents'> = {
  async searchEvents({ query, caller }, services) {
    const { store, cursors, slices, searchKey } = services;
    const { projectId } = caller.project;
    const { cursor, limit, startTime: _start, endTime: _end, ...asked } = query;
    const wanted: EventSearch = { ...asked, ...timeRange(query) };
    const scope = { list: 'search', projectId, filters: { ...wanted } };
    const opened = cursor === undefined ? undefined : cursors.open(scope, cursor);
    const { events, before } = await walk({
      store,
      projectId,
      key: searchKey,
      search: wanted,
      slice: slices.of(projectId),
      before: typeof opened === 'number' ? opened : (await store.head(projectId, 'audit')).size,
      limit: pageLimit(limit, limits.eventPageDefault, limits.eventPageMax),
    });
    return {
      status: 200,
      body: { events, nextCursor: before === null ? null : cursors.seal(scope, before) },
    };
  },
};
