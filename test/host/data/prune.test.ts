/** Pruning of a log: the archive is whole, what was proved stays so, and what is gone is told. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { planePrune } from '../../../plane/data/prune.ts';
import { planeServe } from '../../../plane/serve/start.ts';
import { limits } from '../../../src/contract/limits.ts';
import { verifyBundle } from '../../../src/core/proofs/verify.ts';
import { parseTrust } from '../../../src/core/note/checkpoint.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { verifyArchive } from '../../../src/host/data/log-archive.ts';
import { pruneLog } from '../../../src/host/data/prune.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { endOf } from '../../service/support/filled.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { checkedCalls, event, startPlane, type TestPlane } from '../../support/serving.ts';

const dayMs = 86_400_000;
const realNow = Date.now;
let aheadMs = 0;
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gov-archive-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));
beforeAll(() => {
  vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
});
afterAll(() => vi.restoreAllMocks());

/** Events of a run, now. */
const eventsOf = (runId: string, count: number) =>
  Array.from({ length: count }, (_, at) =>
    event({ runId, timestamp: new Date(Date.now()).toISOString(), metadata: { at } }),
  );

describe('a plane', () => {
  let plane: TestPlane;
  let old = '';
  let bundle = '';
  let dataDir = '';
  beforeAll(async () => {
    aheadMs = 0;
    plane = await startPlane();
    ({ dataDir } = plane);
    await plane.call('POST', '/events/batch', { body: { events: eventsOf('old', 300) } });
    old = (await plane.call('POST', '/proofs', { body: { runId: 'old' } })).body.proofId;
    bundle = (await plane.call('GET', `/proofs/${old}/bundle?events=records`)).text;
    const erased = (await plane.call('GET', '/events?runId=old&limit=1')).body.events[0].eventId;
    await plane.call('POST', '/erasures', { body: { eventId: erased } });
    aheadMs = 200 * dayMs;
    await plane.call('POST', '/events/batch', { body: { events: eventsOf('young', 20) } });
    await plane.close();
  });
  afterAll(() => plane.end());

  const prune = (options: { beforeMs?: number; archive?: string; dryRun?: boolean } = {}) =>
    planePrune(
      { dataDir, env: {} },
      { beforeMs: Date.now() - 190 * dayMs, archive: join(folder, 'a.ndjson.gz'), dryRun: false, ...options },
    );
  const trustOf = () => parseTrust(readFileSync(join(dataDir, 'trust'), 'utf8'));
  const keyTexts = () =>
    readFileSync(join(dataDir, 'trust'), 'utf8')
      .split('\n')
      .flatMap((line) => /^log (\S+)/.exec(line)?.slice(1) ?? []);

  it('a prune refuses events within their retention, a served plane and an existing archive file', async () => {
    const tooYoung = prune({ beforeMs: Date.now() - limits.retentionDaysProduction * dayMs + 60_000 });
    await expect(tooYoung).rejects.toMatchObject({ code: 'VALIDATION_ERROR' });
    writeFileSync(join(folder, 'a.ndjson.gz'), 'mine');
    await expect(prune()).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(readFileSync(join(folder, 'a.ndjson.gz'), 'utf8')).toBe('mine');
    const held = join(dataDir, 'plane.json');
    const file = readFileSync(held, 'utf8');
    writeFileSync(held, JSON.stringify({ ...JSON.parse(file), legalHold: true }));
    await expect(prune()).rejects.toMatchObject({ code: 'CONFLICT' });
    writeFileSync(held, file);
    expect((await fsck({ dataDir, deep: true, env: {} })).ok).toBe(true);
  });

  it('a dry run of a prune reports what would be removed, and changes nothing', async () => {
    const would = await prune({ dryRun: true });
    expect(would).toMatchObject({ from: 0, archive: null });
    expect(would.to).toBeGreaterThan(300);
    expect(await prune({ dryRun: true })).toEqual(would);
    expect(await prune({ beforeMs: Date.now() - 300 * dayMs })).toMatchObject({ from: 0, to: 0 });
  });

  it('a prune moves events into an archive that verifies by itself, and proofs still verify', async () => {
    const archive = join(folder, 'old.ndjson.gz');
    const pruned = await prune({ archive });
    expect(pruned).toMatchObject({ from: 0, archive });
    const archived = await verifyArchive(archive, keyTexts());
    expect(archived).toMatchObject({
      leaves: pruned.to,
      hash: pruned.archiveHash,
      bytes: pruned.archiveBytes,
    });

    const { ok, problems } = await fsck({ dataDir, deep: true, env: {} });
    expect([ok, problems]).toEqual([true, []]);
    const again = await planeServe({ dataDir, env: {}, log: silentLog, overloadDelayMs: 60_000 });
    try {
      const { call } = checkedCalls(again.baseUrl);
      const key = plane.key;
      const lines = gunzipSync(readFileSync(archive)).toString('utf8').trim().split('\n').slice(1);
      const { eventId } = JSON.parse(JSON.parse(lines.at(150) ?? '').record);
      const gone = await call('GET', `/events/${eventId}`, { key });
      expect([gone.status, gone.body.detail]).toEqual([404, expect.stringContaining('was pruned')]);
      expect((await call('GET', '/events?runId=old', { key })).body.events).toEqual([]);
      expect((await call('GET', '/events?runId=young', { key })).body.events).toHaveLength(20);
      const system = (await call('GET', '/events?runId=gov.system', { key })).body.events;
      expect(system.at(-1)).toMatchObject({ eventType: 'log.pruned', resource: { id: pruned.archiveHash } });
      const verdict = await call('POST', '/proofs/verify', { key, body: { proofId: old } });
      expect(verdict.body).toMatchObject({ verified: true });
      for (const { basis } of verdict.body.layers) expect(basis).toBe('attested');
      const fresh = await call('POST', '/proofs', { key, body: { runId: 'old' } });
      expect([fresh.status, fresh.body.code]).toEqual([400, 'RUN_HAS_NO_EVENTS']);
      expect((await call('POST', '/proofs', { key, body: { runId: 'young' } })).status).toBe(201);
      expect((await call('GET', `/proofs/${old}/bundle?events=none`, { key })).status).toBe(200);
      expect((await call('POST', '/events', { key, body: event({ runId: 'old' }) })).status).toBe(201);
    } finally {
      await again.close();
    }
    const offline = verifyBundle(Buffer.from(bundle), trustOf());
    expect(offline.verified).toBe(true);
    expect((await fsck({ dataDir, deep: true, env: {} })).ok).toBe(true);
  });

  it('a second prune continues after the first, and each archive verifies by itself', async () => {
    aheadMs = 420 * dayMs;
    const archive = join(folder, 'second.ndjson.gz');
    const before = await prune({ dryRun: true });
    const second = await prune({ archive });
    expect(second.from).toBe(before.from);
    expect(second.from).toBeGreaterThan(300);
    expect(await verifyArchive(archive, keyTexts())).toMatchObject({ leaves: second.to - second.from });
    expect((await fsck({ dataDir, deep: true, env: {} })).ok).toBe(true);

    const lines = gunzipSync(readFileSync(archive)).toString('utf8').split('\n');
    const altered = (change: (lines: string[]) => string[]): string => {
      const path = join(folder, 'altered.gz');
      writeFileSync(path, gzipSync(change([...lines]).join('\n')));
      return path;
    };
    for (const change of [
      (all: string[]) => all.toSpliced(3, 1),
      (all: string[]) => all.slice(0, -2),
      (all: string[]) => all.with(2, (all[2] ?? '').replace('tool.call', 'tool.kall')),
      (all: string[]) => all.with(2, (all[2] ?? '').replace('"execute\\"', '"exekute\\"')),
      (all: string[]) => all.with(0, (all[0] ?? '').replace(/"from":\d+/, '"from":1')),
      (all: string[]) => all.with(0, (all[0] ?? '').replace(/"root":"sha256:./, '"root":"sha256:g')),
      () => ['{}'],
      () => ['nothing'],
    ]) {
      await expect(verifyArchive(altered(change), keyTexts())).rejects.toMatchObject({
        code: 'VALIDATION_ERROR',
      });
    }
    writeFileSync(join(folder, 'cut.gz'), readFileSync(archive).subarray(0, 200));
    await expect(verifyArchive(join(folder, 'cut.gz'), keyTexts())).rejects.toMatchObject({
      code: 'VALIDATION_ERROR',
    });
  });
});

describe.each(engines)('a project of a service on %s', (engine) => {
  let service: TestService;
  let acme: Tenant;
  beforeAll(async () => {
    service = await startService({ engine });
    acme = await service.signUp('Ann');
  });
  afterAll(() => service.end());

  it('a project of a service is pruned without the others, and still makes proofs', async () => {
    const call = (method: string, path: string, body?: unknown) =>
      acme.call(method, path, { environment: 'sandbox', ...(body === undefined ? {} : { body }) });
    await call('POST', '/events/batch', { events: eventsOf('old', 30) });
    const { proofId } = (await call('POST', '/proofs', { runId: 'old' })).body;
    const inSandbox: typeof acme.call = (method, path) => call(method, path);
    const replay = async (body: object): Promise<string> =>
      (await endOf(inSandbox, (await call('POST', '/replay', body)).body.jobId)).result.replayId;
    const replays = [
      await replay({ runId: 'old' }),
      await replay({ runId: 'gov.system', compareRunId: 'old' }),
    ];
    aheadMs += 10 * dayMs;
    await call('POST', '/events/batch', { events: eventsOf('young', 5) });
    const { projectId } = acme;
    const archive = join(folder, 'a.ndjson.gz');
    const options = { projectId, beforeMs: Date.now() - dayMs, archive, dryRun: false };
    const pruned = await pruneLog(service.services, options);
    expect(pruned.to).toBeGreaterThan(30);
    expect((await call('GET', '/events?runId=old')).body.events).toEqual([]);
    for (const replayId of replays) {
      const { status, body } = await call('GET', `/replay/${replayId}`);
      expect([status, body.steps, body.warnings]).toEqual([200, [], [expect.stringContaining('took since')]]);
    }
    expect((await call('GET', '/events?runId=young')).body.events).toHaveLength(5);
    expect((await call('POST', '/proofs/verify', { proofId })).body.verified).toBe(true);
    expect((await call('POST', '/events', event({ runId: 'young' }))).status).toBe(201);
    if (engine === 'sqlite') return;
    const { ok, problems } = await fsck({ dataDir: service.dataDir, deep: true, env: {} });
    expect([ok, problems]).toEqual([true, []]);
  });
});
