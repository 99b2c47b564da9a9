import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ambientIdToken } from '../../../src/cli/auth/ambient.ts';
import { checkIdToken } from '../../../src/cli/auth/id-token-shape.ts';
import { Web } from '../../../src/cli/context/web.ts';
import { limits } from '../../../src/contract/limits.ts';
import { json, startServer, type TestServer } from '../../client/server.ts';
import { Account } from '../support/account.ts';
import { emptyDirectory } from '../support/tool.ts';

const token = 'eyJhbGciOiJub25lIn0.eyJzdWIiOiJ4In0.c2ln';

describe('an ID token', () => {
  it('an ID token has three parts and a limited size', () => {
    expect(checkIdToken('-', ` ${token}\n`)).toBe(token);
    const longest = `${'a'.repeat(limits.idTokenChars - 4)}.b.c`;
    expect(checkIdToken('-', longest)).toBe(longest);
    for (const text of ['', 'a', 'a.b', 'a.b.c.d', 'a.b c', 'a..c', `a${longest}`, 'gov_live_x'])
      expect(() => checkIdToken('FILE', text), text.slice(0, 20)).toThrow(/^FILE: expected an ID token/);
  });

  it('an ID token appears in no error message', () => {
    expect(() => checkIdToken('-', 'secret text')).toThrow(/^(?!.*secret text)/);
  });

  it('an ID token on the command line is refused', async () => {
    const { code, stderr } = await new Account().gov([
      'auth',
      'login',
      '--base-url',
      'http://127.0.0.1:1',
      '--id-token',
      token,
    ]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('--id-token: expected a file')]);
    expect(stderr).not.toContain(token);
  });
});

describe('of the job', () => {
  let github: TestServer;
  const web = new Web({ env: {}, ca: [], timeoutMs: 2000, signal: new AbortController().signal });
  beforeAll(async () => {
    github = await startServer((_seen, response) => json(response, 200, { value: token }));
  });
  afterAll(async () => {
    web.close();
    await github.close();
  });
  const of = (env: Record<string, string>) => ambientIdToken({ env, cwd: '/' }, 'gov-cli', web);

  it('the ID token of a CI job comes from a file, then from a variable', async () => {
    const file = join(emptyDirectory(), 'token');
    writeFileSync(file, `${token}\n`);
    expect(await of({ GOV_ID_TOKEN_FILE: file, GOV_ID_TOKEN: 'x' })).toBe(token);
    expect(await of({ GOV_ID_TOKEN: token })).toBe(token);
    await expect(of({ GOV_ID_TOKEN: 'x' })).rejects.toThrow(/^GOV_ID_TOKEN: expected an ID token/);
    await expect(of({ GOV_ID_TOKEN_FILE: `${file}s` })).rejects.toThrow(/the file does not exist/);
  });

  it('the ID token of a CI job is requested from GitHub Actions, for the service alone', async () => {
    const env = {
      ACTIONS_ID_TOKEN_REQUEST_URL: `${github.origin}/token?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'job-secret',
    };
    expect(await of(env)).toBe(token);
    expect(github.seen[0]).toMatchObject({
      method: 'GET',
      url: '/token?api-version=2.0&audience=gov-cli',
      headers: { authorization: 'Bearer job-secret' },
    });
    github.handle = (_seen, response) => json(response, 403, { message: 'no' });
    await expect(of(env)).rejects.toThrow(/expected an ID token of GitHub Actions, got status 403/);
    github.handle = (_seen, response) => json(response, 200, { value: 7 });
    await expect(of(env)).rejects.toThrow(/got status 200/);
  });

  it('a missing ID token of a CI job is reported with what to do', async () => {
    for (const env of [{}, { ACTIONS_ID_TOKEN_REQUEST_URL: github.origin }]) {
      await expect(of(env as Record<string, string>)).rejects.toMatchObject({
        exit: 2,
        hint: expect.stringContaining('aud: gov-cli'),
      });
    }
  });
});
