import { afterEach, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import type { WebSocket } from 'ws';
import { createClient, tailEvents } from '../../src/client/index.ts';
import type { TailNote } from '../../src/client/index.ts';
import { startServer } from './server.ts';

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function streaming(serve: (socket: WebSocket, url: URL, connection: number) => void) {
  const server = await startServer();
  const sockets = new WebSocketServer({ server: server.server });
  let connections = 0;
  const seen: { url: string; authorization: string | undefined }[] = [];
  sockets.on('connection', (socket, request) => {
    seen.push({ url: request.url ?? '', authorization: request.headers.authorization });
    serve(socket, new URL(request.url ?? '', 'http://x'), (connections += 1));
  });
  closers.push(
    () => sockets.clients.forEach((socket) => socket.terminate()),
    () => server.close(),
  );
  const client = createClient({ baseUrl: server.baseUrl, apiKey: 'gov_live_k', env: {} });
  return { client, seen, server, sockets };
}

it('a tail returns each event once and continues after the last sequence when the connection breaks', async () => {
  const { client, seen } = await streaming((socket, url, connection) => {
    const after = Number(url.searchParams.get('after') ?? '0');
    // the first two connections break in different ways; the third repeats one event
    const from = connection === 3 ? after : after + 1;
    for (let sequence = from; sequence <= after + 3; sequence += 1) socket.send(JSON.stringify({ sequence }));
    if (connection === 1) socket.close(1013);
    if (connection === 2) setImmediate(() => socket.terminate());
  });
  const notes: TailNote[] = [];
  const sequences: number[] = [];
  for await (const event of tailEvents(client, {
    runId: 'r 1',
    after: 0,
    observe: (note) => notes.push(note),
  })) {
    sequences.push(event.sequence);
    if (sequences.length === 9) break;
  }
  expect(sequences).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect(seen.map(({ url }) => url)).toEqual([
    '/api/v1/events/stream?runId=r+1&after=0',
    '/api/v1/events/stream?runId=r+1&after=3',
    '/api/v1/events/stream?runId=r+1&after=6',
  ]);
  expect(seen[0]?.authorization).toBe('Bearer gov_live_k');
  expect(notes.filter(({ kind }) => kind === 'reconnecting')).toHaveLength(2);
});

it('a tail that got no event yet continues where its first connection began', async () => {
  const { client, seen, sockets } = await streaming((socket, _, connection) => {
    if (connection === 1) socket.close(1012);
    else socket.send(JSON.stringify({ sequence: 8 }));
  });
  sockets.on('headers', (lines) => lines.push('Gov-Stream-After: 7'));
  const first = await tailEvents(client, {}).next();
  expect(first.value.sequence).toBe(8);
  expect(seen.map(({ url }) => url)).toEqual(['/api/v1/events/stream', '/api/v1/events/stream?after=7']);
});

it('a tail pauses the socket while the consumer is slow and loses no event', async () => {
  const { client } = await streaming((socket) => {
    for (let sequence = 1; sequence <= 2000; sequence += 1) socket.send(JSON.stringify({ sequence }));
  });
  let last = 0;
  for await (const event of tailEvents(client, {})) {
    expect(event.sequence).toBe(last + 1);
    last = event.sequence;
    if (last % 500 === 0) await new Promise((resolve) => setImmediate(resolve));
    if (last === 2000) break;
  }
  expect(last).toBe(2000);
});

it('a tail ends with the refusal that the service sent', async () => {
  const server = await startServer();
  closers.push(() => server.close());
  server.server.on('upgrade', (_request, socket) => {
    const body = JSON.stringify({ code: 'INVALID_CREDENTIAL', title: 'No', requestId: 'req-00000001' });
    socket.end(
      `HTTP/1.1 401 Unauthorized\r\nContent-Type: application/problem+json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
  const client = createClient({ baseUrl: server.baseUrl, env: {} });
  await expect(tailEvents(client, {}).next()).rejects.toMatchObject({
    name: 'GovAuthError',
    code: 'INVALID_CREDENTIAL',
    requestId: 'req-00000001',
  });
});

it('a tail ends with the reason of its signal, while connected and while waiting to reconnect', async () => {
  const { client, server } = await streaming(() => {});
  const stop = new AbortController();
  const tail = tailEvents(client, { signal: stop.signal, observe: () => stop.abort(new Error('stopped')) });
  await expect(tail.next()).rejects.toThrow('stopped');
  await server.close();
  const later = new AbortController();
  const waiting = tailEvents(client, {
    signal: later.signal,
    observe: () => later.abort(new Error('later')),
  });
  await expect(waiting.next()).rejects.toThrow('later');
});

it('a tail refuses a message that is not an event', async () => {
  for (const message of ['not json', '{"sequence":"1"}', Buffer.from('{"sequence":1}')]) {
    const { client } = await streaming((socket) => socket.send(message));
    await expect(tailEvents(client, {}).next()).rejects.toMatchObject({ code: 'INVALID_RESPONSE' });
  }
});

it('a tail reports each connection to the observer of the client, which can refuse it before anything is sent', async () => {
  const { client, seen } = await streaming(() => {});
  const asked: unknown[] = [];
  const observed = createClient({
    ...client.options,
    observe: (note) => {
      asked.push(note);
      throw new Error('refused');
    },
  });
  closers.push(() => observed.close());
  await expect(tailEvents(observed, { after: 4 }).next()).rejects.toThrow('refused');
  const url = `${observed.connection.base.origin.replace('http', 'ws')}/api/v1/events/stream?after=4`;
  expect([asked, seen]).toEqual([[{ kind: 'request', method: 'GET', url, bytes: 0 }], []]);
});
