import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startService, type TestService } from '../../support/hosted.ts';
import { Account, signInAt, signUpAt } from '../support/account.ts';

let service: TestService;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.end());

let people = 0;
const someone = (): string => `person-${(people += 1)}`;
const signUp = (account: Account, name: string, words: readonly string[] = []) =>
  signUpAt(service, { account, name, words });
const signIn = (account: Account, name: string, words: readonly string[] = []) =>
  signInAt(service, { account, name, words });

describe('gov auth signup', () => {
  it('gov auth signup shows both keys once and stores them as two contexts, of which sandbox is current', async () => {
    const account = new Account();
    const name = someone();
    const { code, stdout, stderr } = await signUp(account, name, ['-o', 'json', '--show-secret']);
    expect([code, stderr]).toEqual([0, expect.stringContaining(`current context: org-of-${name}-sandbox`)]);
    const told = JSON.parse(stdout);
    expect(told).toMatchObject({
      orgId: expect.stringMatching(/^org_/),
      projectId: expect.stringMatching(/^prj_/),
      apiKeys: {
        sandbox: expect.stringMatching(/^gov_test_/),
        production: expect.stringMatching(/^gov_live_/),
      },
      contexts: [`org-of-${name}`, `org-of-${name}-sandbox`],
    });
    expect(account.current).toBe(`org-of-${name}-sandbox`);
    expect(account.file('config/credentials.json').mode).toBe(0o600);
    expect((await account.gov(['auth', 'token'])).stdout).toBe(`${told.apiKeys.sandbox}\n`);
    expect((await account.gov(['auth', 'token', '--env', 'production'])).stdout).toBe(
      `${told.apiKeys.production}\n`,
    );
    expect(await account.json(['auth', 'status'])).toMatchObject({
      type: 'api_key',
      organizationId: told.orgId,
      projectId: told.projectId,
      environment: 'sandbox',
    });
    const shown = await account.gov(['context', 'show']);
    for (const { stdout: text } of [shown, await account.gov(['context', 'list'])])
      expect(text).not.toContain(told.apiKeys.sandbox);
  });

  it('gov auth signup puts no key into a pipe, and says which context has it', async () => {
    const account = new Account();
    for (const words of [[], ['-o', 'json']]) {
      const { code, stdout, stderr } = await signUp(account, someone(), words);
      expect([code, stdout + stderr]).toEqual([0, expect.not.stringMatching(/gov_(live|test)_/)]);
      const [, context = ''] = /gov auth token -C (\S+)/.exec(stderr) ?? [];
      expect((await account.gov(['auth', 'token', '-C', context])).stdout).toMatch(
        /^gov_(live|test)_\w{38}\n$/,
      );
    }
  });

  it('gov auth signup writes the keys to a private file instead of showing them', async () => {
    const account = new Account();
    const { code, stdout } = await signUp(account, someone(), [
      '--out',
      'keys.json',
      '-C',
      'acme',
      '-o',
      'json',
    ]);
    expect([code, stdout]).toEqual([0, expect.not.stringMatching(/gov_(live|test)_/)]);
    const { text, mode } = account.file('keys.json');
    expect(mode).toBe(0o600);
    expect(JSON.parse(text).apiKeys.production).toBe(account.credentials['acme']?.token);
  });

  it('gov auth signup contacts nobody when the output file exists or cannot be made', async () => {
    const account = new Account();
    const name = someone();
    writeFileSync(join(account.folder, 'keys.json'), 'precious');
    const taken = await signUp(account, name, ['--out', 'keys.json']);
    expect([taken.code, taken.stderr]).toEqual([
      2,
      expect.stringMatching(/exists and may hold a secret\n.*--force/),
    ]);
    expect(account.file('keys.json').text).toBe('precious');
    expect((await signUp(account, name, ['--out', 'absent/keys.json'])).code).toBe(1);
    // nobody has signed up so far
    expect((await signUp(account, name, ['--out', 'keys.json', '--force'])).code).toBe(0);
    expect(account.file('keys.json')).toMatchObject({
      text: expect.stringContaining('gov_live_'),
      mode: 0o600,
    });
  });

  it('a second gov auth signup is refused with 6 and leaves no file', async () => {
    const account = new Account();
    const name = someone();
    await signUp(account, name);
    const again = await signUp(account, name, ['-C', 'other', '--out', 'keys.json']);
    expect(again).toMatchObject({ code: 6, stderr: expect.stringContaining('gov auth login') });
    expect(existsSync(join(account.folder, 'keys.json'))).toBe(false);
    expect(account.contexts).not.toHaveProperty('other');
  });

  it('gov auth signup does not take over contexts of another service', async () => {
    const account = new Account();
    await account.gov(['context', 'set', 'acme', '--base-url', 'https://elsewhere.example.test']);
    const taken = await signUp(account, someone(), ['-C', 'acme']);
    expect([taken.code, taken.stderr]).toEqual([
      2,
      expect.stringContaining('context acme is for https://elsewhere'),
    ]);
    const own = new Account();
    const name = someone();
    await signUp(own, name, ['-C', 'acme']);
    const second = await signUp(own, someone(), ['-C', 'acme-sandbox']);
    expect(second.stderr).toContain('context acme has a stored API key already');
  });
});

describe('gov auth login', () => {
  it('gov auth login stores a token for both environments, with the project for calls', async () => {
    const account = new Account();
    const name = someone();
    const { orgId, projectId } = await service.signUp(name);
    const { code, stdout, stderr } = await signIn(account, name, ['-C', 'acme', '-o', 'json']);
    expect([code, stderr]).toEqual([0, expect.stringContaining('current context: acme-sandbox')]);
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'person',
      name,
      organizationId: orgId,
      contexts: [
        { name: 'acme', environment: 'production', baseUrl: `${service.origin}/api/v1` },
        { name: 'acme-sandbox', environment: 'sandbox', projectId },
      ],
      currentContext: 'acme-sandbox',
    });
    expect(stdout).not.toContain('gov_cli_');
    expect((await account.gov(['auth', 'token'])).stdout).toMatch(/^gov_cli_[0-9A-Za-z]{38}\n$/);
    expect((await account.gov(['events', 'count'])).code).toBe(0);
    expect(await account.json(['auth', 'status'])).toMatchObject({ type: 'person', name, projectId });
    expect((await account.gov(['context', 'list'])).stdout).toMatch(
      /acme-sandbox\ttrue\t.*\tsigned in until 20/,
    );
  });

  it('a repeated gov auth login keeps names and chosen project, and ends the earlier token', async () => {
    const account = new Account();
    const name = someone();
    await service.signUp(name);
    await signIn(account, name);
    const context = account.current ?? '';
    const { id } = await account.json(['projects', 'create', 'checkout']);
    await account.gov(['context', 'set', context, '--project', id]);
    const before = (await account.gov(['auth', 'token'])).stdout.trim();
    expect((await signIn(account, name)).code).toBe(0);
    expect(account.contexts[context]).toMatchObject({ project: id });
    expect(Object.keys(account.contexts)).toHaveLength(2);
    expect((await service.call('GET', '/auth/identity', { key: before })).status).toBe(401);
    // another person has other projects
    const stranger = someone();
    const { projectId } = await service.signUp(stranger);
    expect((await signIn(account, stranger)).code).toBe(0);
    expect(account.contexts[context]).toMatchObject({ project: projectId });
  });

  it('gov auth login reads the ID token from a file or from the CI job', async () => {
    const account = new Account();
    const name = someone();
    await service.signUp(name);
    const path = join(account.folder, 'id-token');
    writeFileSync(path, `${await service.idToken(name)}\n`);
    const base = ['auth', 'login', '--base-url', service.origin];
    expect((await account.gov([...base, '--id-token', path])).code).toBe(0);
    const ci = [...base, '--ci', '-C', 'ci'];
    const GOV_ID_TOKEN = await service.idToken(name);
    expect((await account.gov(ci, { env: { GOV_ID_TOKEN, CI: '1' } })).code).toBe(0);
    expect(await account.json(['auth', 'status', '-C', 'ci'])).toMatchObject({ name });
  });

  it('gov auth login is refused with 4 when the token is invalid or nobody signed up with it', async () => {
    const account = new Account();
    const name = someone();
    const login = ['auth', 'login', '--base-url', service.origin, '--id-token', '-'];
    const unknown = await account.gov(login, { input: await service.idToken(name) });
    expect([unknown.code, unknown.stderr]).toEqual([4, expect.stringContaining('gov auth signup')]);
    await service.signUp(name);
    const now = Math.floor(Date.now() / 1000);
    for (const claims of [{ aud: 'someone-else' }, { exp: now - 3600 }, { auth_time: now - 3600 }]) {
      const refused = await account.gov(login, { input: await service.idToken(name, claims) });
      expect(refused.code, JSON.stringify(claims)).toBe(4);
    }
    expect([account.contexts, account.credentials]).toEqual([{}, {}]);
  });

  it('gov auth login stores an API key from standard input for the environment of the key', async () => {
    const { keys, projectId } = await service.signUp(someone());
    const account = new Account();
    const login = ['auth', 'login', '--api-key-stdin', '--base-url', service.origin, '-C', 'acme'];
    expect((await account.gov(login, { input: `${keys.sandbox}\n` })).code).toBe(0);
    expect(account.contexts).toMatchObject({
      'acme-sandbox': { baseUrl: `${service.origin}/sandbox/api/v1` },
    });
    expect(await account.json(['auth', 'status'])).toMatchObject({ type: 'api_key', projectId });
    expect((await account.gov(login, { input: keys.production })).code).toBe(0);
    expect(Object.keys(account.contexts)).toEqual(['acme-sandbox', 'acme']);
    // another key takes its place only where that is meant
    const other = await service.signUp(someone());
    expect((await account.gov(login, { input: other.keys.sandbox })).stderr).toContain(
      'will forget the other API key',
    );
    expect((await account.gov([...login, '--yes'], { input: other.keys.sandbox })).code).toBe(0);
    expect(account.credentials['acme-sandbox']?.token).toBe(other.keys.sandbox);
  });

  it('gov auth login refuses an unknown key and a text that is not a key', async () => {
    const account = new Account();
    const login = ['auth', 'login', '--api-key-stdin', '--base-url', service.origin];
    const unknown = `gov_live_${'0'.repeat(38)}`;
    expect(await account.gov(login, { input: unknown })).toMatchObject({ code: 4 });
    for (const input of [
      '',
      'secret',
      `gov_hyb_${'0'.repeat(38)}`,
      `${unknown}0`,
      `${unknown}\n${unknown}`,
    ]) {
      const { code, stderr } = await account.gov(login, { input });
      expect([code, stderr]).toEqual([2, expect.stringContaining('expected an API key')]);
      if (input !== '') expect(stderr).not.toContain(input);
    }
    expect(account.contexts).toEqual({});
  });

  it('gov auth login does not overwrite the keys of a signup', async () => {
    const account = new Account();
    const name = someone();
    await signUp(account, name, ['-C', 'acme']);
    const refused = await signIn(account, name, ['-C', 'acme']);
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringContaining('has a stored API key already'),
    ]);
    expect((await signIn(account, name)).code).toBe(0);
    expect(Object.keys(account.contexts)).toHaveLength(4);
    expect((await account.gov(['auth', 'status', '-C', 'acme'])).code).toBe(0);
  });

  it('gov auth login ends its token again when it cannot store the token', async () => {
    const account = new Account();
    const name = someone();
    const { call } = await service.signUp(name);
    mkdirSync(join(account.folder, 'config/credentials.json.part'), { recursive: true });
    expect(await signIn(account, name)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('cannot write'),
    });
    const ended = await call('GET', '/events?runId=gov.system&eventType=session.closed');
    expect(ended.body.events).toHaveLength(1);
    expect(account.contexts).toEqual({});
  });

  it.each([
    [
      ['auth', 'login'],
      {},
      /expected the address of a service to sign in to: there is no context\n.*--base-url/,
    ],
    [['auth', 'login', '--base-url', 'gov'], {}, /--base-url: expected an address/],
    [['auth', 'login', '--ci', '--id-token', '-', '--base-url', 'ORIGIN'], {}, /one of --id-token and --ci/],
    [
      ['auth', 'login', '--ci', '--api-key-stdin', '--base-url', 'ORIGIN'],
      {},
      /one of --api-key-stdin, --ci/,
    ],
    [
      ['auth', 'login', '--base-url', 'ORIGIN'],
      { CI: 'true' },
      /nobody can sign in here[^]*--ci, --id-token/,
    ],
    [['auth', 'login', '--base-url', 'ORIGIN', '--no-input'], {}, /nobody can sign in here/],
    [['auth', 'login', '--base-url', 'ORIGIN', '-C', 'a/b'], {}, /expected a name of at most 64/],
    [['auth', 'signup', '--base-url', 'ORIGIN'], {}, /required option '--name/],
  ])('gov auth login refuses %j with %j with exit code 2', async (argv, env, message) => {
    const words = argv.map((word) => (word === 'ORIGIN' ? service.origin : word));
    const { code, stderr } = await new Account(env).gov(words);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  it('gov auth login refuses a service without an identity provider, and a data plane', async () => {
    const account = new Account();
    const bare = await startService({ file: { issuer: undefined } as never });
    const login = ['auth', 'login', '--base-url', bare.origin];
    expect((await account.gov(login)).stderr).toMatch(/no identity provider\n.*--api-key-stdin/);
    await bare.end();
    mkdirSync(join(account.folder, 'plane'));
    writeFileSync(join(account.folder, 'plane/plane.json'), '{"listen":"127.0.0.1:1"}');
    await account.gov(['context', 'set', 'local', '--data', 'plane']);
    expect((await account.gov(['auth', 'login'])).stderr).toContain(
      'context local is a data plane, which has keys',
    );
    expect(await account.gov(['auth', 'status'])).toMatchObject({ code: 2 });
  });
});
