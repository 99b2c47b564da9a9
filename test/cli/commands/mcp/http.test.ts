import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envelope2026, textIn } from '../../support/mcp.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';
import { cleanEnv, runner } from '../../support/tool.ts';

type Answer = (request: IncomingMessage, response: ServerResponse, message: any) => void; // oxlint-disable-line typescript/no-explicit-any -- of tests

let plane: PolicyPlane;
let server: Server;
let proxy: ReturnType<typeof spawn>;
let address = '';
let closed = 0;
const reached: string[] = [];
/** What the server does with the next request, if not what it usually does. */
let next: Answer | undefined;

const json = (response: ServerResponse, value: object, headers: Record<string, string> = {}): void =>
  void response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
const usual: Answer = (_, response, { id, method, params }) => {
  if (id === undefined) return void response.writeHead(202).end();
  const text = (value: string) => ({
    jsonrpc: '2.0',
    id,
    result: { content: [{ type: 'text', text: value }] },
  });
  if (method === 'initialize')
    return json(
      response,
      { jsonrpc: '2.0', id, result: { protocolVersion: '2025-11-25', serverInfo: { name: 'h' } } },
      { 'mcp-session-id': 'S1' },
    );
  if (method === 'tools/list')
    return json(response, { jsonrpc: '2.0', id, result: { tools: [{ name: 'pay' }] } });
  if (params?.name !== 'stream') return json(response, text('paid'));
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.write(
    ': hello\n\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}\n\n',
  );
  response.once('close', () => closed++);
  if (params.arguments.wait !== true) response.end(`id: 9\ndata: ${JSON.stringify(text('streamed'))}\n\n`);
};

beforeAll(async () => {
  plane = await startPolicyPlane();
  plane.write(
    'p/pay.policy',
    'deny "too-much"\nwhen tool.name == "pay" && default(arguments.amount, 0) > 100',
  );
  plane.write(
    'p/ask.policy',
    'escalate "ask"\nwhen tool.name == "pay" && default(arguments.amount, 0) == 50',
  );
  await plane.json('policy create p --publish');
  server = createServer((incoming, response) => {
    let body = '';
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
    incoming.on('end', () => {
      const message = body === '' ? {} : JSON.parse(body);
      reached.push(`${incoming.method} ${message.params?.name ?? message.method ?? incoming.url}`);
      const answer = next ?? usual;
      next = undefined;
      answer(incoming, response, message);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const words = ['mcp', 'proxy', '--url', `http://127.0.0.1:${port}/mcp`, '--name', 'web', '--run', 'web'];
  proxy = spawn(process.execPath, [runner, ...words], {
    env: cleanEnv({ GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  [address] = (await once(createInterface({ input: proxy.stdout! }), 'line')) as [string];
});
afterAll(async () => {
  const ended = once(proxy, 'exit');
  proxy.kill('SIGTERM');
  expect((await ended)[0]).toBe(0);
  server.closeAllConnections();
  server.close();
  await plane.end();
});

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const post = (body: string | object, more: Record<string, string> = {}): Promise<Response> =>
  fetch(address, {
    method: 'POST',
    headers: { ...headers, ...more },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
const call = (id: number, params: object, more: Record<string, string> = {}): Promise<Response> =>
  post({ jsonrpc: '2.0', id, method: 'tools/call', params }, more);
// oxlint-disable-next-line typescript/no-explicit-any -- each test says what it expects of it
const answerTo = async (response: Promise<Response>): Promise<any> => (await response).json();
const types = async (): Promise<string[]> =>
  (await plane.json('events list --run web')).events.map(({ eventType }: { eventType: string }) => eventType);

describe('mcp proxy over HTTP', () => {
  it('mcp proxy forwards a session with its header, and runs an allowed call of it', async () => {
    const opened = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params: {} });
    expect(opened.headers.get('mcp-session-id')).toBe('S1');
    const session = { 'mcp-session-id': 'S1' };
    expect((await post({ jsonrpc: '2.0', method: 'notifications/initialized' }, session)).status).toBe(202);
    await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, session);
    expect(textIn(await answerTo(call(2, { name: 'pay' }, session)))).toBe('paid');
    // the result is recorded after it was forwarded
    await expect.poll(types).toEqual(['tool.evaluated', 'tool.call', 'tool.result']);
  });

  it('mcp proxy answers a denied call itself', async () => {
    const before = reached.length;
    const { result } = await answerTo(call(3, { name: 'pay', arguments: { amount: 101 } }));
    expect(result).toMatchObject({ isError: true });
    expect(reached.length).toBe(before);
  });

  it('mcp proxy asks a client of 2026 for the approval that a call needs', async () => {
    const params = { name: 'pay', arguments: { amount: 50 }, _meta: envelope2026 };
    expect((await answerTo(call(4, params))).result.resultType).toBe('input_required');
  });

  it('mcp proxy forwards each event of a stream before the next one exists', async () => {
    const response = await call(5, { name: 'stream', arguments: { wait: true } });
    const reader = response.body!.getReader();
    const first = Buffer.from((await reader.read()).value ?? []).toString();
    expect(first).toContain(': hello\n\n');
    await reader.cancel();
  });

  it('mcp proxy keeps the bytes of a stream', async () => {
    const text = await (await call(6, { name: 'stream', arguments: {} })).text();
    expect(text).toBe(
      ': hello\n\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}\n\n' +
        'id: 9\ndata: {"jsonrpc":"2.0","id":6,"result":{"content":[{"type":"text","text":"streamed"}]}}\n\n',
    );
  });

  it('mcp proxy closes the stream of the server when a client of 2026 leaves, and records the call as interrupted', async () => {
    const before = closed;
    const stop = new AbortController();
    const params = {
      name: 'stream',
      arguments: { wait: true },
      _meta: { ...envelope2026, 'claudecode/toolUseId': 'left' },
    };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'tools/call', params });
    const response = await fetch(address, { method: 'POST', headers, body, signal: stop.signal });
    await response.body!.getReader().read();
    stop.abort();
    await expect.poll(() => closed).toBe(before + 1);
    const outcomes = async () =>
      (await plane.json('events list --run web')).events
        .filter(({ eventType }: { eventType: string }) => eventType !== 'tool.evaluated')
        .filter(({ metadata }: { metadata: { toolCallId: string } }) => metadata.toolCallId === 'left')
        .map(({ metadata }: { metadata: { outcome?: string } }) => metadata.outcome);
    await expect.poll(outcomes).toEqual([undefined, 'interrupted']);
  });

  it.each([
    ['Mcp-Name', { 'mcp-name': 'search' }],
    ['Mcp-Name in base64', { 'mcp-name': `=?base64?${Buffer.from('search').toString('base64')}?=` }],
    ['Mcp-Method', { 'mcp-method': 'ping' }],
    ['MCP-Protocol-Version', { 'mcp-protocol-version': '2025-11-25' }],
  ])('mcp proxy refuses a call whose header %s lies', async (_, more) => {
    const before = reached.length;
    const response = await call(8, { name: 'pay', _meta: envelope2026 }, more);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: -32020 } });
    expect(reached.length).toBe(before);
  });

  it('mcp proxy accepts headers that agree with the body', async () => {
    const more = { 'mcp-name': 'pay', 'mcp-method': 'tools/call', 'mcp-protocol-version': '2026-07-28' };
    expect(textIn(await answerTo(call(9, { name: 'pay', _meta: envelope2026 }, more)))).toBe('paid');
  });
});

describe('mcp proxy over HTTP with bad peers', () => {
  it.each([
    ['a batch', 400, '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay"}}]', {}],
    ['two methods', 400, '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', {}],
    ['another media type', 415, '{}', { 'content-type': 'text/plain' }],
    ['a packed body', 415, '{}', { 'content-encoding': 'gzip' }],
    ['the origin of another site', 403, '{}', { origin: 'https://evil.example' }],
  ])('mcp proxy refuses %s', async (_, status, body, more) => {
    const before = reached.length;
    expect((await post(body, more)).status).toBe(status);
    expect(reached.length).toBe(before);
  });

  it('mcp proxy refuses a host name that is not local, as a browser would send it', async () => {
    const { port } = new URL(address);
    const status = await new Promise<number | undefined>((resolve) => {
      request(
        { port, path: '/mcp', method: 'POST', headers: { ...headers, host: 'evil.example' } },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      ).end('{}');
    });
    expect(status).toBe(403);
  });

  it.each<[string, Answer, string]>([
    [
      'redirects',
      (_, response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
      'no redirection',
    ],
    ['ends the connection', (incoming) => void incoming.socket.destroy(), 'gave no answer'],
    ['answers with a batch', (_, response) => json(response, []), 'one JSON object'],
    ['packs the body', (_, response) => json(response, {}, { 'content-encoding': 'gzip' }), 'packed'],
  ])('mcp proxy answers a call itself if the server %s', async (_, answer, why) => {
    next = answer;
    const response = await call(10, { name: 'pay' });
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ id: 10, error: { message: expect.stringContaining(why) } });
  });

  it('mcp proxy does not give a list that names a tool twice to the client', async () => {
    next = (_, response, { id }) =>
      json(response, { jsonrpc: '2.0', id, result: { tools: [{ name: 'a' }, { name: 'a' }] } });
    const { error } = await answerTo(post({ jsonrpc: '2.0', id: 11, method: 'tools/list' }));
    expect(error.message).toContain('cannot be read safely');
  });

  it('mcp proxy goes on with calls after the stream of a GET broke', async () => {
    next = (incoming, response) => {
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(': open\n\n', () => incoming.socket.destroy());
    };
    const broken = await fetch(address, { headers: { accept: 'text/event-stream', 'mcp-session-id': 'S1' } });
    await expect(broken.text()).rejects.toThrow();
    expect(textIn(await answerTo(call(12, { name: 'pay' }, { 'mcp-session-id': 'S1' })))).toBe('paid');
  });

  it('mcp proxy refuses an address that other machines reach', async () => {
    for (const listen of ['0.0.0.0:0', '192.168.0.1:80', '127.0.0.1:70000', 'example.com:80'])
      expect((await plane.gov(`mcp proxy --url http://127.0.0.1:1/mcp --listen ${listen}`)).code).toBe(2);
    expect((await plane.gov('mcp proxy')).code).toBe(2);
    expect((await plane.gov('mcp proxy --url ftp://x')).code).toBe(2);
  });
});
