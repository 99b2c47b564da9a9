import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type TestService } from '../../../support/hosted.ts';
import { Account } from '../../support/account.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.end());

let people = 0;
/** A person who has signed up and in: contexts acme and acme-sandbox, the latter current. */
async function person() {
  const name = `person-${(people += 1)}`;
  const tenant = await service.signUp(name);
  const account = new Account();
  const login = ['auth', 'login', '--base-url', service.origin, '-C', 'acme', '--id-token', '-'];
  expect((await account.gov(login, { input: await service.idToken(name) })).code).toBe(0);
  return { account, tenant };
}

describe('gov projects', () => {
  it('gov projects makes, lists, shows and renames projects in the environment of the context', async () => {
    const { account } = await person();
    const made = await account.json(['projects', 'create', 'checkout']);
    expect(made).toMatchObject({ name: 'checkout', environment: 'sandbox' });
    const other = await account.json(['projects', 'create', 'checkout', '--environment', 'production']);
    expect(other).toMatchObject({ environment: 'production' });
    const third = await account.json(['projects', 'create', 'billing', '--env', 'production']);
    expect(third).toMatchObject({ environment: 'production' });
    const { stdout } = await account.gov(['projects', 'list', '-o', 'id']);
    expect(stdout.split('\n').slice(0, 3)).toEqual([third.id, other.id, made.id]);
    const listed = await account.gov(['project', 'list'], { columns: 100, env: { NO_COLOR: '1' } });
    expect([listed.stdout, listed.stderr]).toEqual([expect.stringMatching(/^ID +NAME +ENVIRONMENT/), '']);
    expect(await account.json(['projects', 'get', made.id])).toMatchObject({
      name: 'checkout',
      settings: {},
    });
    const taken = await account.gov(['projects', 'create', 'Checkout']);
    expect([taken.code, taken.stderr]).toEqual([2, expect.stringContaining('name')]);
    expect(await account.json(['projects', 'update', made.id, '--name', 'till'])).toMatchObject({
      name: 'till',
    });
  });

  it('gov projects update takes words, numbers and JSON, and keeps settings that are not named', async () => {
    const { account } = await person();
    const { id } = await account.json(['projects', 'create', 'checkout']);
    const set = (...each: string[]) => ['projects', 'update', id, ...each.flatMap((one) => ['--set', one])];
    const first = await account.json(
      set('retentionDays=365', 'timezone=Europe/Zurich', 'quotaMode=overage', 'requireTwoPersonPublish=true'),
    );
    expect(first.settings).toMatchObject({
      retentionDays: 365,
      timezone: 'Europe/Zurich',
      quotaMode: 'overage',
      requireTwoPersonPublish: true,
    });
    const second = await account.json(set('retentionDays=null', 'redactionKeys=["/metadata/email"]'));
    expect(second.settings).toMatchObject({
      retentionDays: null,
      redactionKeys: ['/metadata/email'],
      timezone: 'Europe/Zurich',
    });
    for (const [each, message] of [
      ['retentiondays=1', /--set: expected KEY=VALUE with one of retentionDays, .*, got "retentiondays=1"/],
      ['retentionDays', /--set: expected KEY=VALUE/],
      ['__proto__=1', /--set: expected KEY=VALUE/],
      ['retentionDays=soon', /--set retentionDays: expected JSON/],
      ['timezone=Mars', /timezone/],
      ['quotaMode=never', /quotaMode/],
    ] as const) {
      const { code, stderr } = await account.gov(set(each));
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    }
    const twice = await account.gov(set('timezone=UTC', 'timezone=UTC'));
    expect([twice.code, twice.stderr]).toEqual([2, expect.stringContaining('expected timezone once')]);
    expect((await account.gov(['projects', 'update', id])).code).toBe(2);
  });

  it('gov projects delete takes the project name, --yes, or a typed name', async () => {
    const { account, tenant } = await person();
    const create = async (name: string): Promise<string> =>
      (await account.json(['projects', 'create', name])).id;
    const [one, two, three] = [await create('one'), await create('two'), await create('three')];
    const asked = await account.gov(['projects', 'delete', one]);
    expect([asked.code, asked.stderr]).toEqual([
      2,
      expect.stringMatching(/sandbox project "one"[^]*--confirm one/),
    ]);
    const wrong = await account.gov(['projects', 'delete', one, '--confirm', 'two']);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.stringContaining('expected "one", got "two"')]);
    expect((await account.gov(['projects', 'delete', one, '--confirm', 'one'])).code).toBe(0);
    expect((await account.gov(['projects', 'delete', two, '--yes'])).code).toBe(0);
    const typing = { columns: 100, typed: true } as const;
    expect((await account.gov(['projects', 'delete', three], { ...typing, input: 'thre\n' })).code).toBe(2);
    expect((await account.gov(['projects', 'delete', three], { ...typing, input: 'three\n' })).code).toBe(0);
    expect((await account.gov(['projects', 'delete', three, '--yes'])).code).toBe(5);
    // what becomes of the project of the context does not lock the person out of the list
    await account.gov(['projects', 'delete', tenant.projectId, '--yes']);
    expect((await account.gov(['events', 'count'])).code).toBe(5);
    expect((await account.gov(['projects', 'list'])).code).toBe(0);
  });
});

describe('--project', () => {
  it('--project names the project of a call, and without one the message says how to choose', async () => {
    const { account, tenant } = await person();
    const { id } = await account.json(['projects', 'create', 'checkout']);
    const push = ['events', 'push', '-'];
    const event = {
      runId: 'run-1',
      eventType: 'tool.call',
      actor: 'a',
      action: 'execute',
      timestamp: '2026-03-01T12:00:00Z',
    };
    const pushed = await account.gov([...push, '--project', id], { input: `${JSON.stringify(event)}\n` });
    expect(pushed.code).toBe(0);
    const count = async (...words: string[]) =>
      (await account.json(['events', 'count', '--run', 'run-1', ...words])).count;
    expect(await count('--project', id)).toBe(1);
    expect(await count()).toBe(0);
    expect((await account.gov(['events', 'count'], { env: { GOV_PROJECT: id } })).code).toBe(0);
    const foreign = await service.signUp(`stranger-${people}`);
    expect((await account.gov(['events', 'count', '--project', foreign.projectId])).code).toBe(5);
    await account.gov(['context', 'set', 'acme-sandbox', '--unset', 'project']);
    const missing = await account.gov(['events', 'count']);
    expect([missing.code, missing.stderr]).toEqual([
      2,
      expect.stringContaining('name the project: --project ID'),
    ]);
    // a key is of one project, and is not used for another
    const env = { GOV_API_KEY: tenant.keys.sandbox };
    expect((await account.gov(['events', 'count', '--project', tenant.projectId], { env })).code).toBe(0);
    expect((await account.gov(['events', 'count', '--project', id], { env })).code).toBe(2);
  });

  it('--project also applies to a tail', { timeout: 30_000 }, async () => {
    const { account } = await person();
    const { id } = await account.json(['projects', 'create', 'checkout']);
    const event = {
      runId: 'r',
      eventType: 't.c',
      actor: 'a',
      action: 'x',
      timestamp: '2026-03-01T12:00:00Z',
    };
    await account.gov(['events', 'push', '-', '--project', id], { input: `${JSON.stringify(event)}\n` });
    const tail = ['events', 'tail', '--run', 'r', '--after', '0', '--count', '1', '--project', id];
    const { code, stdout } = await account.gov(tail);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { action: 'x' }]);
  });
});
