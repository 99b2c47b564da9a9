import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { envelope2026, textIn } from '../../support/mcp.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';
import { cleanEnv, runner } from '../../support/tool.ts';

type Message = { id?: unknown; method: string; params?: Record<string, any> }; // oxlint-disable-line typescript/no-explicit-any -- of tests

let plane: PolicyPlane;
let server: Server;
let reached: (Message & { headers: IncomingHttpHeaders })[] = [];
/** How the server answers tools/list, if not with its tool at once. */
let list: ((response: ServerResponse, message: Message) => void) | undefined;
let proxy: ReturnType<typeof spawn> | undefined;

const json = (response: ServerResponse, message: object): void =>
  void response
    .writeHead(200, { 'content-type': 'application/json' })
    .end(JSON.stringify({ jsonrpc: '2.0', ...message }));
const tools = [{ name: 'pay' }];
const paid = { content: [{ type: 'text', text: 'paid' }] };

beforeAll(async () => {
  plane = await startPolicyPlane();
  server = createServer((incoming, response) => {
    let body = '';
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
    incoming.on('end', () => {
      const message = JSON.parse(body) as Message;
      reached.push({ ...message, headers: incoming.headers });
      const { id, method } = message;
      if (method !== 'tools/list') return json(response, { id, result: method === 'tools/call' ? paid : {} });
      if (list !== undefined) return list(response, message);
      return json(response, { id, result: { tools } });
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const first = await start();
  await first.ask({ id: 1, method: 'tools/list' });
  expect(textIn(await first.ask({ id: 2, method: 'tools/call', params: { name: 'pay' } }))).toBe('paid');
});
afterEach(() => {
  proxy?.kill('SIGKILL');
  list = undefined;
});
afterAll(async () => {
  proxy?.kill('SIGKILL');
  server.closeAllConnections();
  server.close();
  await plane.end();
});

/** Starts a proxy that has seen no list; `pay` is pinned. */
async function start(run = 'first') {
  proxy?.kill('SIGKILL');
  const { port } = server.address() as { port: number };
  const words = ['mcp', 'proxy', '--url', `http://127.0.0.1:${port}/mcp`, '--name', 'web', '--run', run];
  proxy = spawn(process.execPath, [runner, ...words], {
    env: cleanEnv({ GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key }),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [address] = (await once(createInterface({ input: proxy.stdout! }), 'line')) as [string];
  reached = [];
  return {
    // oxlint-disable-next-line typescript/no-explicit-any -- each test says what it expects of it
    async ask(message: Message, headers: Record<string, string> = {}): Promise<any> {
      const response = await fetch(address, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...headers,
        },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      });
      return response.json();
    },
  };
}
const methods = (): string[] => reached.map(({ method }) => method);

const eras: [string, (method: string, name?: string) => Record<string, string>, object | undefined][] = [
  ['2025-06-18', () => ({ 'mcp-session-id': 'S1', 'mcp-protocol-version': '2025-06-18' }), undefined],
  ['2025-11-25', () => ({ 'mcp-session-id': 'S2', 'mcp-protocol-version': '2025-11-25' }), undefined],
  [
    '2026-07-28',
    (method, name) => ({
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    }),
    envelope2026,
  ],
];

describe.each(eras)('a call of a pinned tool over HTTP, revision %s', (revision, headersOf, meta) => {
  const params = meta === undefined ? {} : { _meta: meta };
  const pay = { id: 2, method: 'tools/call', params: { name: 'pay', ...params } };
  const headers = headersOf('tools/call', 'pay');

  it('waits for the answer to a tools/list that the client sent before', async () => {
    const { ask } = await start();
    const held = Promise.withResolvers<void>();
    list = (response, { id }) => void held.promise.then(() => json(response, { id, result: { tools } }));
    const listed = ask({ id: 1, method: 'tools/list', params }, headersOf('tools/list'));
    await expect.poll(methods).toEqual(['tools/list']);
    const called = ask(pay, headers);
    await ask({ id: 3, method: 'ping', params }, headersOf('ping'));
    expect(methods()).toEqual(['tools/list', 'ping']);
    held.resolve();
    expect(textIn(await called)).toBe('paid');
    expect((await listed).result).toEqual({ tools });
    expect(methods()).toEqual(['tools/list', 'ping', 'tools/call']);
  });

  it('waits for a list that the proxy asks for, if the client sent none', async () => {
    const { ask } = await start(`own-${revision}`);
    list = (response, { id, params: { cursor } = {} }) => {
      const result = cursor === undefined ? { tools: [], nextCursor: 'next' } : { tools };
      response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(`: hello\n\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`);
    };
    expect(textIn(await ask(pay, { ...headers, authorization: 'Bearer of-client' }))).toBe('paid');
    expect(reached).toMatchObject([
      { method: 'tools/list', params, headers: { authorization: 'Bearer of-client' } },
      { method: 'tools/list', params: { ...params, cursor: 'next' } },
      { method: 'tools/call', headers },
    ]);
    const [asked] = reached;
    expect(asked?.headers).toMatchObject(headersOf('tools/list'));
    expect(asked?.headers).not.toHaveProperty('mcp-name');
    const { events } = await plane.json(`events list --run own-${revision}`);
    expect(events[1].metadata).toMatchObject({ definition: 'pinned' });
  });
});

describe('a call of a pinned tool over HTTP whose server does not list it', () => {
  const pay = { id: 2, method: 'tools/call', params: { name: 'pay' } };

  it.each<[string, NonNullable<typeof list>, string]>([
    ['never answers', () => {}, 'did not answer tools/list within 5 s'],
    [
      'answers with an error',
      (response, { id }) => json(response, { id, error: { code: -32601, message: 'no such method' } }),
      'answered tools/list with an error: no such method',
    ],
    ['ends the connection', (response) => void response.destroy(), 'gave no answer to tools/list: '],
    [
      'redirects',
      (response) => void response.writeHead(307, { location: 'http://127.0.0.1:1/' }).end(),
      'gave no answer to tools/list (status 307)',
    ],
    [
      'names a tool twice',
      (response, { id }) => json(response, { id, result: { tools: [...tools, ...tools] } }),
      'cannot be read safely',
    ],
    [
      'always has a next page',
      (response, { id }) => json(response, { id, result: { tools: [], nextCursor: 'x' } }),
      'within 5 s',
    ],
  ])('does not run if the server %s', { timeout: 20_000 }, async (_, answer, why) => {
    const { ask } = await start();
    list = answer;
    const refused = await ask(pay);
    expect(refused.result.isError).toBe(true);
    expect(textIn(refused)).toMatch(/^gov: not run: web /);
    expect(textIn(refused)).toContain(why);
    expect(methods()).not.toContain('tools/call');
  });
});
