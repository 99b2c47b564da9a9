/**
 * Which requests add leaves to the log of their caller, as the store sees it. Follows each request from its handler into
 * `Store.append` by its asynchronous context, so that leaves of background work count for no request.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { tracingChannel } from 'node:diagnostics_channel';
import type { FastifyRequest } from 'fastify';
import type { Store } from '../../../src/store/port/store.ts';

/** The channel on which Fastify says that it calls a handler. */
const { start: handled } = tracingChannel<FastifyRequest>('fastify.request.handler');

export interface Growth {
  /** Whether the request with this id added a leaf to the log of its caller before it was answered. */
  grew(requestId: unknown): boolean;
  stop(): void;
}

export function watchGrowth(store: Store): Growth {
  const requests = new AsyncLocalStorage<FastifyRequest>();
  // the type of Node knows no store of another type than the message
  handled.bindStore(requests, (message) => (message as unknown as { request: FastifyRequest }).request);
  const grown = new Set<unknown>();
  const append = store.append.bind(store);
  store.append = async (request) => {
    const outcome = await append(request);
    if (outcome.outcome !== 'stored') return outcome;
    const own = requests.getStore();
    const projectId = own?.caller?.project.projectId;
    const isOwn =
      request.projectId === projectId && outcome.assigned.some((each) => each.outcome === 'appended');
    if (isOwn || (outcome.home !== undefined && outcome.home === projectId)) grown.add(own?.id);
    return outcome;
  };
  return {
    grew: (requestId) => grown.has(requestId),
    stop: () => {
      handled.unbindStore(requests);
      store.append = append;
    },
  };
}
