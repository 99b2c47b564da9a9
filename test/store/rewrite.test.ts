/** What was erased or pruned is in no page of a database that was closed, nor in its write-ahead log. */
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { planePrune } from '../../plane/prune.ts';
import { fsck } from '../../src/host/fsck.ts';
import { endOf } from '../service/filled.ts';
import { event, startPlane, type TestPlane } from '../serving.ts';

const dayMs = 86_400_000;
const realNow = Date.now;
let aheadMs = 0;
let plane: TestPlane;
beforeEach(async () => {
  aheadMs = 0;
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
  plane = await startPlane();
});
afterEach(async () => {
  await plane.end();
  vi.restoreAllMocks();
});

/** Names of values: of different lengths, so that pages are split and joined. */
const canary = (at: number): string => `CNRY${String(at).padStart(4, '0')}Z`;
const batches = 30;
const inBatch = 10;

async function record(): Promise<string[]> {
  const ids: string[] = [];
  for (let batch = 0; batch < batches; batch++) {
    const events = Array.from({ length: inBatch }, (_, each) => {
      const at = batch * inBatch + each;
      const card = canary(at) + 'x'.repeat((at * 37) % 401);
      return event({
        runId: `r${at % 7}`,
        timestamp: new Date(Date.now()).toISOString(),
        metadata: { card },
      });
    });
    const { body } = await plane.call('POST', '/events/batch', { body: { events } });
    ids.push(...body.results.map(({ eventId }: { eventId: string }) => eventId));
  }
  return ids;
}

/** Values that are found in some file of the data directory. */
function found(): Set<string> {
  const files = readdirSync(plane.dataDir, { withFileTypes: true, recursive: true }).filter((each) =>
    each.isFile(),
  );
  const texts = files.map((each) => readFileSync(join(each.parentPath, each.name), 'latin1'));
  return new Set(texts.flatMap((text) => text.match(/CNRY\d{4}Z/g) ?? []));
}

it('fields, one by one', async () => {
  const ids = await record();
  const gone: string[] = [];
  for (let at = 0; at < ids.length; at += 5) {
    const body = { eventId: ids[at], fields: ['/metadata/card'] };
    expect((await plane.call('POST', '/erasures', { body })).status).toBe(201);
    gone.push(canary(at));
  }
  await plane.close();
  const left = found();
  expect(gone.filter((each) => left.has(each))).toEqual([]);
  expect(left.size).toBe(ids.length - gone.length);
  expect((await fsck({ dataDir: plane.dataDir, deep: true, env: {} })).problems).toEqual([]);
});

it('events that were pruned', async () => {
  await record();
  const own = event({ runId: 'r1', action: 'CNRY9999Z', timestamp: new Date(Date.now()).toISOString() });
  await plane.call('POST', '/events', { body: own });
  const { jobId } = (await plane.call('POST', '/replay', { body: { runId: 'r1' } })).body;
  expect(JSON.stringify(await endOf(plane.call, jobId))).toContain('CNRY9999Z');
  const other = (await plane.call('POST', '/replay', { body: { runId: 'gov.system', compareRunId: 'r1' } }))
    .body;
  expect(JSON.stringify(await endOf(plane.call, other.jobId))).toContain('CNRY9999Z');
  aheadMs = 200 * dayMs;
  await plane.call('POST', '/events', { body: event({ timestamp: new Date(Date.now()).toISOString() }) });
  await plane.close();
  expect(found().size).toBe(batches * inBatch + 1);
  const archive = join(tmpdir(), `gov-rewrite-${process.pid}.gz`);
  const { dataDir } = plane;
  await planePrune({ dataDir, env: {} }, { beforeMs: Date.now() - 190 * dayMs, archive, dryRun: false });
  rmSync(archive);
  expect([...found()]).toEqual([]);
  expect((await fsck({ dataDir, deep: true, env: {} })).problems).toEqual([]);
});
