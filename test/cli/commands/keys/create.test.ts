import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expiryOf } from '../../../../src/cli/keys/issue.ts';
import { limits } from '../../../../src/contract/limits.ts';
import { startService, type Tenant, type TestService } from '../../../support/hosted.ts';
import { Account } from '../../support/account.ts';

let service: TestService;
let tenant: Tenant;
beforeAll(async () => {
  service = await startService();
  tenant = await service.signUp('ada');
});
afterAll(() => service.end());

/** Somebody with the sandbox key of the organization, kept as context acme-sandbox. */
async function keyHolder(): Promise<Account> {
  const account = new Account();
  const login = ['auth', 'login', '--api-key-stdin', '--base-url', service.origin, '-C', 'acme'];
  expect((await account.gov(login, { input: tenant.keys.sandbox })).code).toBe(0);
  return account;
}
const works = async (key: string): Promise<boolean> =>
  (await service.call('GET', `${service.origin}/sandbox/api/v1/auth/identity`, { key })).status === 200;

describe('gov keys create', () => {
  it('gov keys create shows the key once, with its scopes and expiry', async () => {
    const account = await keyHolder();
    const words = [
      'keys',
      'create',
      '--show-secret',
      'ci',
      '--scopes',
      'events:write,events:read',
      '--expires',
      '90d',
    ];
    const { key, record } = await account.json(words);
    expect(key).toMatch(/^gov_test_[0-9A-Za-z]{38}$/);
    expect(record).toMatchObject({ name: 'ci', scopes: ['events:write', 'events:read'], status: 'active' });
    const days = (Date.parse(record.expiresAt) - Date.now()) / 86_400_000;
    expect([days > 89.9, days <= 90]).toEqual([true, true]);
    expect(await works(key)).toBe(true);
    const { stdout } = await account.gov(['keys', 'list', '-o', 'json']);
    expect(stdout).toContain(record.keyId);
    expect(stdout).not.toContain(key);
    const human = await account.gov(['keys', 'create', 'another'], { columns: 100 });
    expect([human.stdout, human.stderr]).toEqual([
      expect.stringMatching(/gov_test_[0-9A-Za-z]{38}/),
      expect.stringMatching(/^to context acme-sandbox: .*, sandbox\ngov shows the key only this once\n$/),
    ]);
  });

  it('no command makes a secret that would go into a pipe, and each says what to do', async () => {
    const account = await keyHolder();
    const { record } = await account.json(['keys', 'create', '--show-secret', 'old']);
    const count = async (list: string) => (await account.json([list, 'list'])).data.length;
    const before = await Promise.all(['keys', 'webhooks', 'planes'].map(count));
    for (const words of [
      ['keys', 'create', 'new'],
      ['keys', 'rotate', record.keyId, '-o', 'json'],
      ['webhooks', 'create', 'https://hooks.example.com/gov', '--disabled'],
      ['planes', 'create', 'ward-1', '-o', 'yaml'],
      ['api', 'POST', '/api-keys', '-F', 'name=new'],
    ]) {
      const { code, stdout, stderr } = await account.gov(words);
      expect([words, code, stdout]).toEqual([words, 2, '']);
      expect(stderr).toMatch(/because standard output is no terminal.*nothing was (made|sent).*--out FILE/s);
    }
    expect(await Promise.all(['keys', 'webhooks', 'planes'].map(count))).toEqual(before);
    expect(
      (await account.json(['keys', 'list'])).data.map((key: { status: string }) => key.status),
    ).toContain('active');
  });

  it('gov keys create writes the key to a private file, ready for GOV_API_KEY_FILE', async () => {
    const account = await keyHolder();
    const { stdout } = await account.gov(['keys', 'create', 'ci', '--out', 'ci.key', '-o', 'json']);
    expect(JSON.parse(stdout)).toMatchObject({
      keyFile: join(account.folder, 'ci.key'),
      record: { name: 'ci' },
    });
    expect(stdout).not.toMatch(/gov_test_[0-9A-Za-z]{38}/);
    expect(account.file('ci.key').mode).toBe(0o600);
    const env = { GOV_API_KEY_FILE: join(account.folder, 'ci.key') };
    expect((await account.gov(['auth', 'status'], { env })).code).toBe(0);
    const ids = await account.gov(['keys', 'create', 'ci-2', '--out', 'ci-2.key', '-o', 'id']);
    expect(ids.stdout).toMatch(/^key_\w{26}\n$/);
    const lost = await account.gov(['keys', 'create', 'lost', '-o', 'id']);
    expect([lost.code, lost.stdout]).toEqual([2, '']);
  });

  it('gov keys create replaces a file only with --force, and makes no key that it cannot store', async () => {
    const account = await keyHolder();
    const before = (await account.json(['keys', 'list', '--all'])).data.length;
    const path = join(account.folder, 'ci.key');
    writeFileSync(path, 'precious', { mode: 0o644 });
    const create = ['keys', 'create', 'ci', '--out', 'ci.key'];
    expect(await account.gov(create)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('or --force'),
    });
    expect(account.file('ci.key').text).toBe('precious');
    mkdirSync(join(account.folder, 'locked'));
    expect((await account.gov(['keys', 'create', 'ci', '--out', 'locked'])).code).toBe(2);
    expect((await account.gov(['keys', 'create', 'ci', '--out', 'none/ci.key'])).code).toBe(1);
    expect((await account.json(['keys', 'list', '--all'])).data).toHaveLength(before);
    expect((await account.gov([...create, '--force'])).code).toBe(0);
    expect(account.file('ci.key')).toMatchObject({
      text: expect.stringMatching(/^gov_test_\w{38}\n$/),
      mode: 0o600,
    });
    expect(existsSync(`${path}.part`)).toBe(false);
  });

  it('a refused gov keys create leaves no new file and does not change an existing one', async () => {
    const account = await keyHolder();
    const weak = await account.json(['keys', 'create', '--show-secret', 'weak', '--scopes', 'events:read']);
    const env = { GOV_API_KEY: weak.key };
    writeFileSync(join(account.folder, 'old.key'), 'precious');
    for (const words of [
      ['--out', 'new.key'],
      ['--out', 'old.key', '--force'],
    ])
      expect((await account.gov(['keys', 'create', '--show-secret', 'more', ...words], { env })).code).toBe(
        4,
      );
    expect(existsSync(join(account.folder, 'new.key'))).toBe(false);
    expect(existsSync(join(account.folder, 'old.key.part'))).toBe(false);
    expect(account.file('old.key').text).toBe('precious');
  });

  it('gov keys create refuses unknown scopes and invalid times', async () => {
    const account = await keyHolder();
    for (const [words, message] of [
      [['--scopes', 'events:reed'], /--scopes: expected one of events:read/],
      [['--expires', 'soon'], /--expires: expected a time/],
      [['--expires', '2020-01-01'], /--expires: expected a future time/],
    ] as const) {
      const { code, stderr } = await account.gov(['keys', 'create', '--show-secret', 'ci', ...words]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    }
    const far = await account.gov(['keys', 'create', '--show-secret', 'ci', '--expires', '4000d']);
    expect([far.code, far.stderr]).toEqual([2, expect.stringContaining('/expiresAt')]);
  });

  it('gov keys create makes one key for one idempotency key', async () => {
    const account = await keyHolder();
    const create = ['keys', 'create', '--show-secret', 'once', '--idempotency-key', 'once-1'];
    const [first, second] = [await account.json(create), await account.json(create)];
    expect(second).toEqual(first);
  });
});

describe('the end of a key', () => {
  const now = Date.parse('2026-03-01T12:00:00Z');

  it.each([
    ['90d', '2026-05-30T12:00:00.000Z'],
    ['1h', '2026-03-01T13:00:00.000Z'],
    ['2027-01-31', '2027-01-31T00:00:00Z'],
    ['2027-01-31T10:00:00+01:00', '2027-01-31T10:00:00+01:00'],
    ['never', null],
  ])('the expiry %s of a key is %s', (text, expected) => expect(expiryOf(text, now)).toBe(expected));

  it.each(['90', 'soon', '', '2026-03-01', '2026-03-01T12:00:00Z', '1 year'])(
    'the expiry %j of a key is refused',
    (text) => {
      expect(() => expiryOf(text, now)).toThrow(/--expires: expected/);
    },
  );
});

describe('gov keys update', () => {
  it('gov keys update changes only the named members', async () => {
    const account = await keyHolder();
    const { record } = await account.json([
      'keys',
      'create',
      '--show-secret',
      'ci',
      '--expires',
      '1d',
      '--description',
      'of CI',
    ]);
    const update = ['keys', 'update', record.keyId];
    expect(await account.json([...update, '--name', 'build'])).toMatchObject({
      name: 'build',
      description: 'of CI',
    });
    expect(await account.json([...update, '--expires', 'never', '--description', ''])).toMatchObject({
      name: 'build',
      expiresAt: null,
      description: null,
    });
    expect(await account.json([...update, '--scopes', 'events:read'])).toMatchObject({
      scopes: ['events:read'],
    });
    const nothing = await account.gov(update);
    expect([nothing.code, nothing.stderr]).toEqual([2, expect.stringContaining('expected a change')]);
  });
});

describe('gov keys revoke', () => {
  it('gov keys revoke asks first, and afterwards the key no longer works', async () => {
    const account = await keyHolder();
    const { key, record } = await account.json(['keys', 'create', '--show-secret', 'ci']);
    const revoke = ['keys', 'revoke', record.keyId];
    expect(await account.gov(revoke)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('give --yes'),
    });
    expect(await works(key)).toBe(true);
    expect(await account.gov([...revoke, '--yes'])).toMatchObject({ code: 0, stdout: '' });
    expect(await works(key)).toBe(false);
    expect((await account.gov([...revoke, '--yes'])).code).toBe(5);
    const listed = async (...words: string[]) =>
      (await account.json(['keys', 'list', '--all', ...words])).data.map(
        ({ keyId }: { keyId: string }) => keyId,
      );
    expect(await listed()).not.toContain(record.keyId);
    expect(await listed('--include-revoked')).toContain(record.keyId);
  });
});

describe('gov keys rotate', () => {
  it('gov keys rotate replaces a key at once or after an overlap', async () => {
    const account = await keyHolder();
    const old = await account.json(['keys', 'create', '--show-secret', 'ci', '--scopes', 'events:read']);
    const second = await account.json([
      'keys',
      'rotate',
      '--show-secret',
      old.record.keyId,
      '--overlap',
      '1h',
    ]);
    expect(second.record).toMatchObject({
      name: 'ci',
      scopes: ['events:read'],
      rotatedFromKeyId: old.record.keyId,
    });
    expect([await works(old.key), await works(second.key)]).toEqual([true, true]);
    const third = await account.json(['keys', 'rotate', '--show-secret', second.record.keyId]);
    expect([await works(second.key), await works(third.key)]).toEqual([false, true]);
  });

  it('gov keys rotate takes the longest overlap and refuses a longer one', async () => {
    const account = await keyHolder();
    const { record } = await account.json(['keys', 'create', '--show-secret', 'ci']);
    const rotate = (seconds: number) =>
      account.gov(['keys', 'rotate', '--show-secret', record.keyId, '--overlap', `${seconds}s`]);
    expect((await rotate(limits.keyOverlapSeconds + 1)).code).toBe(2);
    expect((await rotate(limits.keyOverlapSeconds)).code).toBe(0);
  });

  it('gov keys rotate keeps a person signed in who rotates their own key', async () => {
    const account = await keyHolder();
    const made = await account.json(['keys', 'create', '--show-secret', 'mine']);
    const login = ['auth', 'login', '--api-key-stdin', '--base-url', service.origin, '-C', 'own'];
    await account.gov(login, { input: made.key });
    const words = ['keys', 'rotate', made.record.keyId, '-C', 'own-sandbox', '--out', 'new.key'];
    const rotated = await account.gov(words);
    expect(rotated).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('context own-sandbox has the new key'),
    });
    expect(await works(made.key)).toBe(false);
    expect(`${account.credentials['own-sandbox']?.token}\n`).toBe(account.file('new.key').text);
    expect((await account.gov(['auth', 'status', '-C', 'own-sandbox'])).code).toBe(0);
  });

  it('gov keys rotate warns when the old key stays in a file of the user', async () => {
    const account = await keyHolder();
    const { key, record } = await account.json(['keys', 'create', '--show-secret', 'mine']);
    writeFileSync(join(account.folder, 'my.key'), key);
    chmodSync(join(account.folder, 'my.key'), 0o600);
    const { code, stderr } = await account.gov(['keys', 'rotate', '--show-secret', record.keyId], {
      env: { GOV_API_KEY_FILE: join(account.folder, 'my.key') },
    });
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/warning: GOV_API_KEY_FILE .* still has the old key/),
    ]);
  });
});
