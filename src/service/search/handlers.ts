/**
 * Search over the events of all runs (contract O12, P3). Proven by `test/service/search/handlers.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { Handlers } from '../port/handler.ts';
import { pageLimit, timeRange } from '../call/pages.ts';
import { Erasures } from '../erased/fields.ts';
import { openLeaf } from '../events/handlers.ts';
import { searchPage } from './page.ts';

export const search: Pick<Handlers, 'searchEvents'> = {
  async searchEvents({ query, caller }, services) {
    const { projectId } = caller.project;
    const { cursor, limit, startTime: _start, endTime: _end, ...asked } = query;
    const erasures = new Erasures(services.store, projectId);
    const { items, nextCursor } = await searchPage(services, {
      projectId,
      list: 'search',
      cursor,
      limit: pageLimit(limit, limits.eventPageDefault, limits.eventPageMax),
      wanted: { kind: 'event', search: { ...asked, ...timeRange(query) } },
      open: async (leaf) => {
        const event = openLeaf(leaf);
        if (leaf.erased !== undefined) await erasures.require(leaf);
        return event;
      },
    });
    return { status: 200, body: { events: items, nextCursor } };
  },
};
