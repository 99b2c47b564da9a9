/**
 * Benchmark of the replay of one run with many events and recorded evaluations of 20 policies, as a job on a
 * plane. Also measures the proof layers about decisions over the same run. `node bench/replay.ts [events]
 * [evaluations]`
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../src/client/create.ts';
import { limits } from '../src/contract/limits.ts';
import { discard, report, residentMb, scratch, startPlane } from './support/harness.ts';
import { load, recordedEvents } from './support/recorded.ts';

const events = Number(process.argv[2] ?? 100_000);
const evaluations = Number(process.argv[3] ?? 10_000);
const policies = 20;
const runId = 'replayed';
const folder = scratch();
const plane = await startPlane();
const pid = plane.process.pid ?? 0;
const port = Number(new URL(plane.baseUrl).port);
const client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.apiKey, timeoutMs: 600_000 });

for (let at = 0; at < policies; at += 1) {
  const policyId = `policy-${at}`;
  const condition = {
    and: [
      { '==': [{ var: 'context.tool.name' }, `tool_${at}`] },
      { '>': [{ var: 'context.arguments.amount' }, 100 * at] },
    ],
  };
  const body = { policyId, name: policyId, condition, action: at % 4 === 0 ? 'deny' : 'warn' } as const;
  await client.createPolicy({ body });
  await client.publishPolicy({ params: { policyId }, body: {} });
}

/** Sends each of these bodies once or more, `requests` in all. */
async function fill(path: string, requests: number, bodies: readonly unknown[]): Promise<void> {
  const file = join(folder, 'bodies.json');
  writeFileSync(file, JSON.stringify(bodies.map((body) => JSON.stringify(body))));
  // the server closes a socket after this many requests
  const connections = Math.max(8, Math.ceil(requests / (limits.requestsPerSocket - 1)));
  const options = { port, path: `/api/v1${path}`, key: plane.apiKey, connections, seconds: 600 };
  const { failed, seconds } = await load({ ...options, requests, bodies: file });
  if (failed > 0) throw new Error(`${failed} requests to ${path} failed`);
  console.log(`${requests} requests to ${path} in ${seconds.toFixed(0)} s`);
}

await fill(
  '/governance/policy/evaluate',
  evaluations,
  Array.from({ length: 200 }, (_, at) => ({
    runId,
    checkpoint: {
      step: at,
      context: {
        tool: { name: `tool_${at % policies}` },
        arguments: { amount: 17 * at, reservation: `R${at}`, note: 'change of plans' },
        actor: { name: 'airline-agent' },
      },
    },
  })),
);
const sample = recordedEvents('replay').map((event) => ({ ...event, runId }));
await fill(
  '/events/batch',
  events / 500,
  Array.from({ length: 16 }, (_, at) => ({ events: sample.slice(at * 500, at * 500 + 500) })),
);

interface Run {
  readonly seconds: number;
  readonly peakMb: number;
}
/** Waits for a job. Polls for its end and for the largest resident set. */
async function timed(accept: () => Promise<{ body: unknown }>): Promise<Run> {
  const start = performance.now();
  const { jobId } = (await accept()).body as { jobId: string };
  let peakMb = 0;
  for (;;) {
    const { data } = (await client.listJobs({ query: { limit: 1 } })).body;
    peakMb = Math.max(peakMb, residentMb(pid));
    const job = data.find((each) => each.jobId === jobId);
    if (job?.status === 'failed') throw new Error(JSON.stringify(job));
    if (job?.status === 'completed') return { seconds: (performance.now() - start) / 1000, peakMb };
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const restingMb = residentMb(pid);
const replay = () => timed(() => client.createReplay({ body: { runId } }));
const first = await replay();
const replayed = [await replay(), await replay(), await replay()].toSorted((a, b) => a.seconds - b.seconds);
const [, middle = first] = replayed;
const { data } = (await client.listReplays({ query: { limit: 1 } })).body;
const prove = (layer: string) =>
  timed(() => client.createProof({ body: { runId, async: true, composed: { layers: [layer] } } }));
const integrity = await prove('event_integrity');
const compliance = await prove('policy_compliance');
const determinism = await prove('replay_determinism');
client.close();
await plane.stop();

const seconds = ({ seconds: time }: Run): string => `${time.toFixed(2)} s`;
const peak = Math.max(...[first, ...replayed].map(({ peakMb }) => peakMb));
report(`a run of ${events} events with ${evaluations} evaluations of ${policies} policies`, [
  { ratio: '', figure: seconds(middle), what: `replay, ${data[0]?.stepsCount} steps (reach: 10 s)` },
  { ratio: '', figure: seconds(first), what: 'the first one, which starts the worker thread' },
  {
    ratio: '',
    figure: `${peak.toFixed(0)} MB`,
    what: `largest resident set of the plane (before: ${restingMb.toFixed(0)})`,
  },
  { ratio: '', figure: seconds(integrity), what: 'proof with event_integrity alone' },
  {
    ratio: `${(compliance.seconds / integrity.seconds).toFixed(1)} x`,
    figure: seconds(compliance),
    what: `with policy_compliance (${compliance.peakMb.toFixed(0)} MB)`,
  },
  {
    ratio: `${(determinism.seconds / integrity.seconds).toFixed(1)} x`,
    figure: seconds(determinism),
    what: 'with replay_determinism',
  },
]);
discard(folder);
discard(join(plane.dataDir, '..'));
