/**
 * Benchmark of cancellation on a plane: 1,000 waiting jobs, which two callers cancel at the same time, and two running
 * replays of a large run. Says whether each job ended exactly once. `node bench/jobs/cancel.ts [jobs] [events]`
 */
import { loadavg } from 'node:os';
import { createClient } from '../../src/client/create.ts';
import { discard, milliseconds, percentile, report, startPlane } from '../support/harness.ts';
import { dirname } from 'node:path';

const jobs = Number(process.argv[2] ?? 1000);
const events = Number(process.argv[3] ?? 60_000);
const lanes = 16;
const plane = await startPlane();
const connect = () => createClient({ baseUrl: plane.baseUrl, apiKey: plane.apiKey, timeoutMs: 600_000 });
const [one, two] = [connect(), connect()];

const eventOf = (runId: string, at: number) => ({
  runId,
  eventType: 'tool.call',
  actor: { name: 'agent', role: 'agent' },
  action: 'execute',
  timestamp: '2026-03-01T09:30:00Z',
  metadata: { at, text: 'x'.repeat(200) },
});
for (let from = 0; from < events; from += 500) {
  const batch = Array.from({ length: Math.min(500, events - from) }, (_, at) => eventOf('large', from + at));
  await one.createEvents({ body: { events: batch } });
}
await one.createEvent({ body: eventOf('small', 0) });

/** Calls `work` for each item, `lanes` at a time; returns the milliseconds of each. */
async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let item = items[next++]; item !== undefined; item = items[next++]) {
      const asked = item;
      times.push(await milliseconds(() => work(asked)));
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return times;
}

// two replays take both places of the worker, so that all other jobs wait
const running = await Promise.all(
  [0, 1].map(async () => (await one.createReplay({ body: { runId: 'large' } })).body.jobId),
);
const waiting: string[] = [];
await each(
  Array.from({ length: jobs }, (_, at) => at),
  async () => {
    const { body } = await one.createProof({ body: { runId: 'small', async: true } });
    if ('jobId' in body) waiting.push(body.jobId);
  },
);
const statusOf = async (jobId: string) => (await one.getJob({ params: { jobId } })).body.status;
const before = await Promise.all(running.map(statusOf));
const cancelBy = (client: typeof one) => (jobId: string) => client.cancelJob({ params: { jobId } });
const load = loadavg()[0] ?? 0;
let times: number[][] = [];
const totalMs = await milliseconds(async () => {
  times = await Promise.all([each(waiting, cancelBy(one)), each(waiting.toReversed(), cancelBy(two))]);
});
const during = await Promise.all(running.map(statusOf));
// running jobs: until the worker has a place for the next one
const freeMs = await milliseconds(async () => {
  for (const jobId of running) await one.cancelJob({ params: { jobId } }).catch(() => {});
  const { body } = await one.createProof({ body: { runId: 'small', async: true } });
  if (!('jobId' in body)) return;
  for (;;) {
    const status = await statusOf(body.jobId);
    if (status === 'completed') return;
  }
});
const told = new Map<string, number>();
for (let cursor: string | undefined; ;) {
  const query = { runId: 'gov.system', eventType: 'job.cancelled', limit: 1000 };
  const page = (await one.listEvents({ query: cursor === undefined ? query : { ...query, cursor } })).body;
  for (const { resource } of page.events) {
    const id = typeof resource === 'object' && resource !== null ? String(resource.id) : '';
    told.set(id, (told.get(id) ?? 0) + 1);
  }
  if (page.nextCursor === null) break;
  cursor = page.nextCursor;
}
const once = waiting.filter((id) => told.get(id) === 1).length;
const both = times.flat();
report(`${jobs} jobs, each cancelled by two callers with ${lanes} connections (load ${load.toFixed(1)})`, [
  { ratio: '', figure: `${once} of ${waiting.length}`, what: 'ended exactly once, with one event' },
  {
    ratio: '',
    figure: `${(both.length / (totalMs / 1000)).toFixed(0)}/s`,
    what: `answers, ${both.length} in ${totalMs.toFixed(0)} ms`,
  },
  {
    ratio: '',
    figure: `${percentile(both, 0.5).toFixed(1)} ms`,
    what: `median answer; p99 ${percentile(both, 0.99).toFixed(1)} ms`,
  },
  {
    ratio: '',
    figure: `${freeMs.toFixed(0)} ms`,
    what: `from cancelling two replays (${before.join(', ')}; then ${during.join(', ')}) of ${events} events to the result of the next job`,
  },
]);
one.close();
two.close();
await plane.stop();
discard(dirname(plane.dataDir));
