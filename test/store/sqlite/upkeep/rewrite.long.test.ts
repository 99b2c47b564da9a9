/** What was erased or pruned is in no page of a database that was closed, nor in its write-ahead log. */
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { planeBackup } from '../../../../plane/data/backup.ts';
import { planeDoctor } from '../../../../plane/serve/doctor.ts';
import { planePrune } from '../../../../plane/data/prune.ts';
import { planeServe } from '../../../../plane/serve/start.ts';
import { limits } from '../../../../src/contract/limits.ts';
import { fsck } from '../../../../src/host/data/fsck.ts';
import { silentLog } from '../../../../src/service/call/log.ts';
import { isWritten } from '../../../../src/store/sqlite/upkeep/rewrite.ts';
import { Account } from '../../../cli/support/account.ts';
import { mountSmall } from '../../../faults/full.ts';
import { endOf } from '../../../service/support/filled.ts';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';

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
function found(dataDir = plane.dataDir): Set<string> {
  const files = readdirSync(dataDir, { withFileTypes: true, recursive: true }).filter((each) =>
    each.isFile(),
  );
  const texts = files.map((each) => readFileSync(join(each.parentPath, each.name), 'latin1'));
  return new Set(texts.flatMap((text) => text.match(/CNRY\d{4}Z/g) ?? []));
}

/** Of every fifth event; answers the values that went. */
async function erase(ids: readonly string[]): Promise<string[]> {
  const gone: string[] = [];
  for (let at = 0; at < ids.length; at += 5) {
    const body = { eventId: ids[at], fields: ['/metadata/card'] };
    expect((await plane.call('POST', '/erasures', { body })).status).toBe(201);
    gone.push(canary(at));
  }
  return gone;
}

/** The data directory as a crash now would leave it. */
function crashed(): string {
  const copy = join(plane.dataDir, '..', 'crashed');
  const isOwn = (path: string): boolean => !/\/(?:lock|reserve|run\.json)$/.test(path);
  cpSync(plane.dataDir, copy, { recursive: true, filter: isOwn });
  return copy;
}

it('a stop removes erased fields from the files, each of them and no other', async () => {
  const ids = await record();
  const gone = await erase(ids);
  await plane.close();
  const left = found();
  expect(gone.filter((each) => left.has(each))).toEqual([]);
  expect(left.size).toBe(ids.length - gone.length);
  expect((await fsck({ dataDir: plane.dataDir, deep: true, env: {} })).problems).toEqual([]);
});

it('a stop after a crash removes the erased fields of the crashed process', async () => {
  const due = (dataDir: string): boolean => existsSync(join(dataDir, 'rewrite.due'));
  const ids = await record();
  expect(due(plane.dataDir)).toBe(false);
  const gone = await erase(ids);
  const dataDir = crashed();
  expect([due(plane.dataDir), due(dataDir)]).toEqual([true, true]);
  const databaseOf = async (at: string) =>
    (await planeDoctor({ dataDir: at, env: {} })).checks.find(({ name }) => name === 'database');
  expect(await databaseOf(dataDir)).toMatchObject({
    status: 'warn',
    advice: expect.stringContaining('gov log compact'),
  });
  expect(await databaseOf(plane.dataDir)).toMatchObject({ status: 'ok' }); // its stop does it
  // a copy has what its original has, and what is due
  const backup = join(dataDir, '..', 'backup');
  await planeBackup({ dataDir: plane.dataDir, out: backup });
  expect(due(backup)).toBe(true);
  const next = await planeServe({ dataDir, env: {}, log: silentLog, overloadDelayMs: 60_000 });
  await next.close();
  const left = found(dataDir);
  expect([gone.filter((each) => left.has(each)), due(dataDir)]).toEqual([[], false]);
  expect(left.size).toBe(ids.length - gone.length);
  await plane.close();
  expect(due(plane.dataDir)).toBe(false);
});

it('gov log compact removes erased fields on demand', async () => {
  const ids = await record();
  const gone = await erase(ids);
  const dataDir = crashed();
  const tool = new Account();
  const compact = (at: string) => tool.gov(['log', 'compact', '--data', at], { columns: 100 });
  expect((await compact(plane.dataDir)).code).toBe(6); // it is served
  expect((await compact(join(dataDir, '..', 'none'))).code).toBe(5);
  const { code, stdout } = await compact(dataDir);
  expect([code, stdout]).toEqual([0, expect.stringMatching(/rewritten: [\d.]+ MiB before, [\d.]+ MiB now/)]);
  const left = found(dataDir);
  expect(gone.filter((each) => left.has(each))).toEqual([]);
  expect(existsSync(join(dataDir, 'rewrite.due'))).toBe(false);
  expect((await fsck({ dataDir, deep: true, env: {} })).problems).toEqual([]);
  expect(await tool.json(['log', 'compact', '--data', dataDir])).toMatchObject({ dataDir });
});

it('a stop skips the rewrite of a large database after erasures, but not after a pruning', () => {
  expect(isWritten('erased', limits.rewriteBytes)).toBe(true);
  expect(isWritten('erased', limits.rewriteBytes + 1)).toBe(false);
  expect(isWritten('pruned', limits.rewriteBytes + 1)).toBe(true);
  expect(isWritten(null, 1)).toBe(false);
});

const mayMount = process.getuid?.() === 0 && process.platform === 'linux';

it.skipIf(!mayMount)(
  'a rewrite on a full disk stays due and is reported (skipped where not root on Linux: needs a tmpfs)',
  async (test) => {
    await erase(await record());
    const from = crashed();
    const small = join(from, '..', 'small');
    mkdirSync(small);
    const unmount = mountSmall(small, 16);
    if (unmount === null) return test.skip('root may not mount here');
    try {
      const dataDir = join(small, 'plane');
      cpSync(from, dataDir, { recursive: true });
      const { bavail, bsize } = statfsSync(small);
      writeFileSync(join(small, 'rest'), Buffer.alloc(bavail * bsize - 128 * 1024));
      const { code, stderr } = await new Account().gov(['log', 'compact', '--data', dataDir]);
      expect([code, stderr]).toEqual([1, expect.stringContaining('free space, then run gov log compact')]);
      expect(existsSync(join(dataDir, 'rewrite.due'))).toBe(true);
      rmSync(join(small, 'rest'));
      expect((await new Account().gov(['log', 'compact', '--data', dataDir])).code).toBe(0);
    } finally {
      unmount();
    }
  },
);

it('a stop removes pruned events from the files', async () => {
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
