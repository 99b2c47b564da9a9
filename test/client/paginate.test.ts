import { expect, expectTypeOf, it } from 'vitest';
import { createClient, paginate } from '../../src/client/index.ts';
import type { AuditEvent, Run } from '../../src/client/index.ts';
import { json, startServer } from './server.ts';

it('paginate reads every page of data or events with the filters of the first page', async () => {
  const server = await startServer((seen, response) => {
    const url = new URL(seen.url, 'http://x');
    const at = Number(url.searchParams.get('cursor') ?? '0');
    const page = [{ sequence: at }, { sequence: at + 1 }];
    const nextCursor = at < 4 ? String(at + 2) : null;
    json(
      response,
      200,
      url.pathname.endsWith('/runs') ? { data: page, nextCursor } : { events: page, nextCursor },
    );
  });
  const client = createClient({ baseUrl: server.baseUrl, env: {} });
  const sequences: number[] = [];
  for await (const event of paginate(client.listEvents, { query: { runId: 'r' } })) {
    expectTypeOf(event).toEqualTypeOf<AuditEvent>();
    sequences.push(event.sequence);
  }
  expect(sequences).toEqual([0, 1, 2, 3, 4, 5]);
  expect(server.seen.every((seen) => seen.url.includes('runId=r'))).toBe(true);
  let runs = 0;
  for await (const run of paginate(client.listRuns, {})) {
    expectTypeOf(run).toEqualTypeOf<Run>();
    runs += 1;
    if (runs === 3) break;
  }
  expect(server.seen.filter((seen) => seen.url.includes('/runs'))).toHaveLength(2);
  await server.close();
});

it('paginate stops with an error when the cursor does not change', async () => {
  const list = async () => ({ body: { data: [1], nextCursor: 'same' } });
  const walk = async () => {
    for await (const item of paginate(list, {})) expect(item).toBe(1);
  };
  await expect(walk()).rejects.toThrow(/expected a new cursor/);
});
