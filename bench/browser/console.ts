/**
 * Benchmark of the console in Chromium: what it transfers, when it shows content, and a run of 10,000 events: open, scroll,
 * memory. The floors are an empty page, the same answers of the API without a page, the frame of the screen, and the memory
 * of the start page. `node bench/browser/console.ts [rounds]` (needs chromium in /usr/bin, and a build)
 */
import { readdirSync, readFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { chromium, type Page } from 'playwright-core';
import { createClient } from '../../src/client/create.ts';
import { discard, milliseconds, report, startPlane } from '../support/harness.ts';
import { recordedEvents } from '../support/recorded.ts';

const rounds = Number(process.argv[2] ?? 7);
const runId = 'ten-thousand';
const count = 10_000;
const plane = await startPlane();
const client = createClient({ baseUrl: plane.baseUrl, apiKey: plane.apiKey });
const recorded = recordedEvents('console');
for (let from = 0; from < count; from += 500) {
  const events = Array.from({ length: 500 }, (_, at) => ({
    ...recorded[(from + at) % recorded.length]!,
    runId,
  }));
  await client.createEvents({ body: { events } });
}
client.close();

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const base = plane.baseUrl.replace('/api/v1', '').replace('127.0.0.1', 'localhost');
const context = await browser.newContext({ baseURL: base, viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
const headers = { authorization: `Bearer ${plane.apiKey}`, 'content-type': 'application/json' };
const link = await fetch(`${plane.baseUrl}/console/links`, { method: 'POST', headers, body: '{}' });
const { code } = (await link.json()) as { code: string };
await page.goto(`/console#code=${code}`);
await page.locator('#navigation').waitFor({ state: 'attached' });

const median = (all: readonly number[]): number =>
  all.toSorted((one, other) => one - other)[Math.floor(all.length / 2)] ?? 0;
async function repeated(measure: () => Promise<number>): Promise<number> {
  const all: number[] = [];
  for (let round = 0; round < rounds; round += 1) all.push(await measure());
  return median(all);
}
// functions, since the policy of the page lets no text run
const firstContent = async (at: Page): Promise<number> => {
  const name = 'first-contentful-paint';
  await at.waitForFunction((entry) => performance.getEntriesByName(entry).length > 0, name);
  return at.evaluate((entry) => performance.getEntriesByName(entry)[0]?.startTime ?? 0, name);
};
const wholeRun = () =>
  page.waitForFunction(
    (least) => Object(globalThis).document.querySelector('.timeline-rows')?.clientHeight >= least,
    count * 20,
  );
const paintOf = async (address: string): Promise<number> => {
  const other = await context.newPage();
  await other.goto(address);
  const paintMs = await firstContent(other);
  await other.close();
  return paintMs;
};
const devtools = await context.newCDPSession(page);
async function heapMb(): Promise<number> {
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  return usedSize / 1e6;
}

const folder = join(import.meta.dirname, '../../dist/console');
const bytes = readdirSync(folder).reduce(
  (sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).length,
  0,
);
const paint = { floor: await repeated(() => paintOf('data:text/html,<h1>gov</h1>')), console: 0 };
paint.console = await repeated(() => paintOf('/console/'));

await page.getByRole('heading', { level: 1, name: 'Home' }).waitFor();
const startMb = await heapMb();
const openMs = await repeated(async () => {
  await page.evaluate(`location.hash = '#/verify'; performance.clearResourceTimings()`);
  await page.getByRole('heading', { level: 1, name: 'Verify' }).waitFor();
  return milliseconds(async () => {
    await page.evaluate(`location.hash = '#/runs/${runId}'`);
    await wholeRun();
  });
});
const firstMs = await repeated(async () => {
  await page.evaluate(`location.hash = '#/verify'`);
  await page.getByRole('heading', { level: 1, name: 'Verify' }).waitFor();
  return milliseconds(async () => {
    await page.evaluate(`location.hash = '#/runs/${runId}'`);
    await page.locator('.timeline [role=option]').first().waitFor();
  });
});
// the answers of one opening
await page.evaluate(`location.hash = '#/verify'; performance.clearResourceTimings()`);
await page.getByRole('heading', { level: 1, name: 'Verify' }).waitFor();
await page.evaluate(`location.hash = '#/runs/${runId}'`);
await wholeRun();
const runMb = await heapMb();
const asked = await page.evaluate<string[]>(
  `performance.getEntriesByType('resource').map(({ name }) => name).filter((name) => name.includes('/events?'))`,
);
const floorMs = await repeated(() =>
  milliseconds(() =>
    page.evaluate(async (addresses) => {
      for (const address of addresses) await (await fetch(address)).json();
    }, asked),
  ),
);

/** Milliseconds between frames while the list moves from its start to its end in 200 steps. */
const frames = await page.evaluate<number[]>(`new Promise((done) => {
  const list = document.querySelector('.timeline');
  const step = list.scrollHeight / 200;
  const all = [];
  let last = performance.now();
  const next = (now) => {
    all.push(now - last);
    last = now;
    if (all.length > 200) return done(all.slice(1));
    list.scrollTop += step;
    requestAnimationFrame(next);
  };
  list.scrollTop = 0;
  requestAnimationFrame(next);
})`);
const sorted = frames.toSorted((one, other) => one - other);
await browser.close();
await plane.stop();
discard(join(plane.dataDir, '..'));

const ms = (value: number): string => `${value.toFixed(0)} ms`;
const signed = (value: number): string => `${value < 0 ? '' : '+'}${ms(value)}`;
report(`console in Chromium, median of ${rounds}, load ${loadavg()[0]?.toFixed(1)}`, [
  { ratio: '', figure: `${(bytes / 1000).toFixed(1)} KB`, what: 'all files with gzip (reach: 120 KB)' },
  { ratio: '', figure: ms(paint.floor), what: 'floor: first content of an empty page' },
  {
    ratio: signed(paint.console - paint.floor),
    figure: ms(paint.console),
    what: 'first content (reach: +300 ms)',
  },
  {
    ratio: '',
    figure: ms(floorMs),
    what: `floor: ${asked.length} answers with 10,000 events, without a page`,
  },
  {
    ratio: signed(openMs - floorMs),
    figure: ms(openMs),
    what: 'the run of 10,000 events is whole (reach: +1,000 ms)',
  },
  { ratio: '', figure: ms(firstMs), what: 'its first rows (reach: 500 ms)' },
  { ratio: '', figure: '17 ms', what: 'floor: a frame of the screen' },
  {
    ratio: '',
    figure: ms(sorted[Math.floor(sorted.length / 2)] ?? 0),
    what: 'median frame while it scrolls from end to end',
  },
  {
    ratio: '',
    figure: ms(sorted[Math.floor(sorted.length * 0.99)] ?? 0),
    what: 'frame at 99 % (reach: 50 ms)',
  },
  { ratio: '', figure: `${startMb.toFixed(1)} MB`, what: 'floor: memory of the start page' },
  {
    ratio: `+${(runMb - startMb).toFixed(1)} MB`,
    figure: `${runMb.toFixed(1)} MB`,
    what: 'memory with the run (reach: +60 MB)',
  },
]);
