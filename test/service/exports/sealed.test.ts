/** Artifacts at rest under a master key: nothing of them in clear, and downloads as without one, in parts too. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import { runExport } from '../../../src/service/exports/job.ts';
import type { TaskRunner } from '../../../src/service/call/work.ts';
import { postgresBelow } from '../../support/below.ts';
import { engines, startService, type EngineName, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { exportEnd } from '../support/filled.ts';

const canary = 'CNRYexported';
const masterKey = Buffer.alloc(32, 7).toString('hex');

/** All bytes of artifacts, as they lie. */
async function lying(service: TestService): Promise<Buffer> {
  if (service.database !== null) {
    const rows = await postgresBelow(service.database.superuser, '').sql('SELECT bytes FROM export_chunk');
    return Buffer.concat(rows.map(({ bytes }) => bytes));
  }
  const folder = join(service.dataDir, 'exports');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name));
  return Buffer.concat(files.filter((name) => statSync(name).isFile()).map((name) => readFileSync(name)));
}

/** A service with a project that has an export. */
async function exported(engine: EngineName) {
  const service = await startService({ engine });
  const { call } = await service.signUp('ada');
  const { projectId } = (await call('GET', '/auth/identity')).body;
  const { exportId } = (await call('POST', '/exports', { body: { resource: 'jobs', format: 'csv' } })).body;
  await exportEnd(call, exportId);
  return { service, call, projectId, exportId };
}

/** The signal of a job that nobody cancels. */
const held = new AbortController().signal;

describe.each(engines)('exports on %s', (engine) => {
  it('exports are sealed when there is a master key, and downloads return the original bytes', async () => {
    const service = await startService({ engine, env: { GOV_MASTER_KEY: masterKey } });
    const { call } = await service.signUp('ada');
    const events = Array.from({ length: 400 }, (_, n) => event({ metadata: { text: canary.repeat(50), n } }));
    await call('POST', '/events/batch', { body: { events } });
    const body = { resource: 'audit_events', format: 'json', includeProof: true };
    const { exportId } = (await call('POST', '/exports', { body })).body;
    const { sizeBytes, sha256 } = await exportEnd(call, exportId);
    const { bytes, headers } = await call('GET', `/exports/${exportId}/download`);
    expect(bytes.toString('utf8')).toContain(canary);
    const digest = createHash('sha256').update(bytes).digest('hex');
    expect([bytes.length, `sha256:${digest}`, headers['etag']]).toEqual([sizeBytes, sha256, `"${digest}"`]);
    const stored = await lying(service);
    expect(stored.length).toBeGreaterThan(sizeBytes);
    for (const word of [canary, 'audit_events', 'schemaVersion', 'evidence']) {
      expect(stored.includes(word), word).toBe(false);
    }
    for (const [from, to] of [
      [0, 1],
      [65_535, 65_537],
      [100_000, sizeBytes],
      [sizeBytes - 1, sizeBytes],
    ] as const) {
      const part = await call('GET', `/exports/${exportId}/download`, {
        headers: { range: `bytes=${from}-${to - 1}` },
      });
      expect([part.status, part.bytes.equals(bytes.subarray(from, to))]).toEqual([206, true]);
    }
    await service.end();
  });

  it('an attempt without the lease does not touch the artifact', async () => {
    const { service, call, projectId, exportId } = await exported(engine);
    const { services } = service;
    const stored = await services.store.exported(projectId, exportId, Date.now());
    const late = {
      projectId,
      jobId: stored?.jobId ?? '',
      type: 'export',
      runId: '',
      resultId: exportId,
      request: '{"rootHash":""}',
      lease: 'of before',
    };
    await expect(runExport(services, late as never, held)).rejects.toMatchObject({ code: 'CONFLICT' });
    // nor before it is complete
    const { exported: find } = services.store;
    const open = {
      ...services,
      store: { ...services.store, exported: find, renewJob: services.store.renewJob },
    };
    open.store.exported = async (...args) => ({ ...(await find(...args))!, done: null });
    await expect(runExport(open as never, late as never, held)).rejects.toMatchObject({ code: 'CONFLICT' });
    expect((await call('GET', `/exports/${exportId}/download`)).status).toBe(200);
    await service.end();
  });

  it('an export leaves nothing when its thread ends while a chunk is written', async () => {
    const { service, projectId, exportId } = await exported(engine);
    const { services } = service;
    await services.exports.artifacts.remove({ projectId, exportId });
    const { exported: find } = services.store;
    let written: Promise<unknown> = Promise.reject(new Error('nothing was written'));
    written.catch(() => {});
    const work: TaskRunner = {
      ...services.exports.work,
      run: (_name, _input, { host }) => {
        written = host!.write!(new Uint8Array(2 * 1024 * 1024));
        return Promise.reject(new GovError('SHUTTING_DOWN', 'the server is shutting down'));
      },
    };
    const ending = {
      ...services,
      exports: { ...services.exports, work },
      store: {
        ...services.store,
        prunedBelow: async () => 0,
        heldExports: services.store.heldExports,
        exported: async (...args: Parameters<typeof find>) => ({ ...(await find(...args))!, done: null }),
        renewJob: async () => true,
      },
    };
    const job = { projectId, jobId: '', resultId: exportId, request: '{"rootHash":""}' };
    await expect(runExport(ending as never, job as never, held)).rejects.toMatchObject({
      code: 'SHUTTING_DOWN',
    });
    await written;
    expect((await lying(service)).length).toBe(0);
    await service.end();
  });
});
