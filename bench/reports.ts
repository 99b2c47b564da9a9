/**
 * Benchmark of the contents of reports: the one-page summary of a large log, and the evidence of a run of 10,000
 * events. The templates read the store of a running plane, as the thread of exports does; answers and bundles come
 * from the plane over HTTP. Then what a running evidence report costs those who record: p99 of single events, which alone
 * are the floor, stalls of the event loop and memory. `node bench/reports.ts [events]`
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '../src/client/create.ts';
import type { ReportTemplateId } from '../src/contract/report-words.ts';
import { defaultSettings } from '../src/service/call/settings.ts';
import { openOwn } from '../src/service/log/checkpoints.ts';
import { templates } from '../src/service/reports/templates/list.ts';
import type { ReportHost } from '../src/service/reports/templates/source.ts';
import { openReader } from '../src/store/sqlite/store.ts';
import { besideReports } from './support/beside-reports.ts';
import { discard, report, scratch, startPlane } from './support/harness.ts';
import { load, recordedEvents } from './support/recorded.ts';

const events = Number(process.argv[2] ?? 1_000_000);
const evidenceEvents = 10_000;
const folder = scratch();
const delayFile = join(folder, 'delay.json');
process.env['GOV_BENCH_DELAY'] = delayFile;
const plane = await startPlane({
  dataDir: join(folder, 'plane'),
  node: ['--import', new URL('./support/loop-delay.ts', import.meta.url).href],
});
const port = Number(new URL(plane.baseUrl).port);
const client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.apiKey, timeoutMs: 600_000 });
const headers = { authorization: `Bearer ${plane.apiKey}` };
const get = (path: string) => fetch(`${plane.baseUrl}${path}`, { headers });

/** Sends events in batches of 500. */
async function record(name: string, sample: readonly object[], count: number): Promise<void> {
  const bodies = join(folder, `${name}.json`);
  const batches = Array.from({ length: 16 }, (_, at) =>
    JSON.stringify({ events: sample.slice(at * 500, at * 500 + 500) }),
  );
  writeFileSync(bodies, JSON.stringify(batches));
  const path = '/api/v1/events/batch';
  const requests = count / 500;
  await load({ port, path, key: plane.apiKey, connections: 4, seconds: 900, requests, bodies });
}
await record('many', recordedEvents('reports'), events);
const runId = 'evidence';
await record(
  runId,
  recordedEvents(runId).map((event) => ({ ...event, runId })),
  evidenceEvents,
);
await client.createProof({ body: { runId } });

const reader = openReader(join(plane.dataDir, 'gov.db'));
const checkpoint = await (await get('/log/checkpoint')).text();
const { size, origin } = openOwn(checkpoint);
const projectId = origin.split('/')[1] ?? '';
const host: ReportHost = {
  answer: async ({ key: [kind, name], sinceMs, untilMs }) => {
    if ((kind !== 'run' && kind !== 'type' && kind !== 'leaf') || (sinceMs ?? untilMs) !== null) return null;
    const answer = await get(
      `/log/answers?${kind === 'run' ? 'runId' : 'type'}=${encodeURIComponent(name ?? '')}`,
    );
    const bytes = Buffer.from(await answer.arrayBuffer());
    const { end } = (JSON.parse(bytes.toString()) as { entry: { end: { value?: { n: number } } | null } })
      .entry;
    return { bytes, count: end?.value?.n ?? 0 };
  },
  bundle: async ({ proofId: id }) => Buffer.from(await (await get(`/proofs/${id}/bundle`)).arrayBuffer()),
};

/** Seconds on the clock and of this process, without what the plane spends on answers and bundles. */
async function timed(
  reportTemplateId: ReportTemplateId,
  of: string | null,
): Promise<{ readonly wall: number; readonly cpu: number }> {
  const [started, before] = [performance.now(), process.cpuUsage()];
  await templates[reportTemplateId].build({
    reportTemplateId,
    projectId,
    startMs: 0,
    endMs: Date.parse('2100-01-01T00:00:00Z'),
    runId: of,
    treeSize: size,
    checkpoint,
    timezone: 'UTC',
    installation: 'plane',
    settings: defaultSettings,
    keys: (await (await get('/log/key')).text()).trim().split('\n'),
    witnesses: { keys: [], quorum: 0 },
    reader,
    host,
    breathe: async () => {},
  });
  const { user, system } = process.cpuUsage(before);
  return { wall: (performance.now() - started) / 1000, cpu: (user + system) / 1e6 };
}

const bounds: readonly (readonly [id: ReportTemplateId, seconds: number | null])[] = [
  ['executive-summary', 10],
  ['run-evidence', 2],
  ['ai-act-logging', null],
  ['tool-access', null],
  ['incident-bundle', null],
  ['usage-statement', null],
];
const rows = [];
for (const [id, seconds] of bounds) {
  const { wall, cpu } = await timed(id, id === 'run-evidence' ? runId : null);
  const bound = seconds === null ? '' : ` (at most ${seconds} s)`;
  rows.push({
    ratio: seconds === null ? '' : `${(wall / seconds).toFixed(2)}×`,
    figure: `${wall.toFixed(2)} s, CPU ${cpu.toFixed(2)} s`,
    what: `${id}${bound}`,
  });
}
report(`Reports over ${size} leaves, evidence of ${evidenceEvents} events`, rows);
const cost = await besideReports(plane, { runId, sample: recordedEvents('beside'), folder }, delayFile);
report(`Recording beside ${cost.reports} evidence reports, one after the other`, [
  {
    ratio: `${(cost.beside / cost.alone).toFixed(2)}×`,
    figure: `p99 ${cost.beside.toFixed(1)} ms`,
    what: `single events; alone ${cost.alone.toFixed(1)} ms (at most 2×)`,
  },
  {
    ratio: '',
    figure: `${cost.stallBeside.toFixed(0)} ms`,
    what: `longest stall of the event loop; alone ${cost.stallAlone.toFixed(0)} ms (at most 50 ms)`,
  },
  {
    ratio: '',
    figure: `+${(cost.most - cost.baseline).toFixed(0)} MB`,
    what: `memory above ${cost.baseline.toFixed(0)} MB (at most 300 MB)`,
  },
]);
await plane.stop();
discard(folder);
