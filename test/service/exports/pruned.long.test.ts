/** Pruning and exports: what is asked for is waited for; what goes during a build is left out by the next attempt. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { verifyExport } from '../../../src/core/exports/verify.ts';
import { parseTrust } from '../../../src/core/note/trust.ts';
import { pruneLog } from '../../../src/host/data/prune.ts';
import type { Services } from '../../../src/service/port/services.ts';
import type { TaskHost, TaskRunner } from '../../../src/service/call/work.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { exportEnd } from '../support/filled.ts';

describe.each(engines)('exports on %s and pruning', (engine) => {
  let folder: string;
  let service: TestService;
  let call: Tenant['call'];
  let projectId: string;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gov-pruned-'));
    service = await startService({ engine });
    const tenant = await service.signUp('ada');
    ({ projectId } = tenant);
    call = (method, path, options) => tenant.call(method, path, { environment: 'sandbox', ...options });
    for (let at = 0; at < 4; at++) {
      const events = Array.from({ length: 200 }, () =>
        event({ runId: 'old', metadata: { text: 'x'.repeat(4000) } }),
      );
      await call('POST', '/events/batch', { body: { events } });
    }
  });
  afterEach(async () => {
    await service.end();
    rmSync(folder, { recursive: true });
  });

  const prune = (services: Services = service.services) =>
    pruneLog(services, { projectId, beforeMs: Date.now(), archive: join(folder, 'a.gz'), dryRun: false });
  const create = async (): Promise<string> =>
    (
      await call('POST', '/exports', {
        body: { resource: 'audit_events', format: 'json', includeProof: true },
      })
    ).body.exportId;

  /** What an export writes goes through this first. */
  function beforeWriting(step: () => Promise<void>): void {
    const { work } = service.services.exports;
    const run: TaskRunner['run'] = (name, input, options) => {
      const write: TaskHost['write'] = async (bytes) => {
        await step();
        return (await options.host?.write?.(bytes)) ?? bytes;
      };
      return work.run(name, input, { ...options, host: { ...options.host, write } });
    };
    Object.assign(service.services.exports, { work: { run, close: () => work.close() } });
  }

  it('pruning waits for exports, so that no requested event is removed', async () => {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    beforeWriting(() => released);
    const exportId = await create();
    await expect(prune()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: `expected no export of audit_events that is not complete, got ${exportId}; wait until it is`,
    });
    release();
    const end = await exportEnd(call, exportId);
    expect([end.status, end.manifest.prunedBelow]).toEqual(['completed', undefined]);
    expect((await prune()).to).toBeGreaterThan(800);
    // what is complete stays so
    const { data } = (await call('GET', `/exports/${exportId}/download`)).body;
    expect(data.filter(({ runId }: Answer['body']) => runId === 'old')).toHaveLength(800);
  });

  it('forced pruning restarts a build, which then skips the pruned events', async () => {
    const { store } = service.services;
    const unaware = { ...service.services, store: { ...store, exports: async () => [] } } as Services;
    let pruned: Promise<unknown> | undefined;
    beforeWriting(async () => void (await (pruned ??= prune(unaware))));
    const exportId = await create();
    const shown: string[] = [];
    let end: Answer['body'];
    do {
      end = (await call('GET', `/exports/${exportId}`)).body;
      if (end.errorSummary !== null) shown.push(end.errorSummary);
    } while (end.status === 'pending' || end.status === 'processing');
    expect(end).toMatchObject({ status: 'completed', errorSummary: null });
    expect(shown[0]).toBe(
      'UNAVAILABLE: events were pruned while the export was built; the build starts again',
    );
    const { bytes, body } = await call('GET', `/exports/${exportId}/download`);
    expect(body.data.filter(({ runId }: Answer['body']) => runId === 'old')).toEqual([]);
    expect(body.data.length).toBe(end.rowCount);
    // which is said, in the file too
    const { to } = (await pruned) as { to: number };
    const prunedBelow = Math.min(to, end.manifest.treeSize);
    expect([end.manifest.prunedBelow, body.manifest.prunedBelow]).toEqual([prunedBelow, prunedBelow]);
    const keys = (await call('GET', '/log/key')).text.trim().split('\n');
    const trust = parseTrust(`${keys.map((each) => `log ${each}\n`).join('')}quorum none\n`);
    const verdict = await verifyExport(
      (async function* () {
        yield bytes;
      })(),
      trust,
    );
    expect(verdict.verified).toBe(true);
    expect(verdict.notes).toContainEqual(
      expect.stringContaining(`PRUNED: events below leaf ${prunedBelow} `),
    );
  });
});
