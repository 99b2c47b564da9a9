/** A new log after one that is behind what was signed: what it says, that it serves, and that a service takes its reports. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { planeBackup } from '../../../plane/data/backup.ts';
import { planeInit } from '../../../plane/data/init.ts';
import { outboxFile } from '../../../plane/telemetry/outbox.ts';
import { planeRecover } from '../../../plane/data/recover.ts';
import { planeRestore } from '../../../plane/data/restore.ts';
import { planeServe } from '../../../plane/serve/start.ts';
import { telemetryStatus } from '../../../plane/telemetry/status.ts';
import { parseTrust } from '../../../src/core/note/trust.ts';
import { fsck } from '../../../src/host/data/fsck.ts';
import { silentLog } from '../../../src/service/call/log.ts';
import { openReader } from '../../../src/store/sqlite/store.ts';
import { storeFiles } from '../../../src/store/file/paths.ts';
import { govHere } from '../../cli/support/tool.ts';
import { startService } from '../../support/hosted.ts';
import { event, send } from '../../support/serving.ts';
import { openTelemetryPlane, register } from '../support/enrolled.ts';

const folder = mkdtempSync(join(tmpdir(), 'gov-recover-'));
const at = (name: string): string => join(folder, name);
afterAll(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

/** Serves a plane, records into it, and signs what it has. */
async function record(dataDir: string, events: number): Promise<void> {
  const plane = await planeServe({ dataDir, log: silentLog, env: {} });
  const key = readFileSync(join(dataDir, 'local.key'), 'utf8').trim();
  for (let n = 0; n < events; n++) await send('POST', `${plane.baseUrl}/events`, { key, body: event() });
  await plane.close();
}

const fileOf = (dataDir: string) => JSON.parse(readFileSync(join(dataDir, 'plane.json'), 'utf8'));

beforeAll(async () => {
  await planeInit({ dataDir: at('lost'), listen: '127.0.0.1:0', metricsListen: 'off' });
  await record(at('lost'), 2);
  await planeBackup({ dataDir: at('lost'), out: at('backup'), withKeys: true });
  await record(at('lost'), 5);
  const heads = join(at('lost'), 'heads.db');
  const restored = await planeRestore({
    from: at('backup'),
    dataDir: at('archive'),
    lastCheckpoints: [{ name: 'heads', bytes: readFileSync(heads), path: heads }],
  });
  expect(restored.verdict).toBe('behind');
});

describe('a log that ended', () => {
  it('a recovered log records its predecessor in a leaf and uses the same keys under a new name', async () => {
    const words = ['log', 'recover', at('archive'), '--data', at('next'), '--reason', 'the disk is lost'];
    const made = await govHere([...words, '-o', 'json']);
    expect(made).toMatchObject({ code: 0 });
    expect(JSON.parse(made.stdout)).toMatchObject({
      archive: { dataDir: at('archive'), hasSubjectKeys: false },
    });
    const { origin, projectId } = fileOf(at('archive'));
    const next = fileOf(at('next'));
    expect(next).toMatchObject({
      projectId,
      origin: `${origin}/1`,
      meteringOrigin: expect.stringMatching(/\/metering\/1$/),
    });
    const keys = (dataDir: string) =>
      parseTrust(readFileSync(join(dataDir, 'trust'), 'utf8')).keys.map(({ publicKey }) =>
        publicKey.toString('hex'),
      );
    expect(keys(at('next'))).toEqual(keys(at('archive')));
    const reader = openReader(storeFiles(at('next')).main);
    const leaf = await reader.leaf(projectId, 3); // after the genesis leaf and the local keys
    reader.close();
    expect(JSON.parse(leaf?.record ?? '{}')).toMatchObject({
      type: 'gov.epoch/1',
      epoch: 1,
      previousOrigin: origin,
      previous: [
        { origin, size: 5, lastKnownCheckpoint: { size: 10 } },
        { origin: expect.stringMatching(/\/metering\/0$/), size: 4, lastKnownCheckpoint: { size: 9 } },
      ],
      reason: 'the disk is lost',
    });
  });

  it('a recovered log serves and passes fsck, and the archived log stays unchanged', async () => {
    await record(at('next'), 3);
    expect((await fsck({ dataDir: at('next'), deep: true })).problems).toEqual([]);
    const { problems } = await fsck({ dataDir: at('archive'), deep: true });
    expect(new Set(problems.map(({ kind }) => kind))).toEqual(new Set(['heads_mismatch']));
    await expect(planeServe({ dataDir: at('archive'), log: silentLog, env: {} })).rejects.toMatchObject({
      code: 'CONFLICT',
    });
  });

  it('a log is recovered once, and only when it is behind', async () => {
    const twice = planeRecover({ from: at('archive'), dataDir: at('second'), reason: 'x' });
    await expect(twice).rejects.toThrow(
      /nothing follows yet, but .*recovered\.json names .*next; serve that one/,
    );
    expect(existsSync(at('second'))).toBe(false);
    const healthy = await govHere(['log', 'recover', at('next'), '--data', at('second'), '--reason', 'x']);
    expect(healthy).toMatchObject({ code: 6, stderr: expect.stringContaining('it can go on') });
    expect(await govHere(['log', 'recover', folder, '--data', at('second'), '--reason', 'x'])).toMatchObject({
      code: 5,
    });
  });

  it('a recovered plane enrols with a service again and reports totals from 0', async () => {
    const service = await startService();
    const plane = openTelemetryPlane(at('next'));
    try {
      const { token, dataPlaneId } = await register(await service.signUp('ada'));
      await plane.enrol({ service: service.origin, token });
      await plane.record(2);
      await plane.telemetry.look();
      expect(plane.reports().at(-1)).toMatchObject({ dataPlaneId, log: { epoch: 1 }, sequence: 1 });
      expect(plane.telemetry.reasons()).toEqual([]);
      // a copy of an enrolled plane has what it reported, and stands with its service as the plane does
      const { files } = await planeBackup({ dataDir: at('next'), out: at('enrolled'), withKeys: true });
      const paths = files.map(({ path }) => path);
      expect(paths).toEqual(expect.arrayContaining([basename(outboxFile('')), 'keys/telemetry.json']));
      await planeRestore({ from: at('enrolled'), dataDir: at('again'), lastCheckpoints: [] });
      const { lastContactAt, ...status } = telemetryStatus(at('again'));
      expect([lastContactAt, status]).toEqual([
        expect.any(String),
        expect.objectContaining({ enrolled: true, reportsWaiting: 0, reasons: [] }),
      ]);
    } finally {
      await plane.end();
      await service.end();
    }
  });
});
