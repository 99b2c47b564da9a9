/** Two servers over one store: what one did, or is doing, the other knows. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { limits } from '../../src/contract/limits.ts';
import { table, type OperationId } from '../../src/contract/table.ts';
import { createServer, type HttpServer } from '../../src/http/server.ts';
import { handlers } from '../../src/service/handlers.ts';
import { engines, startService, type Tenant, type TestService } from '../support/hosted.ts';
import { event, send } from '../support/serving.ts';
import type { Answer } from '../support/answer.ts';

describe.each(engines)('two servers on %s', (engine) => {
  let service: TestService;
  let second: HttpServer | null = null;
  let ada: Tenant;
  /** Base URLs. */
  let bases: readonly string[];

  beforeAll(async () => {
    service = await startService({ engine });
    ada = await service.signUp('ada');
    if (engine === 'postgres') {
      bases = [service.baseUrl, (await service.again()).baseUrl];
      return;
    }
    const operations = Object.keys(table) as OperationId[];
    second = createServer({ services: service.services, handlers, operations });
    bases = [service.baseUrl, `${await second.listen({ host: '127.0.0.1', port: 0 })}/api/v1`];
  });
  afterAll(async () => {
    await second?.close(0);
    await service.end();
  });

  /** The same request to both servers in turn, as often as said, at once. */
  const together = (count: number, path: string, options: { key: string; body?: unknown }) =>
    Promise.all(
      Array.from({ length: count }, (_, at) =>
        send('POST', `${bases[at % 2]}${path}`, {
          ...options,
          key: ada.keys.production,
          headers: { 'idempotency-key': options.key },
        }),
      ),
    );

  /** One outcome, its repeats, and refusals that say that it is not there yet. */
  const expectOnce = (answers: readonly Answer[], status: number): void => {
    const [done, busy] = [
      answers.filter((each) => each.status === status),
      answers.filter((each) => each.status === 409),
    ];
    expect(done.length).toBeGreaterThan(0);
    expect(done.length + busy.length).toBe(answers.length);
    expect(new Set(done.map(({ text }) => text.replaceAll(/req-[\w-]+/g, 'ID'))).size).toBe(1);
    for (const { body, headers } of busy) {
      expect([body.code, body.retryable, headers['retry-after']]).toEqual([
        'IDEMPOTENCY_IN_FLIGHT',
        true,
        '1',
      ]);
    }
  };

  it('two servers have one effect of forty equal requests with one key', async () => {
    for (let round = 0; round < 5; round++) {
      const runId = `at-once-${round}`;
      const body = event({ runId });
      expectOnce(await together(40, '/events', { key: `event ${round}`.replace(' ', '-'), body }), 201);
      expect((await ada.call('GET', `/events/count?runId=${runId}`)).body.count).toBe(1);
    }
  });

  it('two servers create one key for twenty equal requests, and show it to each', async () => {
    const count = async (): Promise<number> =>
      (await ada.call('GET', '/api-keys?limit=200')).body.data.length;
    const before = await count();
    const answers = await together(20, '/api-keys', { key: 'new-key', body: { name: 'one' } });
    expectOnce(answers, 201);
    expect((await count()) - before).toBe(1);
    const [again] = await together(1, '/api-keys', { key: 'new-key', body: { name: 'one' } });
    const first = answers.find(({ status }) => status === 201);
    expect([again?.text, again?.headers['idempotent-replayed']]).toEqual([first?.text, 'true']);
    expect(again?.headers['cache-control']).toBe('no-store');
    expect((await ada.call('GET', '/jobs', { key: again?.body.key })).status).toBe(200);
  });

  it('two servers keep one refusal', async () => {
    const body = { runId: 'nobody-has-this' };
    expectOnce(await together(10, '/proofs', { key: 'refused', body }), 400);
    const [again] = await together(1, '/proofs', { key: 'refused', body });
    expect([again?.body.code, again?.headers['idempotent-replayed']]).toEqual(['RUN_HAS_NO_EVENTS', 'true']);
  });

  it('two servers reject an Idempotency-Key of another request, whichever got that', async () => {
    await together(2, '/events', { key: 'reused', body: event({ runId: 'first' }) });
    for (const answer of await together(2, '/events', { key: 'reused', body: event({ runId: 'second' }) })) {
      expect([answer.status, answer.body.code]).toEqual([400, 'IDEMPOTENCY_KEY_REUSE']);
    }
  });

  it('two servers reject a revoked key, the other one after five seconds at the latest', async () => {
    const { body } = await ada.call('POST', '/api-keys', { body: { name: 'to be revoked' } });
    const ask = async (base: string | undefined): Promise<number> =>
      (await send('GET', `${base}/jobs`, { key: body.key })).status;
    expect([await ask(bases[0]), await ask(bases[1])]).toEqual([200, 200]);
    const revokedMs = performance.now();
    expect((await ada.call('DELETE', `/api-keys/${body.record.keyId}`)).status).toBe(204);
    expect(await ask(bases[0])).toBe(401);
    await expect.poll(() => ask(bases[1]), { timeout: 10_000, interval: 100 }).toBe(401);
    const seconds = (performance.now() - revokedMs) / 1000;
    expect(seconds).toBeLessThan(limits.credentialCacheSeconds + 1);
  }, 15_000);
});

describe('a kept answer that shows a key', () => {
  it('a stored answer with a key is nowhere in clear text', async () => {
    const service = await startService();
    const ada = await service.signUp('ada');
    const options = { headers: { 'idempotency-key': 'kept' }, body: { name: 'kept' } };
    const { body } = await ada.call('POST', '/api-keys', options);
    expect((await ada.call('POST', '/api-keys', options)).body).toEqual(body);
    const files = readdirSync(service.dataDir, { recursive: true, withFileTypes: true }).filter((file) =>
      file.isFile(),
    );
    expect(files.length).toBeGreaterThan(5);
    for (const { parentPath, name } of files) {
      const bytes = readFileSync(join(parentPath, name));
      for (const key of [body.key, ...Object.values(ada.keys)]) {
        expect(bytes.includes(key.slice(13)), name).toBe(false);
      }
    }
    await service.end();
  });
});

describe('somebody who signs up twice', () => {
  it('a person who signs up twice with one Idempotency-Key gets the same keys, and nobody else does', async () => {
    const service = await startService();
    const signUp = async (name: string, members: Record<string, unknown> = {}): Promise<Answer> =>
      service.call('POST', '/auth/signup', {
        key: await service.idToken(name),
        headers: { 'idempotency-key': 'sign-up' },
        body: { name: 'A', organizationName: 'B', ...members },
      });
    const first = await signUp('ada');
    const again = await signUp('ada');
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers['idempotent-replayed']).toBe('true');
    expect((await signUp('ada', { name: 'C' })).body.code).toBe('IDEMPOTENCY_KEY_REUSE');
    const eve = await signUp('eve');
    expect(eve.status).toBe(201);
    expect(eve.body.apiKeys.production).not.toBe(first.body.apiKeys.production);
    await service.end();
  });
});
