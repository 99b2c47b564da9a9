/** The support bundle has what helps, and none of the secrets that lie on this machine. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { event, startPlane, type TestPlane } from '../../support/serving.ts';
import { Account } from '../support/account.ts';

const planted = {
  environment: `gov_live_${'e'.repeat(38)}`,
  credential: `gov_test_${'c'.repeat(38)}`,
  session: `gov_cli_${'s'.repeat(40)}`,
  password: 'hunter2-of-the-proxy',
  member: 'value-of-an-unknown-member',
  query: 'token-in-an-address',
  setting: 'not-a-format-but-a-secret',
  content: 'content-of-an-event',
  alias: 'word-in-an-alias',
} as const;

let plane: TestPlane;
let account: Account;
beforeAll(async () => {
  plane = await startPlane();
  await plane.call('POST', '/events', { body: event({ metadata: { note: planted.content } }) });
  account = new Account({
    GOV_SYSTEM_CONFIG: '/dev/null/none',
    GOV_CRON_SECRET: planted.member,
    HTTPS_PROXY: `http://me:${planted.password}@proxy.example:3128`,
    COMPANY_SECRET_NAME: planted.member,
  });
  const folder = join(account.folder, 'config');
  mkdirSync(folder);
  const service = {
    kind: 'service',
    baseUrl: `https://me:${planted.password}@gov.example.com/api/v1?key=${planted.query}`,
    credential: 'acme',
  };
  writeFileSync(
    join(folder, 'config.json'),
    JSON.stringify({
      currentContext: 'local',
      contexts: { local: { kind: 'plane', dataDir: plane.dataDir }, acme: service },
      settings: { output: planted.setting },
      aliases: { mine: `search ${planted.alias}` },
      apiKey: planted.member,
    }),
  );
  const stored = { kind: 'api_key', origin: 'https://gov.example.com', expiresAt: null };
  writeFileSync(
    join(folder, 'credentials.json'),
    JSON.stringify({
      credentials: {
        acme: { ...stored, token: planted.credential },
        me: { ...stored, kind: 'person', token: planted.session },
      },
    }),
    { mode: 0o600 },
  );
});
afterAll(() => plane.end());

const bundled = (words: readonly string[], env: Record<string, string> = {}) =>
  account.gov(['doctor', '-o', 'json', '--bundle', ...words], { env });
const path = (): string => join(account.folder, 'support.json');

describe('gov doctor --bundle', () => {
  it('has no secret, no event, no value of a variable and not the home', async () => {
    const { code, stderr } = await bundled(['support.json']);
    expect(code, stderr).toBe(0);
    const text = readFileSync(path(), 'utf8');
    for (const [what, secret] of Object.entries(planted)) expect(text, what).not.toContain(secret);
    expect(text).not.toContain(readFileSync(join(plane.dataDir, 'local.key'), 'utf8').trim());
    expect(text).not.toContain(account.folder);
    expect(text).not.toContain('COMPANY_SECRET_NAME');
    expect(statSync(path()).mode & 0o777).toBe(0o600);
  });

  it('has the results, the versions, the contexts, names of variables and the health of the server', async () => {
    await bundled(['support.json']);
    const value = JSON.parse(readFileSync(path(), 'utf8'));
    expect(value).toMatchObject({
      kind: 'gov-support-bundle/1',
      versions: { node: process.version },
      server: { health: { status: 'ok' }, integrity: { scrub: null } },
    });
    expect(value.checks.map(({ name }: { name: string }) => name)).toContain('trust');
    expect(value.configuration.user.contexts).toEqual([
      expect.objectContaining({ name: 'local', kind: 'plane' }),
      expect.objectContaining({
        name: 'acme',
        baseUrl: 'https://gov.example.com/api/v1',
        hasCredential: true,
      }),
    ]);
    expect(value.configuration.user).toMatchObject({ aliases: ['mine'], otherMembers: ['apiKey'] });
    expect(value.environment).toEqual(
      expect.arrayContaining(['GOV_CONFIG_DIR', 'GOV_CRON_SECRET', 'HTTPS_PROXY']),
    );
  });

  it('a secret in the text of a check is removed: an error that quotes the address of a context', async () => {
    await bundled(['support.json', '-C', 'acme'], { GOV_API_KEY: planted.environment });
    const text = readFileSync(path(), 'utf8');
    for (const [what, secret] of Object.entries(planted)) expect(text, what).not.toContain(secret);
  });

  it('lists the parts before it writes, and says that nothing was sent', async () => {
    const { stderr } = await account.gov(['doctor', '--bundle', 'listed.json']);
    expect(stderr).toMatch(
      /the bundle has:\n {2}the time\n[\s\S]*names of \d+ variables, without values[\s\S]*wrote listed\.json; nothing was sent/,
    );
  });

  it.each(['b.tar.gz', 'b.zip', '-', '/dev/null'])('refuses %s before any check', async (file) => {
    expect((await bundled([file])).code).toBe(2);
    expect(existsSync(join(account.folder, file))).toBe(false);
  });
});
