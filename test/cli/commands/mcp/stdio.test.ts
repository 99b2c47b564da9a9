import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import { envelope2026, startProxy, textIn, type Proxied, type ProxyOptions } from '../../support/mcp.ts';
import { startPolicyPlane, type PolicyPlane } from '../../support/policy-plane.ts';

let plane: PolicyPlane;
beforeAll(async () => {
  plane = await startPolicyPlane({
    extraKeys: { approver: { scopes: ['approvals:decide', 'governance:read'] } },
  });
  plane.write(
    'p/pay.policy',
    'deny "too-much"\nwhen tool.name == "pay" && default(arguments.amount, 0) > 100',
  );
  plane.write(
    'p/ask.policy',
    'escalate "ask"\nwhen tool.name == "pay" && default(arguments.amount, 0) == 50',
  );
  plane.write('p/server.policy', 'deny "no-bank"\nwhen default(tool.server, "") == "claims to be a bank"');
  await plane.json('policy create p --publish');
});
afterAll(() => plane.end());

const credentials = (): Record<string, string> => ({ GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key });
let servers = 0;
const start = (flags: readonly string[] = [], more: Partial<ProxyOptions> = {}): Proxied => {
  const proxied = startProxy({ env: credentials(), flags: ['--name', `s${++servers}`, ...flags], ...more });
  onTestFinished(() => void proxied.child.kill('SIGKILL'));
  return proxied;
};
/** Starts a proxy whose client has listed the tools. */
async function opened(flags: readonly string[] = [], more: Partial<ProxyOptions> = {}): Promise<Proxied> {
  const proxied = start(flags, more);
  await proxied.ask(0, 'initialize', {
    protocolVersion: '2025-11-25',
    clientInfo: { name: 'agent', version: '1' },
  });
  await proxied.ask('list', 'tools/list');
  return proxied;
}
const eventsOf = async (run: string) => (await plane.json(`events list --run ${run}`)).events;
const typesOf = async (run: string): Promise<string[]> =>
  (await eventsOf(run)).map(({ eventType }: { eventType: string }) => eventType);

describe('mcp proxy over stdio', () => {
  it('mcp proxy runs an allowed call between its decision and its outcome, under the id of the model', async () => {
    const proxied = await opened(['--run', 'allowed']);
    const answer = await proxied.call(1, 'pay', { amount: 5 }, { 'claudecode/toolUseId': 'toolu_1' });
    expect(answer).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { content: [{ type: 'text', text: 'paid' }], isError: false },
    });
    expect(await proxied.end()).toEqual({ code: 0, stderr: '' });
    const [evaluated, call, result, ...more] = await eventsOf('allowed');
    expect(more).toEqual([]);
    expect(call).toMatchObject({
      eventType: 'tool.call',
      actor: { name: 'agent', role: 'agent' },
      resource: { name: 'pay', type: 'mcp_tool' },
      metadata: {
        toolCallId: 'toolu_1',
        evaluationId: evaluated.metadata.evaluationId,
        decision: 'allow',
        definition: 'pinned',
        definitionHash: expect.stringMatching(/^sha256:/),
        arguments: { bytes: 12, hash: expect.stringMatching(/^sha256:/) },
        protocolVersion: '2025-11-25',
        server: { name: expect.stringMatching(/^s/), claimed: { name: 'claims to be a bank', version: '9' } },
      },
    });
    expect(result).toMatchObject({
      eventType: 'tool.result',
      action: 'complete',
      metadata: {
        toolCallId: 'toolu_1',
        ok: true,
        outcome: 'ok',
        isError: false,
        content: { bytes: expect.any(Number) },
      },
    });
    expect(result.metadata.durationMs).toBeGreaterThan(0);
    expect(result.metadata.bytes).toBeGreaterThan(80);
  });

  it('mcp proxy answers a denied call with a result that the model reads, and the server never sees it', async () => {
    const proxied = await opened(['--run', 'denied']);
    const answer = await proxied.call(1, 'pay', { amount: 101 });
    expect(answer.result.isError).toBe(true);
    expect(textIn(answer)).toMatch(/^gov: blocked: .*101 > 100.* \(decision pev_[0-9a-z]{26}\)$/);
    expect(proxied.reached()).toEqual(['initialize', 'tools/list']);
    expect(await typesOf('denied')).toEqual(['tool.evaluated', 'tool.denied']);
  });

  it('mcp proxy decides by the name that the operator gave, not by what the server says of itself', async () => {
    const proxied = await opened();
    expect(textIn(await proxied.call(1, 'pay'))).toBe('paid');
  });

  it('mcp proxy records a failure that the tool reports, a JSON-RPC error, progress, and a question of the server', async () => {
    const proxied = await opened(['--run', 'failures']);
    await proxied.call(1, 'pay', { amount: 13 });
    await proxied.call(2, 'nope');
    await proxied.call(3, 'slow', {}, { progressToken: 'p' });
    await proxied.end();
    const results = (await eventsOf('failures')).filter(
      ({ eventType }: { eventType: string }) => eventType === 'tool.result',
    );
    expect(results.map(({ metadata }: { metadata: object }) => metadata)).toMatchObject([
      { ok: false, outcome: 'error', isError: true },
      { ok: false, outcome: 'error', code: -32602, error: 'Tool nope not found' },
      { ok: true, outcome: 'ok', progress: 2 },
    ]);
  });

  it('mcp proxy takes the run from baggage, else from the trace, and records content only with --content full', async () => {
    const proxied = await opened(['--content', 'full']);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await proxied.call(1, 'pay', { amount: 1 }, { traceparent, baggage: 'a=b, session.id=ses-1;x=y' });
    await proxied.call(2, 'pay', { amount: 2 }, { traceparent });
    await proxied.end();
    const [, call, result] = await eventsOf('ses-1');
    expect(call.metadata).toMatchObject({
      arguments: { amount: 1 },
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    });
    expect(result.metadata.content.content).toEqual([{ type: 'text', text: 'paid' }]);
    expect(await typesOf('trace:4bf92f3577b34da6a3ce929d0e0e4736')).toContain('tool.call');
  });

  it('mcp proxy answers an escalated call of 2025 with the approval that it needs', async () => {
    const proxied = await opened();
    const text = textIn(await proxied.call(1, 'pay', { amount: 50 }));
    expect(text).toMatch(/approval needed: (apr_[0-9a-z]{26}) .*gov approvals approve \1/);
    expect(proxied.reached()).not.toContain('pay');
  });

  it.each([
    ['accept', { action: 'accept', content: { ok: true } }],
    ['cancel', { action: 'cancel' }],
  ])('mcp proxy never runs an escalated call of 2026 because the agent answered %s', async (_, response) => {
    const proxied = await opened();
    const params = { name: 'pay', arguments: { amount: 50 }, _meta: envelope2026 };
    const { result } = await proxied.ask(1, 'tools/call', params);
    expect(result).toMatchObject({
      resultType: 'input_required',
      requestState: expect.stringMatching(/^gov:apr_/),
    });
    expect(result.inputRequests.approval.params.message).toContain('An answer here does not approve it');
    const retried = await proxied.ask(2, 'tools/call', {
      ...params,
      requestState: result.requestState,
      inputResponses: { approval: response },
    });
    expect(retried.result).toMatchObject({ resultType: 'complete', isError: true });
    expect(proxied.reached()).not.toContain('pay');
  });

  it('mcp proxy gives the server no credential of the plane', async () => {
    const print =
      'console.log(JSON.stringify({jsonrpc: "2.0", method: "env", params: Object.keys(process.env)}))';
    const proxied = start([], { command: [process.execPath, '-e', print] });
    await proxied.ended;
    expect(
      JSON.parse(proxied.lines[0] ?? '').params.filter((name: string) => /KEY|TOKEN/.test(name)),
    ).toEqual([]);
  });
});

describe('mcp proxy without a decision', () => {
  it('mcp proxy does not run a call if the key is wrong, and still forwards everything else', async () => {
    const proxied = await opened([], { env: { ...credentials(), GOV_API_KEY: 'gov_live_wrong' } });
    const answer = await proxied.call(1, 'pay');
    expect(answer.result.isError).toBe(true);
    expect(textIn(answer)).toMatch(/^gov: not run: .*Check the key of the proxy\.$/);
    expect((await proxied.ask(2, 'ping')).error.code).toBe(-32601);
    expect(proxied.reached()).toEqual(['initialize', 'tools/list', 'ping']);
  });

  it('mcp proxy does not run a call if nothing listens at the address of the plane', async () => {
    const proxied = await opened([], {
      env: { ...credentials(), GOV_BASE_URL: 'http://127.0.0.1:9/api/v1' },
    });
    expect(textIn(await proxied.call(1, 'pay'))).toMatch(/^gov: not run: .*no process listens there/);
    expect(proxied.reached()).toEqual(['initialize', 'tools/list']);
  });

  it('mcp proxy does not run a call if the plane accepts the connection and never answers', async () => {
    const silent = createServer(() => {});
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as { port: number };
    const proxied = await opened(['--timeout', '200ms', '--retries', '0'], {
      env: { ...credentials(), GOV_BASE_URL: `http://127.0.0.1:${port}/api/v1` },
    });
    expect(textIn(await proxied.call(1, 'pay'))).toMatch(/^gov: not run: .*did not answer within 0\.2 s/);
    expect(proxied.reached()).toEqual(['initialize', 'tools/list']);
  });
});

describe('mcp proxy whose plane ends in between', () => {
  it('mcp proxy runs no further call, and still delivers the answer to the one that runs', async () => {
    const other = await startPolicyPlane();
    const env = { GOV_BASE_URL: other.baseUrl, GOV_API_KEY: other.key };
    const proxied = await opened(['--retries', '0'], { env });
    expect(textIn(await proxied.call(1, 'pay'))).toBe('paid');
    await other.end();
    const refused = await proxied.call(2, 'pay');
    expect(textIn(refused)).toMatch(/^gov: not run: no decision/);
    expect(proxied.reached().filter((name) => name === 'pay')).toHaveLength(1);
    expect((await proxied.ask(3, 'ping')).error.code).toBe(-32601);
  });
});

describe('mcp proxy with a bad server', () => {
  it('mcp proxy forwards no line of the server that is not a message', async () => {
    const proxied = await opened();
    expect(textIn(await proxied.call(1, 'garbage'))).toBe('after garbage');
    expect(proxied.lines.every((line) => line.startsWith('{"jsonrpc":"2.0"'))).toBe(true);
    expect((await proxied.end()).stderr).toMatch(
      /dropped a line of the server[^]*dropped a line of the server/,
    );
  });

  it('mcp proxy warns of a server that writes garbage only as often as the limit allows', async () => {
    const proxied = await opened();
    await proxied.call(1, 'garbage', { times: limits.mcpWarnings });
    const { stderr } = await proxied.end();
    expect(stderr.match(/dropped a line/g)).toHaveLength(limits.mcpWarnings - 1);
    expect(stderr).toContain('further warnings are not printed');
  });

  it('mcp proxy holds no more than a few messages of a server that floods a client that does not read', async () => {
    const proxied = await opened();
    proxied.child.stdout?.pause();
    proxied.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'flood' } });
    const statusOf = (file: string, name: string): number =>
      Number(
        new RegExp(`${name}:\\s+(\\d+)`).exec(
          readFileSync(`/proc/${proxied.child.pid}/${file}`, 'utf8'),
        )?.[1],
      );
    await expect.poll(() => proxied.reached().includes('flood')).toBe(true);
    // the proxy stops reading when nobody takes what it has
    let last = -1;
    const hasStopped = (): boolean => {
      const before = last;
      last = statusOf('io', 'rchar');
      return before === last;
    };
    await expect.poll(hasStopped, { interval: 200, timeout: 20_000 }).toBe(true);
    expect(last).toBeLessThan(64 * 1024 * 1024);
    expect(statusOf('status', 'VmRSS')).toBeLessThan(256 * 1024);
    proxied.child.kill('SIGTERM');
    proxied.child.stdout?.resume();
    await proxied.ended;
  });

  it('mcp proxy answers open calls if the server ends in between, records them as unanswered, and passes the exit code on', async () => {
    const proxied = await opened(['--run', 'died']);
    const [never, died] = await Promise.all([proxied.call(1, 'never'), proxied.call(2, 'die')]);
    expect(never.error.message).toBe('gov: the server ended (exit code 7) before it answered');
    expect(died.error.message).toBe(never.error.message);
    expect((await proxied.ended).code).toBe(7);
    const results = (await eventsOf('died')).filter(
      ({ eventType }: { eventType: string }) => eventType === 'tool.result',
    );
    expect(results.map(({ metadata }: { metadata: { outcome: string } }) => metadata.outcome)).toEqual([
      'unanswered',
      'unanswered',
    ]);
  });

  it('mcp proxy passes SIGTERM on to the server, and its exit code back', async () => {
    const proxied = await opened();
    proxied.child.kill('SIGTERM');
    expect((await proxied.ended).code).toBe(43);
  });

  it('mcp proxy ends the server at a message of one byte more than the limit', async () => {
    // the answer around the text has 83 bytes
    const around = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      result: { content: [{ type: 'text', text: '' }] },
    }).length;
    const proxied = await opened();
    const whole = await proxied.call(1, 'large', { bytes: limits.mcpMessageBytes - around });
    expect(whole.result.content[0].text.length).toBe(limits.mcpMessageBytes - around);
    const broken = await proxied.call(2, 'large', { bytes: limits.mcpMessageBytes - around + 1 });
    expect(broken.error.message).toContain('the server ended');
    expect((await proxied.ended).stderr).toContain(
      `expected messages of at most ${limits.mcpMessageBytes} bytes`,
    );
  }, 60_000);

  it('mcp proxy drops an answer of the server to a call that waits for its decision', async () => {
    const proxied = await opened();
    // the server answers id 2 while its decision is pending: the answer comes from the gate alone
    const both = Promise.all([proxied.call(1, 'forge', { id: 2 }), proxied.call(2, 'pay', { amount: 101 })]);
    const [, second] = await both;
    expect(textIn(second)).toMatch(/^gov: blocked/);
    expect(proxied.reached()).not.toContain('pay');
  });

  it('mcp proxy reports a server that cannot be started, with the exit code of a shell', async () => {
    const proxied = start([], { command: ['no-such-server'] });
    expect(await proxied.ended).toEqual({
      code: 127,
      stderr: expect.stringContaining('the command does not exist'),
    });
  });
});

describe('mcp proxy with a bad client', () => {
  it.each([
    ['a batch', '[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay"}}]', null, 'a batch'],
    ['a text that is not JSON', '{"jsonrpc":"2.0",', null, 'expected'],
    ['two methods', '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call"}', null, 'a second'],
    [
      'a method in another case',
      '{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}',
      null,
      '"Method"',
    ],
    [
      'a call without an id',
      '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"pay"}}',
      null,
      'needs an id',
    ],
    [
      'a second name',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","Name":"pay"}}',
      1,
      '"Name"',
    ],
    [
      'two names',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","name":"pay"}}',
      1,
      'a second',
    ],
    [
      'a carriage return inside',
      '{"jsonrpc":"2.0","id":1,"method":"ping"\r,"params":{}}',
      null,
      'carriage return',
    ],
    [
      'a number that a double changes',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount":9007199254740993}}}',
      1,
      '2^53-1',
    ],
  ])('mcp proxy does not forward %s', async (_, line, id, why) => {
    const proxied = await opened();
    proxied.send(line);
    expect((await proxied.answer(id)).error.message).toContain(why);
    await proxied.ask('last', 'ping');
    expect(proxied.reached()).toEqual(['initialize', 'tools/list', 'ping']);
  });

  it('mcp proxy refuses an id that belongs to an open request', async () => {
    const proxied = await opened();
    proxied.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'never' } });
    const second = await proxied.call(1, 'pay');
    expect(second.error.message).toContain('the id 1 belongs to a request that has no answer yet');
    expect(proxied.reached()).not.toContain('pay');
  });

  it('mcp proxy records a cancelled call, and forwards its cancellation', async () => {
    const proxied = await opened(['--run', 'cancelled']);
    proxied.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'never' } });
    while (!proxied.reached().includes('never')) await proxied.ask(`ping-${Math.random()}`, 'ping');
    proxied.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await proxied.ask('last', 'ping');
    await proxied.end();
    expect(proxied.reached()).toContain('notifications/cancelled');
    expect((await eventsOf('cancelled')).at(-1).metadata).toMatchObject({ ok: false, cancelled: true });
  });

  it('mcp proxy keeps the bytes and the order of messages that it does not know', async () => {
    const proxied = await opened();
    const strange =
      '{"jsonrpc":"2.0" , "id":7,"method":"x/y","params":{"n":1.0,"big":12345678901234567890,"e":1e400}}';
    const call =
      '{ "params":{"arguments":{"b":1.50,"a":1E2} ,"name":"pay","x":[ ]}, "method":"tools/call","id":"\\u0061","jsonrpc":"2.0"}';
    proxied.send(call);
    proxied.send(strange);
    expect((await proxied.answer(7)).error.code).toBe(-32601);
    expect(textIn(await proxied.answer('a'))).toBe('paid');
    expect(proxied.received().slice(2)).toEqual([call, strange]);
  });
});
