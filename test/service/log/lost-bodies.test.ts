/** An event whose body was lost below the service, whole or in part, is never read as one that had less to say. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { postgresBelow, sqliteBelow } from '../../support/below.ts';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';

describe.each(engines)('fields that nothing erased, on %s', (engine) => {
  let service: TestService;
  let tenant: Tenant;
  let eraser = '';
  beforeAll(async () => {
    service = await startService({ engine });
    tenant = await service.signUp('ada');
    const body = { name: 'eraser', scopes: ['erasure:write'] };
    eraser = (await tenant.call('POST', '/api-keys', { body })).body.key;
  });
  afterAll(() => service.end());

  const record = async (runId: string) => {
    const first = (await tenant.call('POST', '/events', { body: event({ runId }) })).body;
    const metadata = { note: 'kept', parentEventId: first.eventId };
    const second = (await tenant.call('POST', '/events', { body: event({ runId, metadata }) })).body;
    const answer = await tenant.call('GET', `/events/${second.eventId}`);
    return { nodeId: second.eventId as string, index: answer.body.sequence as number };
  };
  const belowService = async () => {
    const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
    return service.database === null
      ? sqliteBelow(service.dataDir, projectId)
      : postgresBelow(service.database.superuser, projectId);
  };
  const reads = (runId: string, nodeId: string) => [
    ['GET', `/graphs/${runId}`],
    ['GET', `/graphs/${runId}/lineage?nodeId=${encodeURIComponent(nodeId)}`],
    ['POST', '/proofs', { runId }],
    ['POST', '/proofs', { runId, composed: { layers: ['causal_consistency'] } }],
  ];
  const ask = async ([method, path, body]: ReturnType<typeof reads>[number]) =>
    tenant.call(method as 'GET', path as string, body === undefined ? {} : { body: body as object });

  it.each(['lost whole', 'lost in part'])(
    'graphs, proofs and bundles name the leaf of fields that were %s without an erasure',
    async (how) => {
      const runId = how.replaceAll(' ', '-');
      const { nodeId, index } = await record(runId);
      const { proofId } = (await tenant.call('POST', '/proofs', { body: { runId } })).body;
      const below = await belowService();
      const where = below.leafAt(index);
      const [{ disclosures }] = await below.sql(`SELECT disclosures FROM body WHERE ${where}`);
      const fewer = JSON.stringify(
        (JSON.parse(disclosures) as unknown[][]).filter(([, at]) => at !== '/metadata/parentEventId'),
      );
      await below.sql(
        how === 'lost whole'
          ? `DELETE FROM body WHERE ${where}`
          : `UPDATE body SET disclosures = '${fewer}' WHERE ${where}`,
      );
      await tenant.call('POST', '/events', { body: event({ runId }) }); // nothing that was held answers for it
      for (const read of [...reads(runId, nodeId), ['GET', `/proofs/${proofId}/bundle?events=disclosed`]]) {
        const { status, body } = await ask(read);
        expect([status, body.code], read.join(' ')).toEqual([503, 'STORAGE_FAULT']);
        expect(body.detail).toContain(`leaf ${index} of the audit log lacks a field that was not erased`);
      }
      const records = await tenant.call('GET', `/proofs/${proofId}/bundle?events=records`);
      expect([records.status, records.body.events.length]).toEqual([200, 2]);
    },
  );

  it('a proof that continues earlier proofs names the leaf, and is made once the field is back', async () => {
    const runId = 'continued';
    const { index } = await record(runId);
    const later = () => tenant.call('POST', '/events', { body: event({ runId }) });
    const proof = (layers: readonly string[]) =>
      tenant.call('POST', '/proofs', { body: { runId, composed: { layers } } });
    const whole = ['event_integrity', 'causal_consistency', 'policy_compliance'];
    for (let made = 0; made < 3; made++) {
      expect((await proof(whole)).status).toBe(201);
      await later();
    }
    const below = await belowService();
    const where = below.leafAt(index);
    const [{ disclosures }] = await below.sql(`SELECT disclosures FROM body WHERE ${where}`);
    await below.sql(`UPDATE body SET disclosures = '[]' WHERE ${where}`);
    for (const layers of [whole, ['causal_consistency'], whole]) {
      const { status, body } = await proof(layers);
      expect([status, body.code], layers.join()).toEqual([503, 'STORAGE_FAULT']);
      expect(body.detail).toContain(`leaf ${index} of the audit log lacks a field that was not erased`);
    }
    await below.sql(`UPDATE body SET disclosures = '${disclosures}' WHERE ${where}`);
    expect((await proof(whole)).status).toBe(201);
  });

  it('fields that are missing without an erasure do not affect erased ones', async () => {
    const { nodeId } = await record('erased');
    const body = { eventId: nodeId, reasonCode: 'subject_request' };
    expect((await tenant.call('POST', '/erasures', { body, key: eraser })).status).toBe(201);
    for (const read of reads('erased', nodeId)) {
      const { status } = await ask(read);
      expect([200, 201], read.join(' ')).toContain(status);
    }
  });
});
