/**
 * Benchmark of decisions over HTTP at 64 connections. Measures `POST /governance/policy/evaluate` with twenty
 * active policies and `POST /risk/evaluate`, each recorded durably. The floor is a Fastify route that only
 * parses and answers. Each server is a process of its own, and one client loads them in turn. `node
 * bench/evaluate.ts [rounds] [seconds]`
 */
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { governedCalls, policies } from './support/governed.ts';
import {
  cpuSeconds,
  discard,
  freePort,
  median,
  report,
  scratch,
  share,
  startPlane,
} from './support/harness.ts';
import type { LoadResult } from './support/load.ts';
import { load } from './support/recorded.ts';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 4);
const folder = scratch();
const calls = governedCalls('evaluate');

function bodies(name: string, each: (call: (typeof calls)[number]) => object): string {
  const file = join(folder, `${name}.json`);
  writeFileSync(file, JSON.stringify(calls.map((call) => JSON.stringify(each(call)))));
  return file;
}
const evaluations = bodies('evaluate', ({ runId, checkpoint }) => ({ runId, checkpoint }));
const moments = bodies('risk', ({ runId, checkpoint: { step } }) => ({
  runId,
  policyDecisions: [
    { policyId: 'air-cancel', decision: step % 5 === 0 ? 'warn' : 'allow', score: (step % 10) / 10 },
    { policyId: 'air-booking', decision: 'allow', score: 0 },
  ],
  quotaState: { used: step * 20, limit: 1000 },
  evaluationSignals: [
    { signal: 'anomaly', value: (step % 7) / 7 },
    { signal: 'latency', value: (step % 3) / 3 },
  ],
  explicitSignals: { isWeekend: step % 2 === 0 },
}));

const plane = await startPlane();
const pid = plane.process.pid ?? 0;
const port = Number(new URL(plane.baseUrl).port);

async function call(path: string, body: object): Promise<void> {
  const headers = { authorization: `Bearer ${plane.apiKey}`, 'content-type': 'application/json' };
  const answer = await fetch(plane.baseUrl + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
}
for (const { policyId, name, condition, action, severity } of policies) {
  await call('/governance/policies', { policyId, name, condition, action, severity });
  await call(`/governance/policies/${policyId}/publish`, {});
}

const barePort = await freePort();
const bare = spawn(
  process.execPath,
  [fileURLToPath(new URL('./support/bare.ts', import.meta.url)), String(barePort)],
  {
    stdio: ['ignore', 'pipe', 'inherit'],
  },
);
await new Promise((resolve) => bare.stdout.once('data', resolve));

const targets = {
  floor: { port: barePort, path: '/api/v1/events', bodies: evaluations, pid: bare.pid ?? 0 },
  evaluate: { port, path: '/api/v1/governance/policy/evaluate', bodies: evaluations, pid },
  risk: { port, path: '/api/v1/risk/evaluate', bodies: moments, pid },
} as const;
type Target = keyof typeof targets;
const names = Object.keys(targets) as Target[];
const results: Record<Target, (LoadResult & { serverCpu: number })[]> = { floor: [], evaluate: [], risk: [] };
for (let round = 0; round <= rounds; round += 1) {
  for (const name of names) {
    const { pid: server, ...target } = targets[name];
    const before = cpuSeconds(server);
    const result = await load({ ...target, key: plane.apiKey, connections: 64, seconds });
    if (result.failed > 0) throw new Error(`${name}: ${result.failed} requests failed`);
    // the first round warms up
    if (round > 0) results[name].push({ ...result, serverCpu: cpuSeconds(server) - before });
  }
}
await plane.stop();
bare.kill();

const of = (name: Target, figure: (result: LoadResult & { serverCpu: number }) => number): number =>
  median(results[name].map(figure));
const rate = (name: Target): number => of(name, ({ requests, seconds: took }) => requests / took);
const told = (name: Target, what: string) => ({
  ratio: share(rate(name), rate('floor')),
  figure: `${rate(name).toFixed(0)} /s`,
  what:
    `${what}; p50 ${of(name, ({ p50 }) => p50).toFixed(1)} ms, p99 ${of(name, ({ p99 }) => p99).toFixed(1)} ms; CPU ` +
    `${of(name, ({ serverCpu, requests }) => (1e6 * serverCpu) / requests).toFixed(0)} µs a request (all threads), ` +
    `client ${of(name, ({ cpuSeconds: used, requests }) => (1e6 * used) / requests).toFixed(0)} µs`,
});
report(`decisions over HTTP, 64 connections, median of ${rounds}`, [
  told('floor', 'floor: Fastify, parse and answer'),
  told('evaluate', `policy evaluate, ${policies.length} policies, durable (reach: 4000 /s)`),
  told('risk', 'risk evaluate, durable'),
]);
discard(folder);
discard(join(plane.dataDir, '..'));
