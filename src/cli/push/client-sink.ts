/** The service as a sink: the typed client, which retries what is transient under the same idempotency key. */
import type { Client } from '../../client/create.ts';
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
});
