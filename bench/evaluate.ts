/**
 * `POST /governance/policy/evaluate` with 20 active policies at 64 connections, each recorded durably, beside
 * single events on the same plane. `node bench/evaluate.ts [rounds] [seconds]`
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cpuSeconds, discard, median, report, scratch, share, startPlane } from './harness.ts';
import type { LoadResult } from './load.ts';
import { load, recordedEvents } from './recorded.ts';

const rounds = Number(process.argv[2] ?? 5);
const seconds = Number(process.argv[3] ?? 4);
const folder = scratch();
const bodiesFile = (name: string, bodies: readonly unknown[]): string => {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(bodies.map((body) => JSON.stringify(body))));
  return path;
};

const events = recordedEvents('single');
const tools = [
  'search',
  'book',
  'cancel',
  'refund',
  'update',
  'think',
  'calculate',
  'list',
  'transfer',
  'send',
];
const evaluations = Array.from({ length: 1000 }, (_, at) => ({
  runId: `run-${at % 100}`,
  checkpoint: {
    step: at % 40,
    context: {
      tool: { name: tools[at % tools.length], kind: at % 3 === 0 ? 'write' : 'read' },
      arguments: { amount: at % 500, reservation: `R${at}`, passengers: ['anna', 'bert'] },
      user: { membership: at % 2 === 0 ? 'gold' : 'regular', verified: at % 5 !== 0 },
      env: at % 4 === 0 ? 'staging' : 'production',
    },
  },
}));
const policies = Array.from({ length: 20 }, (_, at) => ({
  policyId: `policy-${at}`,
  name: `Policy ${at}`,
  condition: {
    and: [
      { exists: ['context', 'arguments', 'amount'] },
      { '===': [{ var: 'context.tool.name' }, tools[at % tools.length]] },
      { '>': [{ var: 'context.arguments.amount' }, 20 * at] },
      { in: [{ var: 'context.env' }, ['production', 'staging']] },
    ],
  },
  action: at % 4 === 0 ? 'deny' : 'warn',
  severity: 'high',
}));

const plane = await startPlane();
const post = async (path: string, body: unknown): Promise<void> => {
  const answer = await fetch(plane.baseUrl + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${plane.apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
};
for (const policy of policies) {
  await post('/governance/policies', policy);
  await post(`/governance/policies/${policy.policyId}/publish`, {});
}

const shared = { key: plane.apiKey, connections: 64, seconds, port: Number(new URL(plane.baseUrl).port) };
const variants = {
  events: { ...shared, path: '/api/v1/events', bodies: bodiesFile('events.json', events) },
  evaluate: {
    ...shared,
    path: '/api/v1/governance/policy/evaluate',
    bodies: bodiesFile('evaluations.json', evaluations),
  },
};
type Measured = LoadResult & { readonly serverCpu: number };
const results: Record<keyof typeof variants, Measured[]> = { events: [], evaluate: [] };
for (let round = 0; round <= rounds; round += 1) {
  for (const name of ['events', 'evaluate'] as const) {
    const before = cpuSeconds(plane.process.pid ?? 0);
    const result = await load(variants[name]);
    if (result.failed > 0) throw new Error(`${result.failed} requests failed`);
    // the first round warms
    if (round > 0) results[name].push({ ...result, serverCpu: cpuSeconds(plane.process.pid ?? 0) - before });
  }
}
await plane.stop();

const rate = (name: keyof typeof variants): number =>
  median(results[name].map((result) => result.requests / result.seconds));
const figures = (name: keyof typeof variants): string => {
  const of = (value: (result: Measured) => number, digits: number): string =>
    median(results[name].map(value)).toFixed(digits);
  const cpu = of((result) => (1e6 * result.serverCpu) / result.requests, 0);
  return `p50 ${of(({ p50 }) => p50, 1)} ms, p99 ${of(({ p99 }) => p99, 1)} ms, server CPU ${cpu} µs each`;
};
report(`20 policies, 64 connections, recorded durably, median of ${rounds}`, [
  { ratio: '', figure: `${rate('events').toFixed(0)} /s`, what: `single events; ${figures('events')}` },
  {
    ratio: share(rate('evaluate'), rate('events')),
    figure: `${rate('evaluate').toFixed(0)} /s`,
    what: `evaluations (reach: 4,000/s); ${figures('evaluate')}`,
  },
]);
discard(folder);
discard(join(plane.dataDir, '..'));
