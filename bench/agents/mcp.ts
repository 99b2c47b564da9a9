/**
 * Benchmark of `gov mcp proxy` over stdio: what the decision and the record of each call add, on the loopback. The floor is
 * the same client and server connected directly; `append` is one recorded event: a call waits for two such commits, its
 * decision and its start. Between two calls an agent thinks, here for 20 ms. `node bench/agents/mcp.ts [calls]`
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { join } from 'node:path';
import { createClient } from '../../src/client/index.ts';
import { discard, entry, median, percentile, report, startPlane } from '../support/harness.ts';

const calls = Number(process.argv[2] ?? 200);
const thinkMs = 20;
const rounds = 5;

const server = `
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  const result = method === 'tools/list' ? { tools: [{ name: 'pay', inputSchema: { type: 'object' } }] } : { content: [] };
  if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
});`;

class Peer {
  readonly child: ChildProcess;
  #answered: (() => void) | undefined;
  #id = 0;

  constructor(words: readonly string[], env: Record<string, string>) {
    this.child = spawn(process.execPath, words, {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    createInterface({ input: this.child.stdout! }).on('line', (line) => {
      if (line.includes('gov:')) throw new Error(line);
      this.#answered?.();
    });
  }

  async ask(method: string, params: object): Promise<number> {
    const start = performance.now();
    const answered = new Promise<void>((resolve) => (this.#answered = resolve));
    this.child.stdin!.write(`${JSON.stringify({ jsonrpc: '2.0', id: this.#id++, method, params })}\n`);
    await answered;
    return performance.now() - start;
  }

  async load(count: number): Promise<number[]> {
    const times: number[] = [];
    for (let at = 0; at < count; at += 1) {
      await setTimeout(thinkMs);
      const amount = this.#id;
      times.push(await this.ask('tools/call', { name: 'pay', arguments: { amount } }));
    }
    return times;
  }
}

const plane = await startPlane();
const env = { GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.apiKey };
const own = [process.execPath, '-e', server];
const peers = {
  floor: new Peer(['-e', server], {}),
  proxied: new Peer([entry, 'mcp', 'proxy', '--name', 'bench', '--run', 'bench', '--', ...own], env),
};
const client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.apiKey, env: {}, retries: 0 });
async function append(count: number): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at += 1) {
    await setTimeout(thinkMs);
    const start = performance.now();
    const event = { runId: 'append', eventType: 'tool.call', actor: 'bench', action: 'call' };
    await client.createEvent({ body: { ...event, timestamp: new Date().toISOString() } });
    times.push(performance.now() - start);
  }
  return times;
}

type Name = 'floor' | 'append' | 'proxied';
const figures: Record<Name, { p50: number[]; p99: number[] }> = {
  floor: { p50: [], p99: [] },
  append: { p50: [], p99: [] },
  proxied: { p50: [], p99: [] },
};
for (const peer of Object.values(peers)) await peer.ask('tools/list', {});
for (let round = 0; round <= rounds; round += 1) {
  for (const name of ['floor', 'append', 'proxied'] as const) {
    const times = name === 'append' ? await append(calls) : await peers[name].load(calls);
    // the first round warms up
    if (round === 0) continue;
    figures[name].p50.push(percentile(times, 0.5));
    figures[name].p99.push(percentile(times, 0.99));
  }
}
for (const { child } of Object.values(peers)) child.stdin!.end();
client.close();
await plane.stop();

const ms = (value: number): string => `${value.toFixed(2)} ms`;
const [p50, p99] = (['p50', 'p99'] as const).map(
  (rank) => median(figures.proxied[rank]) - median(figures.floor[rank]),
);
const row = (name: Name, what: string) => ({
  ratio: name,
  figure: `${ms(median(figures[name].p50))} / ${ms(median(figures[name].p99))}`,
  what,
});
report(`MCP proxy over stdio, p50 / p99 of ${calls} calls, median of ${rounds}`, [
  row('floor', 'floor: client and server connected directly'),
  row('append', 'one recorded event'),
  row('proxied', 'a call with decision, record and outcome'),
  { ratio: 'added', figure: `${ms(p50 ?? NaN)} / ${ms(p99 ?? NaN)}`, what: 'by the proxy (aim: 1 / 5 ms)' },
]);
discard(join(plane.dataDir, '..'));
