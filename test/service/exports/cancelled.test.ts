/** Exports that are cancelled while they wait or are built: ended once, and no file of them remains. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { postgresBelow } from '../../support/below.ts';
import { engines, startService, type TestService } from '../../support/hosted.ts';
import { event } from '../../support/serving.ts';
import { exportEnd } from '../support/filled.ts';

/** The ids of exports that have files, or chunks in the database. */
async function lying(service: TestService, projectId: string): Promise<Set<string>> {
  if (service.database !== null) {
    const { sql } = postgresBelow(service.database.superuser, projectId);
    return new Set((await sql('SELECT DISTINCT export_id FROM export_chunk')).map((row) => row.export_id));
  }
  const folder = join(service.dataDir, 'exports', projectId);
  return new Set((existsSync(folder) ? readdirSync(folder) : []).map((name) => name.slice(0, 30)));
}

it.each(engines)('on %s, cancelled exports end once and leave no file, whatever they did', async (engine) => {
  const service = await startService({ engine });
  const { call } = await service.signUp('ada');
  const { projectId } = (await call('GET', '/auth/identity')).body;
  const events = Array.from({ length: 400 }, (_, n) => event({ metadata: { text: 'x'.repeat(2000), n } }));
  await call('POST', '/events/batch', { body: { events } });
  const body = { resource: 'audit_events', format: 'json', includeProof: true };
  const asked = await Promise.all(Array.from({ length: 6 }, () => call('POST', '/exports', { body })));
  const ids = asked.map((answer) => answer.body.exportId as string);
  await expect.poll(async () => (await lying(service, projectId)).size, { interval: 1 }).toBeGreaterThan(0);
  const cancelled = await Promise.all([...ids, ...ids].map((id) => call('POST', `/exports/${id}/cancel`)));
  const statuses: string[] = [];
  for (const [at, id] of ids.entries()) {
    const { status, sha256 } = await exportEnd(call, id);
    statuses.push(status);
    const isCancelled = status === 'cancelled';
    const [first, second] = [cancelled[at]!, cancelled[at + ids.length]!];
    expect([first.status, second.status]).toEqual(isCancelled ? [200, 200] : [409, 409]);
    if (!isCancelled) expect(first.body.code).toBe('ALREADY_ENDED');
    else expect([first.body, sha256]).toEqual([second.body, null]);
    const download = await call('GET', `/exports/${id}/download`);
    expect([download.status, download.body.code]).toEqual(
      isCancelled ? [409, 'EXPORT_FAILED'] : [200, undefined],
    );
  }
  expect(statuses.filter((status) => status === 'cancelled').length).toBeGreaterThan(2);
  const whole = new Set(ids.filter((_, at) => statuses[at] === 'completed'));
  await expect.poll(() => lying(service, projectId)).toEqual(whole);
  const told = (await call('GET', '/events?runId=gov.system&limit=1000')).body.events;
  for (const [at, id] of ids.entries()) {
    const types = told
      .filter(({ resource }: { resource?: { id: string } }) => resource?.id === id)
      .map(({ eventType }: { eventType: string }) => eventType);
    expect(types.slice(0, 2)).toEqual(['export.created', `export.${statuses[at]}`]);
    expect(types.length).toBe(statuses[at] === 'cancelled' ? 2 : 3);
  }
  const { data } = (await call('GET', '/exports?status=cancelled')).body;
  expect(data.length).toBe(ids.length - whole.size);
  await service.end();
});
