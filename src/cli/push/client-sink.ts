/**
 * The service as a sink. The typed client retries temporary failures under the same idempotency key.
 * Tested by `test/cli/push/run.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import type { AuditEvent } from '../../contract/events.ts';
import { GovApiError } from '../../client/errors.ts';
import { limits } from '../../contract/limits.ts';
import { answered, type Sink } from '../../client/sending/deliver.ts';

export const clientSink = (client: Client): Sink => {
  const runs = new RunList(client);
  return {
    async push({ key, events }, signal) {
      const { body, headers } = await client.createEvents({
        body: { events: [...events] },
        idempotencyKey: key,
        signal,
      });
      return answered(body, headers);
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
    async count(runId, signal) {
      try {
        const { body } = await client.countEvents({ query: { runId }, signal });
        return body.count;
      } catch (failure) {
        if (!(failure instanceof GovApiError)) return undefined;
        if (failure.status === 404) return 0;
        return undefined;
      }
    },
    async newest(runId, { signal, ...of }) {
      try {
        const { body } = await client.listEvents({ query: { runId, order: 'desc', ...of }, signal });
        return body.events;
      } catch (failure) {
        if (failure instanceof GovApiError) return [];
        throw failure;
      }
    },
    async stored(runId, signal) {
      if (await runs.lacks(runId, signal)) return [];
      return eventsOf(client, { runId, signal });
    },
  };
};

/** Pages of runs that are listed: one at once, the others when many runs are asked for one by one. */
const mostPages = 10;
const manyAsked = 20;

/** The runs of a service as they were at the beginning: one list saves a request for each run that is new. */
class RunList {
  readonly #client: Client;
  readonly #ids = new Set<string>();
  #cursor: string | null | undefined;
  #pages = 0;
  #asked = 0;
  #last: Promise<void> = Promise.resolve();

  constructor(client: Client) {
    this.#client = client;
  }

  /** Whether the service has no such run; false also if that is unknown. */
  async lacks(runId: string, signal: AbortSignal): Promise<boolean> {
    this.#asked += 1;
    this.#last = this.#last.then(() => this.#read(this.#asked > manyAsked ? mostPages : 1, signal));
    await this.#last;
    return this.#cursor === null && !this.#ids.has(runId);
  }

  async #read(pages: number, signal: AbortSignal): Promise<void> {
    for (; this.#pages < pages && this.#cursor !== null; this.#pages++) {
      const query = { limit: limits.pageMax, cursor: this.#cursor };
      const { body } = await this.#client.listRuns({ query, signal });
      for (const { runId } of body.data) this.#ids.add(runId);
      this.#cursor = body.nextCursor;
    }
  }
}

async function eventsOf(
  client: Client,
  { runId, signal }: { runId: string; signal: AbortSignal },
): Promise<readonly AuditEvent[]> {
  const found: AuditEvent[] = [];
  let cursor: string | undefined;
  do {
    const query = { runId, limit: limits.eventPageMax, cursor };
    const { body } = await client.listEvents({ query, signal });
    found.push(...body.events);
    cursor = body.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}
