/**
 * Benchmark of receipts: CPU of the server for one event, with receipts in the answers and without, as batches of 500 and
 * as single events of 64 clients. Two planes take turns in short rounds, each round the other way round, so that a noisy
 * minute affects both. The figure is the median of the ratios of the rounds. `node bench/sending/receipts.ts [rounds]`
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cpuMicroseconds, discard, median, report, scratch, startPlane } from '../support/harness.ts';
import { load, recordedEvents } from '../support/recorded.ts';

const rounds = Number(process.argv[2] ?? 9);
const folder = scratch();
const choices = ['commit', 'off'] as const;
const planes = {
  commit: await startPlane({ settings: { receipts: 'commit' } }),
  off: await startPlane({ settings: { receipts: 'off' } }),
};

/** Bodies with as many events each, in a file. */
function bodiesOf(name: string, size: number): string {
  const events = recordedEvents(name);
  const file = join(folder, name);
  const bodies: unknown[] = [];
  for (let from = 0; from + size <= events.length; from += size)
    bodies.push(size === 1 ? events[from] : { events: events.slice(from, from + size) });
  writeFileSync(file, JSON.stringify(bodies.map((body) => JSON.stringify(body))));
  return file;
}

const kinds = {
  'single events of 64 clients': {
    path: '/api/v1/events',
    connections: 64,
    requests: 6000,
    events: 1,
    bodies: bodiesOf('single', 1),
  },
  'batches of 500': {
    path: '/api/v1/events/batch',
    connections: 4,
    requests: 40,
    events: 500,
    bodies: bodiesOf('batches', 500),
  },
};

/** CPU microseconds of an event. */
async function cost(choice: (typeof choices)[number], kind: keyof typeof kinds): Promise<number> {
  const { events, ...load_ } = kinds[kind];
  const plane = planes[choice];
  const pid = plane.process.pid ?? 0;
  const before = cpuMicroseconds(pid);
  const { failed } = await load({
    ...load_,
    port: Number(new URL(plane.baseUrl).port),
    key: plane.apiKey,
    seconds: 60,
  });
  if (failed > 0) throw new Error(`${failed} requests failed`);
  return (cpuMicroseconds(pid) - before) / (load_.requests * events);
}

for (const kind of Object.keys(kinds) as (keyof typeof kinds)[]) {
  const costs: Record<(typeof choices)[number], number>[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const made = { commit: 0, off: 0 };
    for (const choice of round % 2 === 0 ? choices : choices.toReversed())
      made[choice] = await cost(choice, kind);
    if (round > 0) costs.push(made); // the first one warms up
  }
  const ratios = costs.map(({ commit, off }) => commit / off);
  report(`receipts with ${kind}, median of ${rounds} pairs`, [
    {
      ratio: '1.00 ×',
      figure: `${median(costs.map(({ off }) => off)).toFixed(1)} µs`,
      what: 'server CPU per event, without receipts',
    },
    {
      ratio: `${median(ratios).toFixed(2)} ×`,
      figure: `${median(costs.map(({ commit }) => commit)).toFixed(1)} µs`,
      what: `with receipts (reach: 1.05 ×); pairs ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
    },
  ]);
}
for (const choice of choices) {
  await planes[choice].stop();
  discard(join(planes[choice].dataDir, '..'));
}
discard(folder);
