import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import type { Operation } from '../../../src/contract/operation.ts';
import { table } from '../../../src/contract/table.ts';
import { rateOf, Rates } from '../../../src/http/admit/rates.ts';
import { createToken } from '../../../src/service/credentials/token-format.ts';
import { defaultSettings, unlimited } from '../../../src/service/call/settings.ts';
import { startService, type StartService, type TestService } from '../../support/hosted.ts';
import { event, startPlane } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';

let service: TestService;
const start = async (file: StartService['file'] = {}): Promise<TestService> => {
  service = await startService({ file });
  return service;
};
afterEach(() => service?.end());

const limited = ({ headers }: Answer): Record<string, unknown> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /ratelimit|retry-after/.test(name)));

/** Statuses of so many calls, one after the other. */
async function statuses(count: number, call: () => Promise<Answer>): Promise<Answer[]> {
  const answers: Answer[] = [];
  for (let at = 0; at < count; at++) answers.push(await call());
  return answers;
}

/** Calls until one is refused for its rate; how many were let in, and how many that may have been at most. */
async function untilRefused(
  { burst, perSecond }: { burst: number; perSecond: number },
  call: () => Promise<Answer>,
): Promise<{ readonly letIn: number; readonly refused: Answer }> {
  const startedMs = performance.now();
  for (let letIn = 0; ; letIn++) {
    const answer = await call();
    const most = burst + Math.ceil(((performance.now() - startedMs) / 1000) * perSecond);
    if (letIn > most) throw new Error(`expected at most ${most} requests to be let in`);
    if (answer.status === 429) return { letIn, refused: answer };
  }
}

const counted = (answers: readonly Answer[], status: number): number =>
  answers.filter((answer) => answer.status === status).length;

const off = { keyPerSecond: 0, keyBurst: 0, eventsPerSecond: 0, anonymousPerSecond: 0, authPerMinute: 0 };

describe('a key', () => {
  it('a key has as many requests as its burst, then 429 with the time of the next one', async () => {
    await start({ rates: { ...off, keyPerSecond: 1, keyBurst: 5 } });
    const ada = await service.signUp('ada');
    const jobs = () => ada.call('GET', '/jobs');
    const { letIn, refused } = await untilRefused({ burst: 5, perSecond: 1 }, jobs);
    expect(letIn).toBeGreaterThanOrEqual(5);
    expect(refused.body).toMatchObject({ code: 'RATE_LIMITED', retryable: true, status: 429 });
    expect(limited(refused)).toEqual({
      'ratelimit-policy': '"default";q=1;w=1',
      ratelimit: '"default";r=0;t=1',
      'retry-after': '1',
      'x-ratelimit-limit': '1',
      'x-ratelimit-remaining': '0',
      'x-ratelimit-reset': expect.stringMatching(/^[0-9]{10}$/),
    });
    const reset = Number(refused.headers['x-ratelimit-reset']) * 1000;
    expect(Math.abs(reset - Date.now())).toBeLessThan(3000);
    await expect.poll(async () => (await jobs()).status, { timeout: 5000, interval: 100 }).toBe(200);
  });

  it('a key does not use up the rate of others, and still gets its health', async () => {
    await start({ rates: { ...off, keyPerSecond: 1, keyBurst: 3 } });
    const [ada, eve] = [await service.signUp('ada'), await service.signUp('eve')];
    await untilRefused({ burst: 3, perSecond: 1 }, () => ada.call('GET', '/jobs'));
    expect((await eve.call('GET', '/jobs')).status).toBe(200);
    const health = await statuses(10, () => ada.call('GET', '/health'));
    expect(counted(health, 200)).toBe(10);
    expect(limited(health[0] as Answer)).toEqual({});
  });

  it('a key has a rate of its own for recording events', async () => {
    await start({ rates: { ...off, keyPerSecond: 1, keyBurst: 1, eventsPerSecond: 4 } });
    const ada = await service.signUp('ada');
    await untilRefused({ burst: 1, perSecond: 1 }, () => ada.call('GET', '/jobs'));
    const first = await ada.call('POST', '/events', { body: event() });
    expect([first.status, first.headers['ratelimit-policy']]).toEqual([201, '"events";q=4;w=1']);
    const batch = { events: [event(), event()] };
    const { letIn } = await untilRefused({ burst: 3, perSecond: 4 }, () =>
      ada.call('POST', '/events/batch', { body: batch }),
    );
    expect(letIn).toBeGreaterThanOrEqual(3);
  });

  it('a key gets the quota of the month in addition to the rate, on metered operations', async () => {
    await start({ rates: { ...off, keyPerSecond: 100 } });
    const ada = await service.signUp('ada');
    const sandbox = await ada.call('POST', '/events', { body: event(), environment: 'sandbox' });
    expect(limited(sandbox)).toEqual({ 'ratelimit-policy': '"audit_event-month";q=100000;w=2592000' });
    const proof = await ada.call('POST', '/proofs', { body: { runId: 'run-1' }, environment: 'sandbox' });
    expect(proof.headers['ratelimit-policy']).toBe(
      '"default";q=100;w=1, "compliance_proof-month";q=1000;w=2592000',
    );
    const production = await ada.call('POST', '/events', { body: event() });
    expect(limited(production)).toEqual({});
    expect((await ada.call('GET', '/jobs')).headers['ratelimit-policy']).toBe('"default";q=100;w=1');
  });
});

describe('a person', () => {
  it('a person has one rate, however they sign in', async () => {
    await start({ rates: { ...off, keyPerSecond: 1, keyBurst: 4 } });
    await service.signUp('ada');
    const first = await service.idToken('ada');
    const second = await service.idToken('ada', { auth_time: Math.floor(Date.now() / 1000) });
    const { body } = await service.call('POST', '/auth/tokens', { body: { idToken: second } });
    const keys = [first, second, body.token];
    let at = 0;
    const { letIn } = await untilRefused({ burst: 4, perSecond: 1 }, () =>
      service.call('GET', '/projects', { key: keys[at++ % 3] }),
    );
    expect(letIn).toBeGreaterThanOrEqual(4);
  });
});

describe('an address', () => {
  const unknownKey = () => createToken('live', randomBytes);

  it('an address has ten calls of /auth a minute, and headers that say so', async () => {
    await start({ rates: { ...off, authPerMinute: limits.rateAuthPerMinute } });
    const paths = ['/auth/session', '/auth/tokens'];
    const calls: Answer[] = [];
    for (let at = 0; at <= limits.rateAuthPerMinute; at++) {
      calls.push(await service.call('DELETE', paths[at % 2] ?? ''));
    }
    // a person may still load the console: who only asks is counted as at any other place
    expect((await service.call('GET', '/auth/configuration')).status).toBe(200);
    expect(calls.map(({ status }) => status).slice(-3)).toEqual([200, 401, 429]);
    expect(counted(calls, 429)).toBe(1);
    const [refused] = calls.slice(-1);
    expect(refused?.headers['ratelimit-policy']).toBe('"auth";q=10;w=60');
    expect(refused?.headers['ratelimit']).toBe(`"auth";r=0;t=${refused?.headers['retry-after']}`);
    expect(Number(refused?.headers['retry-after'])).toBeGreaterThanOrEqual(5);
    expect((await service.call('POST', '/auth/signup', { body: {} })).status).toBe(429);
  });

  it('an address counts a refused credential at /auth once', async () => {
    await start({ rates: { ...off, authPerMinute: 10, anonymousPerSecond: 5 } });
    const { status, headers } = await service.call('DELETE', '/auth/tokens', { key: unknownKey() });
    expect([status, headers['ratelimit-policy']]).toEqual([401, '"auth";q=10;w=60']);
  });

  it('an address has a limit of refused credentials a second, and recently valid credentials still work', async () => {
    await start({ rates: { ...off, anonymousPerSecond: 1 } });
    const [ada, eve] = [await service.signUp('ada'), await service.signUp('eve')];
    expect((await ada.call('GET', '/jobs')).status).toBe(200);
    const wrong = (key: string | null) => () => service.call('GET', '/jobs', { key });
    for (const key of [unknownKey(), 'malformed', null]) {
      const { refused } = await untilRefused({ burst: 1, perSecond: 1 }, wrong(key));
      expect(refused.headers['ratelimit-policy']).toBe('"anonymous";q=1;w=1');
    }
    const calls = await Promise.all([
      ...Array.from({ length: 10 }, wrong(unknownKey())),
      ada.call('GET', '/jobs'),
      eve.call('GET', '/jobs'),
    ]);
    const [known, stranger] = calls.slice(-2);
    expect([known?.status, stranger?.status]).toEqual([200, 429]);
  });

  it('a credential is not looked up once its address had too many refusals', async () => {
    await start({ rates: { ...off, anonymousPerSecond: 2 } });
    const { store } = service.services;
    let asked = 0;
    const apiKey = store.apiKey.bind(store);
    store.apiKey = (digest) => {
      asked += 1;
      return apiKey(digest);
    };
    const startedMs = performance.now();
    await statuses(20, () => service.call('GET', '/jobs', { key: unknownKey() }));
    expect(asked).toBeGreaterThanOrEqual(2);
    expect(asked).toBeLessThanOrEqual(2 + Math.ceil(((performance.now() - startedMs) / 1000) * 2));
  });

  it('an address counts public pages', async () => {
    await start({ rates: { ...off, anonymousPerSecond: 3 } });
    const page = () => service.call('GET', `${service.origin}/problems/not-found`);
    const { letIn } = await untilRefused({ burst: 3, perSecond: 3 }, page);
    expect(letIn).toBeGreaterThanOrEqual(3);
  });
});

describe('a load balancer', () => {
  const asClient = (address: string) =>
    service.call('DELETE', '/auth/session', { headers: { 'x-forwarded-for': address } });

  it('a trusted load balancer has its clients counted one by one', async () => {
    await start({ rates: { ...off, authPerMinute: 2 }, trustedProxies: ['127.0.0.0/8', '::1'] });
    for (const address of ['192.0.2.1', '192.0.2.2']) {
      const calls = await statuses(3, () => asClient(address));
      expect(calls.map(({ status }) => status)).toEqual([200, 200, 429]);
    }
    expect((await asClient('192.0.2.1, 192.0.2.3')).status).toBe(200);
  });

  it('an untrusted load balancer counts as one client, whatever its header says', async () => {
    await start({ rates: { ...off, authPerMinute: 2 } });
    const calls = [await asClient('192.0.2.1'), await asClient('192.0.2.2'), await asClient('192.0.2.3')];
    expect(calls.map(({ status }) => status)).toEqual([200, 200, 429]);
  });
});

describe('without limits', () => {
  it('a service without limits sends no rate headers', async () => {
    await start({ rates: off });
    const ada = await service.signUp('ada');
    const calls = await statuses(30, () => ada.call('GET', '/jobs'));
    expect(counted(calls, 200)).toBe(30);
    expect(limited(calls[29] as Answer)).toEqual({});
  });

  it('a plane sends no rate headers', async () => {
    const plane = await startPlane();
    const calls = await Promise.all(Array.from({ length: 300 }, () => plane.call('GET', '/jobs')));
    expect(counted(calls, 200)).toBe(300);
    expect(limited(calls[0] as Answer)).toEqual({});
    await plane.end();
  });
});

describe('rates', () => {
  const now = () => 1_700_000_000_500;
  const rules = { quotas: unlimited, settings: defaultSettings };

  it('rates are those of the contract when nothing is configured', () => {
    const clock = { ms: 0 };
    const rates = new Rates({}, { now, monotonic: () => clock.ms });
    const many = (name: Parameters<Rates['spend']>[0]) => {
      let count = 0;
      while (rates.spend(name, 'a').refusal === null) count += 1;
      return count;
    };
    expect([many('default'), many('events'), many('anonymous'), many('auth')]).toEqual([200, 1000, 10, 10]);
    clock.ms += 1000;
    expect([many('default'), many('events'), many('anonymous'), many('auth')]).toEqual([100, 1000, 10, 0]);
  });

  it('rates come with the time of the next request', () => {
    const rates = new Rates({ keyPerSecond: 100 }, { now, monotonic: () => 0 });
    const quota = {
      meters: 'audit_event',
      rules: { ...rules, quotas: { ...unlimited, audit_event: 100_000 } },
    } as const;
    expect(rates.spend('default', 'a', quota).lines).toEqual([
      'ratelimit-policy',
      '"default";q=100;w=1, "audit_event-month";q=100000;w=2592000',
      'ratelimit',
      '"default";r=100;t=1',
      'x-ratelimit-limit',
      '100',
      'x-ratelimit-remaining',
      '100',
      'x-ratelimit-reset',
      '1700000002',
    ]);
  });

  it('rates leave out a quota that refuses nothing', () => {
    const rates = new Rates(off, { now });
    const overage = { ...defaultSettings, quotaMode: 'overage' } as const;
    const quota = {
      meters: 'audit_event',
      rules: { settings: overage, quotas: { ...unlimited, audit_event: 1 } },
    } as const;
    expect(rates.spend('default', 'a', quota).lines).toEqual([]);
  });

  it('rates count each operation by one limit', () => {
    const byRate = Object.groupBy(Object.entries<Operation>(table), ([, row]) => rateOf(row) ?? 'none');
    const ids = (name: string) => (byRate[name as keyof typeof byRate] ?? []).map(([id]) => id);
    expect(ids('events')).toEqual(['createEvent', 'createEvents']);
    const none = ids('none').map((id) => table[id as keyof typeof table]);
    expect(none.filter(({ tag }) => tag === 'Health')).toHaveLength(3);
    expect(none.filter(({ path }) => path.startsWith('/cron/'))).toHaveLength(4);
    expect(none).toHaveLength(7);
    expect(ids('auth').every((id) => table[id as keyof typeof table].tag === 'Auth')).toBe(true);
    expect(ids('auth')).toHaveLength(8);
    expect(ids('default').length).toBeGreaterThan(50);
  });
});
