/**
 * The service as a sink. The typed client retries temporary failures under the same idempotency key.
 * Tested by `test/cli/push/run.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import type { AuditEvent } from '../../contract/events.ts';
import { GovApiError } from '../../client/errors.ts';
import { limits } from '../../contract/limits.ts';
import type { Sink } from './deliver.ts';

export const clientSink = (client: Client): Sink => ({
  async push({ key, events }, signal) {
    const { body, headers } = await client.createEvents({
      body: { events: [...events] },
      idempotencyKey: key,
      signal,
    });
    return { results: body.results, replayed: headers['idempotent-replayed'] === 'true' };
  },
  async has(eventId, signal) {
    try {
      await client.getEvent({ params: { eventId }, signal });
      return true;
    } catch (failure) {
      if (!(failure instanceof GovApiError)) return undefined;
      return failure.status === 404 ? false : undefined;
    }
  },
  async stored(runId, signal) {
    const found: AuditEvent[] = [];
    let cursor: string | undefined;
    do {
      const query = { runId, limit: limits.eventPageMax, cursor };
      const { body } = await client.listEvents({ query, signal });
      found.push(...body.events);
      cursor = body.nextCursor ?? undefined;
    } while (cursor !== undefined);
    return found;
  },
});
