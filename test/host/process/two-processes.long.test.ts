/** Two processes of one service on one PostgreSQL: each may end, in order or not, while the other serves on. */
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { engines, startService, type Tenant, type TestService } from '../../support/hosted.ts';
import { serveProcess, type ServingProcess } from '../../support/process.ts';
import { event, send } from '../../support/serving.ts';

describe.skipIf(!engines.includes('postgres'))('two processes on one database', () => {
  let service: TestService;
  let ada: Tenant;
  beforeAll(async () => {
    service = await startService({ engine: 'postgres' });
    ada = await service.signUp('ada');
  }, 60_000);
  afterAll(() => service.end());

  const key = (): string => ada.keys.production;
  const get = async ({ baseUrl }: { baseUrl: string }, path: string) =>
    (await send('GET', `${baseUrl}${path}`, { key: key() })).body;

  /** Posts to the first process that answers, the same request under the same key, until it is acknowledged. */
  async function insist(processes: readonly ServingProcess[], name: string): Promise<string> {
    for (let at = 0; ; at += 1) {
      const { baseUrl } = processes[at % processes.length]!;
      const body = event({ runId: 'insisted', metadata: { name } });
      const headers = { 'idempotency-key': name };
      const answer = await send('POST', `${baseUrl}/events`, { key: key(), body, headers }).catch(() => null);
      if (answer?.status === 201) return answer.body.eventId as string;
      if (answer !== null) expect(answer.status).toBe(503);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  it('two processes on one database finish accepted requests on SIGTERM and exit with 0', async () => {
    const [first, second] = [
      await serveProcess('service', service.dataDir),
      await serveProcess('service', service.dataDir),
    ];
    const acknowledged: string[] = [];
    const writers = Array.from({ length: 8 }, async () => {
      for (;;) {
        const answer = await send('POST', `${first.baseUrl}/events`, {
          key: key(),
          body: event({ runId: 'drained' }),
        }).catch(() => null);
        if (answer?.status !== 201) return;
        acknowledged.push(answer.body.eventId as string);
      }
    });
    while (acknowledged.length < 50) await new Promise((resolve) => setImmediate(resolve));
    first.child.kill('SIGTERM');
    await Promise.all(writers);
    expect(await first.ended).toBe(0);
    const { events } = await get(second, '/events?runId=drained&limit=1000');
    const stored = new Set(events.map(({ eventId }: { eventId: string }) => eventId));
    expect(acknowledged.filter((eventId) => !stored.has(eventId))).toEqual([]);
    expect(first.log()).toContain('"msg":"stopped"');
    second.child.kill('SIGTERM');
    expect(await second.ended).toBe(0);
  }, 60_000);

  it('two processes lose and repeat no event when one is killed and clients go to the other', async () => {
    const [first, second] = [
      await serveProcess('service', service.dataDir),
      await serveProcess('service', service.dataDir),
    ];
    const names = Array.from({ length: 400 }, (_, at) => `n${at}`);
    const ids = new Map<string, string>();
    const lane = async (lane: number): Promise<void> => {
      for (const [at, name] of names.entries()) {
        if (at % 8 !== lane) continue;
        ids.set(name, await insist(lane % 2 === 0 ? [first, second] : [second, first], name));
        if (ids.size === 120) first.child.kill('SIGKILL');
      }
    };
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(lane));
    expect(await first.ended).toBe('SIGKILL');
    const { events } = await get(second, '/events?runId=insisted&limit=1000');
    const found = events as { eventId: string; sequence: number }[];
    expect(found.map(({ eventId }) => eventId).toSorted()).toEqual([...ids.values()].toSorted());
    expect(new Set(found.map(({ sequence }) => sequence)).size).toBe(names.length);
    const { items } = await get(second, '/metering/usage');
    const { count } = await get(second, '/events/count');
    const { count: own } = await get(second, '/events/count?runId=gov.system');
    expect(items[0]).toMatchObject({ type: 'audit_event', used: count - own });
    const proof = await send('POST', `${second.baseUrl}/proofs`, { key: key(), body: { runId: 'insisted' } });
    expect(proof.status).toBe(201);
    second.child.kill('SIGTERM');
    expect(await second.ended).toBe(0);
  }, 60_000);

  it('a process takes over the jobs of a dead process once their lease ended', async () => {
    // a service in this process would take the job itself
    await service.close();
    const first = await serveProcess('service', service.dataDir);
    for (let batch = 0; batch < 12; batch += 1) {
      const body = { events: Array.from({ length: 500 }, () => event({ runId: 'long' })) };
      const answer = await send('POST', `${first.baseUrl}/events/batch`, { key: key(), body });
      expect(answer.status).toBe(201);
    }
    const accepted = await send('POST', `${first.baseUrl}/proofs`, {
      key: key(),
      body: { runId: 'long', async: true },
    });
    expect(accepted.status).toBe(202);
    const { jobId } = accepted.body as { jobId: string };
    while ((await get(first, `/jobs/${jobId}`)).status === 'pending');
    first.child.kill('SIGKILL');
    await first.ended;
    const second = await serveProcess('service', service.dataDir);
    expect(await get(second, `/jobs/${jobId}`)).toMatchObject({ status: 'processing' });
    expect(await attempt(`UPDATE gov.job SET due_ms = due_ms - 60000 WHERE job_id = '${jobId}'`)).toBe(1);
    await expect
      .poll(async () => (await get(second, `/jobs/${jobId}`)).status, { timeout: 20_000, interval: 100 })
      .toBe('completed');
    expect(await attempt(`UPDATE gov.job SET due_ms = due_ms WHERE job_id = '${jobId}'`)).toBe(2);
    const proofs = (await get(second, '/proofs?runId=long')).data as unknown[];
    expect(proofs).toHaveLength(1);
    second.child.kill('SIGTERM');
    expect(await second.ended).toBe(0);
  }, 60_000);

  /** Changes a job below the service, such as by a lease that runs out earlier; the attempt that it is in. */
  async function attempt(change: string): Promise<number | undefined> {
    const client = new Client({ connectionString: service.database?.superuser });
    await client.connect();
    const { rows } = await client.query<{ attempt: number }>(`${change} RETURNING attempt`);
    await client.end();
    return rows[0]?.attempt;
  }
});
