/** Exports whose process is killed in the middle of a build: taken up again, never half there. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { postgresBelow } from '../../support/below.ts';
import { engines, startService, type TestService } from '../../support/hosted.ts';
import { serveProcess, type ServingProcess } from '../../support/process.ts';
import { event, send } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { exportEnd } from '../support/filled.ts';

const events = 4000;
const text = 'x'.repeat(4000);
const leaseMs = limits.jobLeaseSeconds * 1000 + 1000;

describe.each(engines)('an export on %s whose process is killed', (engine) => {
  let service: TestService;
  let projectId: string;
  let key: string;
  let serving: ServingProcess;
  /** By how much the clock of the next process is ahead: so that what the one before held is due. */
  let aheadMs = 0;

  beforeAll(async () => {
    service = await startService({ engine });
    const tenant = await service.signUp('ada');
    key = tenant.keys.production;
    ({ projectId } = (await tenant.call('GET', '/auth/identity')).body);
    for (let at = 0; at < events; at += 200) {
      const batch = Array.from({ length: 200 }, (_, n) => event({ metadata: { text, n: at + n } }));
      await tenant.call('POST', '/events/batch', { body: { events: batch } });
    }
    await service.close();
  });
  afterAll(() => service.end());

  const call = (method: string, path: string, body?: unknown): Promise<Answer> =>
    send(method, `${serving.baseUrl}${path}`, { key, body });
  const serve = async (): Promise<void> => {
    serving = await serveProcess('service', service.dataDir, { aheadMs });
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    serving.child.kill(signal);
    await serving.ended;
  };

  /** What lies of an export, by name: bytes of files, or numbers of chunks. */
  async function lying(exportId: string): Promise<Map<string, number>> {
    if (service.database === null) {
      const folder = join(service.dataDir, 'exports', projectId);
      const names = existsSync(folder) ? readdirSync(folder) : [];
      const own = names.filter((name) => name.startsWith(exportId));
      return new Map(
        own.map((name) => [name, statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0]),
      );
    }
    const { sql } = postgresBelow(service.database.superuser, projectId);
    const rows = await sql(
      `SELECT artifact, count(*)::int AS chunks FROM export_chunk WHERE export_id = '${exportId}' GROUP BY artifact`,
    );
    return new Map(rows.map(({ artifact, chunks }) => [artifact, chunks]));
  }

  const isComplete = async (exportId: string): Promise<boolean> => {
    if (service.database === null)
      return [...(await lying(exportId)).keys()].some((name) => !name.endsWith('.part'));
    const { sql } = postgresBelow(service.database.superuser, projectId);
    const [row] = await sql(`SELECT completed_ms FROM export_job WHERE export_id = '${exportId}'`);
    return row?.completed_ms !== null;
  };

  /** Of attempts before. */
  const before = new Set<string>();

  /** Kills the process once bytes lie there that are not all; false where it was faster than we could look. */
  async function killWithin(exportId: string): Promise<boolean> {
    const isBuilt = async (): Promise<boolean> =>
      [...(await lying(exportId))].some(([name, size]) => size > 0 && !before.has(name));
    while (!(await isBuilt())) await nextTurn();
    for (const name of (await lying(exportId)).keys()) before.add(name);
    serving.child.kill('SIGSTOP');
    if (await isComplete(exportId)) {
      serving.child.kill('SIGCONT');
      return false;
    }
    await end('SIGKILL');
    return (await lying(exportId)).size > 0 && !(await isComplete(exportId));
  }

  /** An export in whose build the process was killed. */
  async function killed(): Promise<string> {
    for (;;) {
      await serve();
      const body = { resource: 'audit_events', format: 'json', includeProof: true };
      const { exportId } = (await call('POST', '/exports', body)).body;
      if (await killWithin(exportId)) return exportId;
      await end('SIGKILL');
    }
  }

  const told = async (exportId: string): Promise<string[]> => {
    const found = (await call('GET', `/events?runId=gov.system&limit=1000`)).body.events;
    return found
      .filter(({ resource }: Answer['body']) => resource?.id === exportId)
      .map(({ eventType }: Answer['body']) => eventType);
  };

  it('an export whose process is killed is unavailable until another one has built it whole, and leaves nothing else', async () => {
    const exportId = await killed();
    await serve();
    // on SQLite the next process of the directory has the export at once
    if (engine === 'postgres') {
      const { status, body, bytes } = await call('GET', `/exports/${exportId}/download`);
      expect([status, body.code]).toEqual([409, 'EXPORT_NOT_READY']);
      expect(bytes.length).toBeLessThan(2000);
      expect((await call('GET', `/exports/${exportId}`)).body).toMatchObject({
        status: 'processing',
        sha256: null,
      });
      await end('SIGKILL');
      aheadMs += leaseMs;
      await serve();
    }
    const done = await exportEnd(call, exportId);
    expect(done).toMatchObject({ status: 'completed', errorSummary: null });
    const whole = (await call('GET', `/exports/${exportId}/download`)).bytes;
    expect(`sha256:${createHash('sha256').update(whole).digest('hex')}`).toBe(done.sha256);
    expect(JSON.parse(whole.toString('utf8')).data.length).toBeGreaterThanOrEqual(events);
    expect(await told(exportId)).toEqual(['export.created', 'export.completed', 'export.downloaded']);
    const left = [...(await lying(exportId)).keys()];
    expect(left).toEqual([expect.stringMatching(/[0-9a-f]{16}$/)]);
    await end('SIGTERM');
  });

  it('an export that is cancelled while its process dies stays cancelled, and leaves nothing', async () => {
    const exportId = await killed(); // its parts lie there
    await serve();
    const cancelled = await call('POST', `/exports/${exportId}/cancel`);
    await end('SIGKILL');
    expect([cancelled.status, cancelled.body.status]).toEqual([200, 'cancelled']);
    // on SQLite the process that was asked had begun to build it again, and removed the parts
    if (engine === 'postgres') expect((await lying(exportId)).size).toBeGreaterThan(0);
    aheadMs += leaseMs;
    await serve();
    while ((await lying(exportId)).size > 0) await nextTurn();
    expect((await call('GET', `/exports/${exportId}`)).body).toEqual(cancelled.body);
    const again = await call('POST', `/exports/${exportId}/cancel`);
    expect([again.status, again.body]).toEqual([200, cancelled.body]);
    expect(await told(exportId)).toEqual(['export.created', 'export.cancelled']);
    await end('SIGTERM');
  });

  it(`an export whose process is killed each time has failed after ${limits.jobAttempts} attempts, and leaves nothing`, async () => {
    const exportId = await killed();
    for (let attempt = 2; attempt <= limits.jobAttempts; attempt++) {
      aheadMs += leaseMs;
      await serve();
      if (!(await killWithin(exportId)))
        throw new Error('expected a build that takes longer than a look at it');
    }
    aheadMs += leaseMs;
    await serve();
    const failed = await exportEnd(call, exportId);
    const reason = `the worker was lost ${limits.jobAttempts} times`;
    expect(failed).toMatchObject({ status: 'failed', errorSummary: reason, sha256: null, manifest: null });
    const { status, body } = await call('GET', `/exports/${exportId}/download`);
    expect([status, body.code, body.detail]).toEqual([
      409,
      'EXPORT_FAILED',
      `export ${exportId} failed: ${reason}`,
    ]);
    // swept at the start, or a minute later: the next start
    await end('SIGTERM');
    await serve();
    while ((await lying(exportId)).size > 0) await nextTurn();
    while ((await told(exportId)).length < 2) await nextTurn();
    expect(await told(exportId)).toEqual(['export.created', 'export.failed']);
    await end('SIGTERM');
  });
});
