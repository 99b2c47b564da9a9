/** A plane as a process of its own, for scripts that kill it or take its disk away. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serveProcess, type ProcessOptions, type ServingProcess } from '../support/process.ts';

export interface Serving extends Omit<ServingProcess, 'log'> {
  readonly key: string;
  /** Lines of the log so far. */
  readonly log: () => readonly string[];
}

/** Starts the plane in a directory that `plane init` made; rejects with its log where it does not come up. */
export async function serve(dataDir: string, options?: ProcessOptions): Promise<Serving> {
  const served = await serveProcess('plane', dataDir, options);
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  return {
    ...served,
    key,
    log: () =>
      served
        .log()
        .split('\n')
        .filter((line) => line !== ''),
  };
}

export interface Answer {
  readonly status: number;
  // oxlint-disable-next-line typescript/no-explicit-any -- whatever a plane answers
  readonly body: any;
}

/** A body of `POST /events/batch`: an event for each text. */
export const batchOf = (runId: string, texts: readonly string[]) => ({
  events: texts.map((text) => ({
    runId,
    eventType: 'tool.call',
    actor: { name: 'writer' },
    action: 'write',
    timestamp: '2026-03-01T09:30:00Z',
    metadata: { text },
  })),
});

/** One request; rejects where the connection ends before the answer does. */
export async function ask(
  { baseUrl, key }: Serving,
  path: string,
  options: { body?: unknown; headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> {
  const { body, headers = {} } = options;
  const answer = await fetch(`${baseUrl}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  return { status: answer.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
}

export interface StoredEvent {
  readonly eventId: string;
  readonly clientEventId: string | null;
}

/** Every event of a run. */
export async function eventsOf(plane: Serving, runId: string): Promise<StoredEvent[]> {
  const events: StoredEvent[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { status, body } = await ask(
      plane,
      `/events?runId=${runId}&limit=1000${cursor && `&cursor=${cursor}`}`,
    );
    if (status !== 200) throw new Error(`reading run ${runId}: ${status} ${JSON.stringify(body)}`);
    events.push(...(body.events as StoredEvent[]));
    cursor = (body.nextCursor as string | null) ?? null;
  }
  return events;
}
