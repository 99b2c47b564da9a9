/** Two processes of one service whose clocks differ: what has ended has ended for both. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { serveProcess, type ServingProcess } from '../../support/process.ts';
import { send } from '../../support/serving.ts';

/** Of what was looked up just before the end, and a little. */
const withinMs = 8000;

describe.skipIf(!engines.includes('postgres')).each([
  [-90_000, 'ahead'],
  [90_000, 'behind'],
])('beside a process whose clock is %i ms ahead', (aheadMs, database) => {
  let service: TestService;
  let ada: Tenant;
  let other: ServingProcess;
  beforeAll(async () => {
    service = await startService({ engine: 'postgres' });
    ada = await service.signUp('ada');
    other = await serveProcess('service', service.dataDir, { aheadMs });
  }, 60_000);
  afterAll(async () => {
    other.child.kill('SIGTERM');
    await other.ended;
    await service.end();
  });

  const statusAt = async (baseUrl: string, key: string): Promise<number> =>
    (await send('GET', `${baseUrl}/events/count`, { key })).status;
  const make = async (): Promise<{ key: string; keyId: string }> => {
    const { body } = await ada.call('POST', '/api-keys', { body: { name: 'k' } });
    return { key: body.key, keyId: body.record.keyId };
  };

  it('a key that one process revokes is refused by the other within seconds', async () => {
    const [here, there] = [await make(), await make()];
    for (const { key } of [here, there]) expect(await statusAt(other.baseUrl, key)).toBe(200);
    expect((await ada.call('DELETE', `/api-keys/${here.keyId}`)).status).toBe(204);
    const revoked = await send('DELETE', `${other.baseUrl}/api-keys/${there.keyId}`, {
      key: ada.keys.production,
    });
    expect(revoked.status).toBe(204);
    for (const { key } of [here, there]) {
      for (const baseUrl of [service.baseUrl, other.baseUrl]) {
        await expect.poll(() => statusAt(baseUrl, key), { timeout: withinMs, interval: 200 }).toBe(401);
      }
    }
    const { body } = await send('GET', `${other.baseUrl}/api-keys?limit=100`, { key: ada.keys.production });
    expect(JSON.stringify(body)).not.toContain(here.keyId);
  }, 30_000);

  it('a process with a wrong clock reports that in health and its log, and is ready', async () => {
    const { body } = await send('GET', `${other.baseUrl}/health`, { key: ada.keys.production });
    const skew = expect.stringMatching(
      new RegExp(`^clock_skew: the database is (?:89|90)\\d{3} ms ${database}; `),
    );
    expect(body).toMatchObject({ status: 'degraded', reasons: [skew] });
    expect((await send('GET', `${other.baseUrl}/health/ready`, {})).status).toBe(200);
    expect(other.log()).toContain('clock_skew: the database is ');
    const own = await ada.call('GET', '/health');
    expect(own.body).toMatchObject({ status: 'ok', reasons: [] });
  });
});
