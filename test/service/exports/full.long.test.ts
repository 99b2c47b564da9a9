/**
 * The disk is full where artifacts lie, for real: a small file system, also below a table of PostgreSQL. Recording goes on,
 * the job tries again, says why it failed, and nothing of what was begun is left.
 */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statfsSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { removeExports } from '../../../src/service/exports/sweep.ts';
import { postgresBelow } from '../../support/below.ts';
import { mountSmall } from '../../faults/full.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { newFolder } from '../../store/support/fixture.ts';

const nobody = 65_534;
const [smallMiB, largeMiB] = [2, 1024];
/** Of the artifact: some 4 MiB. */
const events = 1000;

const mayMount = ((): boolean => {
  if (process.getuid?.() !== 0 || process.platform !== 'linux') return false;
  const folder = mkdtempSync(join(tmpdir(), 'gov-mount-'));
  const unmount = mountSmall(folder, 1);
  unmount?.();
  rmSync(folder, { recursive: true });
  return unmount !== null;
})();

/** Where artifacts lie: files of a plane, files that processes share, rows of the database. */
const places = (['files', 'shared', 'rows'] as const).filter(
  (place) => place === 'files' || engines.includes('postgres'),
);

describe.skipIf(!mayMount).each(places)(
  'an export on a full disk, artifacts in %s (skipped where not root on Linux: needs a tmpfs)',
  (place) => {
    const realNow = Date.now;
    let aheadMs = 0;
    let folder: string;
    let unmount: (() => void) | null;
    let service: TestService;
    let tenant: Tenant;
    let projectId: string;

    beforeAll(async () => {
      vi.spyOn(Date, 'now').mockImplementation(() => realNow() + aheadMs);
      // the database is another user, to whom the usual place may be closed
      folder = place === 'rows' ? newFolder() : mkdtempSync(join(tmpdir(), 'gov-full-'));
      unmount = mountSmall(folder, largeMiB);
      service = await startService({
        engine: place === 'files' ? 'sqlite' : 'postgres',
        file: place === 'shared' ? { exportDir: folder } : {},
      });
      if (place === 'files') {
        const own = join(service.dataDir, 'exports');
        mkdirSync(own, { recursive: true });
        execFileSync('mount', ['--move', folder, own]);
        const top = folder;
        rmSync(top, { recursive: true });
        folder = own;
        unmount = () => execFileSync('umount', ['-l', own]);
      }
      if (place === 'rows') await moveChunks();
      tenant = await service.signUp('ada');
      ({ projectId } = (await tenant.call('GET', '/auth/identity')).body);
      for (let at = 0; at < events; at += 200) {
        const batch = Array.from({ length: 200 }, () => event({ metadata: { text: 'x'.repeat(4000) } }));
        await tenant.call('POST', '/events/batch', { body: { events: batch } });
      }
    });
    afterAll(async () => {
      vi.restoreAllMocks();
      if (place === 'files') unmount?.();
      await service.end();
      if (place === 'rows') await dropSpace();
      if (place !== 'files') {
        unmount?.();
        rmSync(folder, { recursive: true, force: true });
      }
    });
    beforeEach(() => resize(smallMiB));
    afterEach(() => resize(largeMiB));

    const space = `gov_small_${process.pid}`;
    /** The table of chunks goes to a table space on the small file system. */
    async function moveChunks(): Promise<void> {
      chmodSync(folder, 0o755);
      const at = join(folder, 'space');
      mkdirSync(at);
      chownSync(at, nobody, nobody);
      await sql(`CREATE TABLESPACE ${space} LOCATION '${at}'`);
      await sql(`ALTER TABLE export_chunk SET TABLESPACE ${space}`);
    }
    async function dropSpace(): Promise<void> {
      const { url } = { url: new URL(service.database?.superuser ?? '') };
      url.pathname = '/postgres';
      await postgresBelow(url.href, '').sql(`DROP TABLESPACE ${space}`);
    }
    const sql = (statement: string) =>
      postgresBelow(service.database?.superuser ?? '', projectId).sql(statement);
    const resize = (MiBs: number): void =>
      void execFileSync('mount', ['-o', `remount,size=${MiBs}m`, folder], { stdio: 'pipe' });

    /** What lies of exports. */
    async function lying(): Promise<string[]> {
      if (place === 'rows') {
        const rows = await sql('SELECT DISTINCT export_id, artifact FROM export_chunk');
        return rows.map(({ export_id: exportId, artifact }) => `${exportId}.${artifact}`);
      }
      const own = join(folder, projectId);
      return existsSync(own) ? readdirSync(own) : [];
    }

    const create = async (): Promise<string> => {
      const body = { resource: 'audit_events', format: 'json' };
      return (await tenant.call('POST', '/exports', { body })).body.exportId;
    };
    const show = async (exportId: string): Promise<Answer['body']> =>
      (await tenant.call('GET', `/exports/${exportId}`)).body;
    const full = /^STORAGE_FULL: the disk (?:of the database is full|has no room for the artifact)/;

    /** Once an attempt found no room; it is due again when the clock is told so. */
    async function refusedOnce(exportId: string): Promise<Answer['body']> {
      for (;;) {
        const shown = await show(exportId);
        if (shown.status !== 'processing' && shown.errorSummary !== null) return shown;
        if (shown.status === 'completed') throw new Error('expected the disk to be full');
        await wait(20);
      }
    }

    async function finishedOf(exportId: string): Promise<string> {
      for (let shown = await show(exportId); shown.status !== 'completed'; shown = await show(exportId)) {
        expect(shown.status).not.toBe('failed');
        await wait(20);
      }
      return exportId;
    }
    const finished = async (): Promise<string> => finishedOf(await create());

    it('recording continues after a full disk once there is room', async () => {
      const exportId = await create();
      expect(await refusedOnce(exportId)).toMatchObject({
        status: 'pending',
        errorSummary: expect.stringMatching(full),
        sha256: null,
      });
      const early = await tenant.call('GET', `/exports/${exportId}/download`);
      expect([early.status, early.body.code]).toEqual([409, 'EXPORT_NOT_READY']);
      expect(await lying()).toEqual([]);
      // who records feels nothing of it
      expect((await tenant.call('POST', '/events', { body: event() })).status).toBe(201);
      resize(largeMiB);
      aheadMs += 10_000;
      await finishedOf(exportId);
      expect(await show(exportId)).toMatchObject({ errorSummary: null, rowCount: expect.any(Number) });
      const { status, body } = await tenant.call('GET', `/exports/${exportId}/download`);
      expect(status).toBe(200);
      expect(body.data.length).toBeGreaterThanOrEqual(events);
      await tenant.call('DELETE', `/exports/${exportId}`);
      if (place === 'rows') await sql('VACUUM FULL export_chunk');
    });

    const spare = limits.exportSpareBytes;
    /** So that so many bytes are free. */
    const leave = (bytes: number): void => {
      const { bavail, blocks, bsize } = statfsSync(folder);
      const size = Math.ceil(((blocks - bavail) * bsize + bytes) / 4096) * 4096;
      execFileSync('mount', ['-o', `remount,size=${size}`, folder], { stdio: 'pipe' });
    };
    const freeBytes = (): number => statfsSync(folder).bavail * statfsSync(folder).bsize;
    const states = async (ids: readonly string[]): Promise<string[]> =>
      Promise.all(ids.map(async (id) => (await show(id)).status));

    it.skipIf(place === 'rows')(
      'an export ends where recording would have too little room, and removes no finished export',
      async () => {
        resize(largeMiB);
        const kept = await finished();
        leave(spare + 1024 * 1024);
        const exportId = await create();
        expect((await refusedOnce(exportId)).errorSummary).toMatch(full);
        expect(freeBytes()).toBeGreaterThanOrEqual(spare);
        expect(await states([kept])).toEqual(['completed']);
        resize(largeMiB);
        aheadMs += 10_000;
        await finishedOf(exportId);
        for (const id of [kept, exportId]) await tenant.call('DELETE', `/exports/${id}`);
        expect(await lying()).toEqual([]);
      },
    );

    it.skipIf(place === 'rows')(
      'the oldest finished exports end early where that gives recording enough room, and the log records it',
      async () => {
        resize(largeMiB);
        const small = (await tenant.call('POST', '/exports', { body: { resource: 'jobs', format: 'json' } }))
          .body.exportId;
        await finishedOf(small);
        const [first, second] = [await finished(), await finished()];
        const { sizeBytes } = await show(first);
        // both together are not enough: nothing is gained by their loss
        leave(spare - 3 * sizeBytes);
        await removeExports(service.services);
        expect(await states([small, first, second])).toEqual(['completed', 'completed', 'completed']);
        leave(spare - sizeBytes / 2);
        await removeExports(service.services);
        expect(await states([small, first, second])).toEqual(['completed', 'expired', 'completed']);
        expect(freeBytes()).toBeGreaterThanOrEqual(spare);
        expect((await tenant.call('GET', `/exports/${second}/download`)).status).toBe(200);
        expect((await tenant.call('GET', `/exports/${first}/download`)).body.code).toBe('EXPORT_EXPIRED');
        const { events: told } = (
          await tenant.call('GET', '/events?runId=gov.system&eventType=export.expired')
        ).body;
        expect(told.map(({ resource, metadata }: Answer['body']) => [resource.id, metadata])).toEqual([
          [first, { reason: 'disk_low' }],
        ]);
        resize(largeMiB);
        for (const id of [small, second]) await tenant.call('DELETE', `/exports/${id}`);
        expect(await lying()).toEqual([]);
      },
    );

    it(`an export fails after ${limits.jobAttempts} attempts, says why, and leaves nothing`, async () => {
      const exportId = await create();
      let shown = await refusedOnce(exportId);
      for (let at = 0; shown.status !== 'failed'; at++) {
        expect(await lying()).toEqual([]);
        aheadMs += 10_000;
        await wait(20);
        shown = await refusedOnce(exportId);
      }
      expect(shown.errorSummary).toMatch(full);
      const { status, body } = await tenant.call('GET', `/exports/${exportId}/download`);
      expect([status, body.code, body.detail]).toEqual([
        409,
        'EXPORT_FAILED',
        `export ${exportId} failed: ${shown.errorSummary}`,
      ]);
      expect(body.errors).toEqual([
        { pointer: '/exportId', in: 'path', code: 'EXPORT_FAILED', detail: body.detail },
      ]);
      expect(await lying()).toEqual([]);
      await removeExports(service.services);
      const { events: told } = (await tenant.call('GET', '/events?runId=gov.system&eventType=export.failed'))
        .body;
      expect(told.map(({ resource, metadata }: Answer['body']) => [resource.id, metadata])).toEqual([
        [exportId, { errorSummary: shown.errorSummary }],
      ]);
      resize(largeMiB);
      const again = await create();
      for (shown = await show(again); shown.status !== 'completed'; shown = await show(again)) await wait(20);
      expect((await tenant.call('GET', `/exports/${again}/download`)).status).toBe(200);
    });
  },
);
