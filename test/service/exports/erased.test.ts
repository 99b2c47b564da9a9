/** Artifacts of exports that hold what is erased afterwards, on both engines. */
import { describe, expect, it } from 'vitest';
import { engines, startService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { exportEnd } from '../support/filled.ts';

describe.each(engines)('an erasure on %s', (engine) => {
  it('removes the artifacts of exports that hold what it takes, and leaves others', async () => {
    const service = await startService({ engine });
    const { call } = await service.signUp('ada');
    const { projectId } = (await call('GET', '/auth/identity')).body;
    const made = async (body: Record<string, unknown>): Promise<string> => {
      const { body: created } = await call('POST', '/exports', { body: { format: 'json', ...body } });
      expect((await exportEnd(call, created.exportId)).status).toBe('completed');
      return created.exportId;
    };
    const push = async (runId: string): Promise<string> =>
      (await call('POST', '/events', { body: event({ runId, metadata: { card: `card of ${runId}` } }) })).body
        .eventId;
    await push('before');
    const eventId = await push('erased');
    const ofAll = await made({ resource: 'audit_events' });
    const ofOther = await made({ resource: 'audit_events', filters: { runId: 'before' } });
    const { bytes } = await call('GET', `/exports/${ofAll}/download`);
    expect(bytes.toString()).toContain('card of erased');

    const dry = await call('POST', '/erasures', { body: { eventId, dryRun: true } });
    expect(dry.status).toBe(200);
    expect((await call('GET', `/exports/${ofAll}`)).body.status).toBe('completed');
    expect((await call('POST', '/erasures', { body: { eventId } })).status).toBe(201);

    expect((await call('GET', `/exports/${ofAll}`)).body.status).toBe('expired');
    const download = await call('GET', `/exports/${ofAll}/download`);
    expect([download.status, download.body.code]).toEqual([409, 'EXPORT_EXPIRED']);
    const { store, exports } = service.services;
    const { done } = (await store.exported(projectId, ofAll, 0))!;
    const read = async (): Promise<void> => {
      const of = { projectId, exportId: ofAll };
      for await (const _ of exports.artifacts.read(of, done!, { from: 0, to: 1 }));
    };
    await expect(read()).rejects.toMatchObject({ code: 'EXPORT_FAILED' });
    expect((await call('GET', `/exports/${ofOther}/download`)).bytes.toString()).toContain('card of before');
    const again = (await call('GET', `/exports/${await made({ resource: 'audit_events' })}/download`)).bytes;
    expect(again.toString()).not.toContain('card of erased');
    expect(again.toString()).toContain('card of before');
    await service.end();
  });
});
