import { chmodSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatTrust } from '../../../src/core/note/trust.ts';
import { trust } from '../../core/proofs/log.ts';
import { readUserConfig } from '../../../src/cli/context/config.ts';
import {
  addressIn,
  environmentAt,
  fullAddress,
  pairOf,
  siblingOf,
} from '../../../src/cli/context/definition.ts';
import type { Context } from '../../../src/cli/context/definition.ts';
import { isPersonal, masked, readCredentials } from '../../../src/cli/context/credentials.ts';
import { json, startServer } from '../../client/server.ts';
import { heldKeys, signedUp } from '../support/account.ts';
import { emptyDirectory, govHere } from '../support/tool.ts';

const { production: live, sandbox: test } = heldKeys;
const person = `gov_cli_${'c'.repeat(38)}`;
const projectId = `prj_${'0'.repeat(26)}`;
const otherId = `prj_${'1'.repeat(26)}`;

const counting = () => startServer((_seen, response) => json(response, 200, { jobId: 'job_1', count: 1 }));

describe('addresses', () => {
  it.each([
    ['https://gov.example.com/api/v1', 'production'],
    ['https://gov.example.com/api/v1/', 'production'],
    ['https://gov.example.com/sandbox/api/v1', 'sandbox'],
    ['https://gov.example.com/gov/sandbox/api/v1', 'sandbox'],
    ['https://gov.example.com/v1', undefined],
    ['https://sandbox/api/v2', undefined],
  ])('the address %s belongs to %s', (address, environment) =>
    expect(environmentAt(address)).toBe(environment),
  );

  it('the addresses of the two environments differ only in their path', () => {
    const [production, sandbox] = ['https://h:1/g/api/v1', 'https://h:1/g/sandbox/api/v1'];
    for (const address of [production, sandbox]) {
      expect(addressIn(address, 'production')).toBe(production);
      expect(addressIn(address, 'sandbox')).toBe(sandbox);
    }
    expect(addressIn('https://h/v1', 'sandbox')).toBeUndefined();
  });

  it('an address without a path gets the path of the interface, and one with a query is refused', () => {
    expect(fullAddress('https://h')).toBe('https://h/api/v1');
    expect(fullAddress('https://h/', 'sandbox')).toBe('https://h/sandbox/api/v1');
    expect(fullAddress('https://h/x')).toBe('https://h/x');
    for (const bad of ['gov.example.com', 'ftp://h', 'https://u:p@h', 'https://h/?a=b', 'https://h/#x', ''])
      expect(() => fullAddress(bad), bad).toThrow(/--base-url: expected an address/);
  });
});

describe('names', () => {
  it('the context names of the two environments form pairs', () => {
    const pair = { production: 'acme', sandbox: 'acme-sandbox' };
    expect([pairOf('acme'), pairOf('acme-sandbox')]).toEqual([pair, pair]);
  });

  it('a context leads to the context of the other environment of the same service only', () => {
    const service = (baseUrl: string): Context & { kind: 'service' } => ({ kind: 'service', baseUrl });
    const context = service('https://h/api/v1');
    const named = { name: 'a', context };
    const there = (other: Context) => siblingOf({ a: context, 'a-sandbox': other }, named, 'sandbox')?.name;
    expect(there(service('https://h/sandbox/api/v1'))).toBe('a-sandbox');
    expect(there(service('https://h/api/v1'))).toBeUndefined();
    expect(there(service('https://evil/sandbox/api/v1'))).toBeUndefined();
    expect(there({ kind: 'plane', dataDir: '/x' })).toBeUndefined();
    expect(siblingOf({ a: context }, named, 'sandbox')).toBeUndefined();
  });
});

describe('--env', () => {
  it('--env selects the context, and so the key, of that environment', async () => {
    const server = await counting();
    const env = await signedUp(server.origin);
    for (const [words, path, key] of [
      [[], '/api/v1', live],
      [['--env', 'sandbox'], '/sandbox/api/v1', test],
      [['-C', 'acme-sandbox', '--env', 'production'], '/api/v1', live],
    ] as const) {
      await govHere(['events', 'count', ...words], { env });
      expect(server.seen.at(-1)).toMatchObject({ url: `${path}/events/count` });
      expect(server.seen.at(-1)?.headers.authorization).toBe(`Bearer ${key}`);
    }
    await govHere(['events', 'count'], { env: { ...env, GOV_ENV: 'sandbox' } });
    expect(server.seen.at(-1)?.url).toBe('/sandbox/api/v1/events/count');
    const given = ['events', 'count', '--base-url', server.origin, '--env', 'sandbox'];
    await govHere(given, { env: { GOV_API_KEY: test } });
    expect(server.seen.at(-1)?.url).toBe('/sandbox/api/v1/events/count');
    await server.close();
  });

  it('--env refuses a plane of another environment, unless a project file says it', async () => {
    const root = emptyDirectory();
    const plane = { listen: '127.0.0.1:1', environment: 'production' };
    writeFileSync(join(root, 'plane.json'), JSON.stringify(plane));
    const env = { GOV_CONFIG_DIR: join(root, 'config') };
    await govHere(['context', 'set', 'local', '--data', root], { env });
    const refused = await govHere(['events', 'count', '--env', 'sandbox'], { env });
    expect(refused).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/is a data plane, which has one environment/),
    });
    writeFileSync(join(root, '.gov.json'), '{"env":"sandbox"}');
    for (const words of [[], ['--env', 'production']]) {
      const reached = await govHere(['events', 'count', '--retries', '0', ...words], { env, cwd: root });
      expect(reached.code).toBe(10);
    }
  });

  it('the environment and the project are checked wherever they come from', async () => {
    const cwd = emptyDirectory();
    writeFileSync(join(cwd, '.gov.json'), '{"env":"staging"}');
    expect(await govHere(['context', 'list'], { cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/expected env to be one of/),
    });
    writeFileSync(join(cwd, '.gov.json'), '{"project":"checkout"}');
    expect((await govHere(['context', 'list'], { cwd })).stderr).toContain('expected project to be an id');
    const env = await signedUp('http://127.0.0.1:1');
    expect((await govHere(['health', '--project', 'prj_1'], { env })).stderr).toContain(
      '--project: expected text that matches ^prj_',
    );
  });
});

describe('the project of a call', () => {
  it('the project comes from flag, variable, project file, then context, and goes to no other address', async () => {
    const server = await counting();
    const env = await signedUp(server.origin, 'acme-sandbox');
    const cwd = emptyDirectory();
    const sent = async (words: string[], more: Record<string, string> = {}, place = cwd) => {
      await govHere(['events', 'count', ...words], { env: { ...env, ...more }, cwd: place });
      return server.seen.at(-1)?.headers['gov-project'];
    };
    expect(await sent([])).toBeUndefined();
    await govHere(['context', 'set', 'acme-sandbox', '--project', projectId], { env });
    expect(await sent([])).toBe(projectId);
    expect(await sent(['--base-url', `${server.origin}/api/v1`])).toBeUndefined();
    expect(await sent(['--env', 'production'])).toBeUndefined();
    const file = emptyDirectory();
    writeFileSync(join(file, '.gov.json'), JSON.stringify({ project: otherId }));
    expect(await sent([], {}, file)).toBe(otherId);
    expect(await sent([], { GOV_PROJECT: projectId }, file)).toBe(projectId);
    expect(await sent(['--project', otherId], { GOV_PROJECT: projectId }, file)).toBe(otherId);
    await server.close();
  });
});

describe('stored credentials', () => {
  it('stored credentials are readable by the user alone, and refused when others can read them', async () => {
    const env = await signedUp('http://127.0.0.1:1');
    const path = join(env.GOV_CONFIG_DIR, 'credentials.json');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(env.GOV_CONFIG_DIR).mode & 0o777).toBe(0o700);
    for (const mode of [0o640, 0o604, 0o660]) {
      chmodSync(path, mode);
      expect(() => readCredentials(env)).toThrow(/other users can read/);
    }
    chmodSync(path, 0o400);
    expect(readCredentials(env)['acme']?.token).toBe(live);
  });

  it('stored credentials go only to their origin, whatever changes in the context', async () => {
    const env = await signedUp('http://127.0.0.1:1');
    const moved = ['context', 'set', 'acme', '--base-url', 'https://evil.example.test'];
    expect((await govHere(moved, { env })).code).toBe(0);
    const { code, stderr } = await govHere(['events', 'count'], { env });
    expect(code).toBe(2);
    expect(stderr).toContain(
      'is now at https://evil.example.test, and its credential is for http://127.0.0.1:1',
    );
    expect(stderr).toContain('gov auth login -C acme');
  });

  it.each([
    '{',
    '[]',
    '{"credentials":[]}',
    '{"credentials":{"a":{"kind":"api_key","token":"x y","origin":"o","expiresAt":null}}}',
    '{"credentials":{"a":{"kind":"odd","token":"x","origin":"o","expiresAt":null}}}',
    '{"credentials":{"a":{"kind":"person","token":"x","origin":"o"}}}',
  ])('stored credentials that are %s are refused with the file', async (text) => {
    const env = await signedUp('http://127.0.0.1:1');
    writeFileSync(join(env.GOV_CONFIG_DIR, 'credentials.json'), text, { mode: 0o600 });
    expect(() => readCredentials(env)).toThrow(/credentials\.json: expected/);
  });

  it('credentials of people are distinguished from keys, and shown shortened', () => {
    expect([person, 'a.b.c', live, 'gov_hyb_x', 'plain'].map(isPersonal)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
    expect(masked(live)).toBe('gov_live_…llll');
    expect(masked('short')).toBe('(set)');
  });

  it('a stored credential is deleted with the last context that refers to it', async () => {
    const env = await signedUp('http://127.0.0.1:1');
    expect(await govHere(['context', 'delete', 'acme'], { env })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/this machine forgets the API key\n.*--confirm acme/),
    });
    expect((await govHere(['context', 'delete', 'acme', '--confirm', 'acm'], { env })).code).toBe(2);
    expect(Object.keys(readCredentials(env))).toEqual(['acme', 'acme-sandbox']);
    const deleted = await govHere(['context', 'delete', 'acme', '--confirm', 'acme'], { env });
    expect(deleted).toMatchObject({ code: 0, stderr: expect.stringMatching(/no context is current/) });
    expect(Object.keys(readCredentials(env))).toEqual(['acme-sandbox']);
    expect(readUserConfig(env).currentContext).toBeUndefined();
    const rest = await govHere(['context', 'delete', 'acme-sandbox', '-y'], { env });
    expect([rest.code, readCredentials(env)]).toEqual([0, {}]);
    for (const argv of [
      ['context', 'delete', 'acme'],
      ['context', 'use', 'acme'],
      ['runs', 'list', '-C', 'acme'],
    ])
      expect([argv, await govHere(argv, { env })]).toMatchObject([
        argv,
        { code: 5, stderr: expect.stringContaining('contexts: none yet') },
      ]);
  });
});

describe('gov context set', () => {
  const setUp = () => {
    const root = emptyDirectory();
    for (const name of ['ca.pem', 'key']) writeFileSync(join(root, name), 'x', { mode: 0o600 });
    writeFileSync(join(root, 'trust'), formatTrust(trust));
    const env = { GOV_CONFIG_DIR: join(root, 'gov') };
    const set = (...words: string[]) => govHere(['context', 'set', ...words], { env, cwd: root });
    return { root, env, set };
  };

  it('gov context set stores what flags say and changes only the named members', async () => {
    const { root, env, set } = setUp();
    expect((await set('acme', '--base-url', 'https://h')).code).toBe(0);
    const files = ['--cacert', 'ca.pem', '--trust', 'trust', '--api-key-file', 'key'];
    expect((await set('acme', ...files, '--project', projectId)).code).toBe(0);
    const acme = {
      kind: 'service',
      baseUrl: 'https://h/api/v1',
      project: projectId,
      caFile: join(root, 'ca.pem'),
      trustFile: join(root, 'trust'),
      apiKeyFile: join(root, 'key'),
    };
    expect(readUserConfig(env)).toEqual({ currentContext: 'acme', contexts: { acme } });
    expect((await set('acme', '--unset', 'project,caFile')).code).toBe(0);
    const { project: _project, caFile: _caFile, ...rest } = acme;
    expect(readUserConfig(env).contexts['acme']).toEqual(rest);
    await set('acme-sandbox', '--base-url', 'https://h', '--env', 'sandbox');
    await set('odd', '--base-url', 'https://h/v9', '--env', 'sandbox');
    const { stdout } = await govHere(['context', 'list'], { env });
    expect(stdout.split('\n').map((line) => line.split('\t').slice(0, 5).join(' '))).toEqual([
      'acme true service production https://h/api/v1',
      'acme-sandbox false service sandbox https://h/sandbox/api/v1',
      'odd false service sandbox https://h/v9',
      '',
    ]);
  });

  it('gov context set ignores environment variables', async () => {
    const { root, env } = setUp();
    const more = {
      GOV_BASE_URL: 'https://elsewhere',
      GOV_PROJECT: projectId,
      GOV_CACERT: join(root, 'ca.pem'),
    };
    const argv = ['context', 'set', 'acme', '--base-url', 'https://h'];
    await govHere(argv, { env: { ...env, ...more } });
    expect(readUserConfig(env).contexts['acme']).toEqual({ kind: 'service', baseUrl: 'https://h/api/v1' });
  });

  it.each([
    [['acme'], /context acme does not exist yet: expected --base-url/],
    [['a b', '--base-url', 'https://h'], /expected a name of at most 64 letters/],
    [[`${'a'.repeat(65)}`, '--base-url', 'https://h'], /expected a name of at most 64 letters/],
    [['acme', '--base-url', 'h'], /--base-url: expected an address/],
    [['acme', '--base-url', 'https://h', '--trust', 'absent'], /absent: the file does not exist/],
    [['acme', '--base-url', 'https://h/api/v1', '--env', 'sandbox'], /is that of production/],
    [['acme', '--data', '.'], /expected a data plane/],
    [['acme', '--data', '.', '--project', projectId], /expected no other flag/],
    [['acme', '--unset', 'baseUrl'], /--unset: expected one of project/],
  ])('gov context set refuses %j', async (words, message) => {
    const { env, set } = setUp();
    expect(await set(...words)).toMatchObject({ code: 2, stderr: expect.stringMatching(message) });
    expect(readUserConfig(env).contexts).toEqual({});
  });

  it('gov context set takes a name of 64 letters', async () => {
    expect((await setUp().set('a'.repeat(64), '--base-url', 'https://h')).code).toBe(0);
  });

  it('gov context set lets no key file replace a stored key', async () => {
    const env = await signedUp('http://127.0.0.1:1');
    const cwd = emptyDirectory();
    writeFileSync(join(cwd, 'key'), live, { mode: 0o600 });
    const argv = ['context', 'set', 'acme', '--api-key-file', 'key'];
    expect(await govHere(argv, { env, cwd })).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/has a stored credential already/),
    });
    expect((await govHere(['auth', 'logout', '-C', 'acme', '--yes'], { env })).code).toBe(0);
    expect((await govHere(argv, { env, cwd })).code).toBe(0);
    expect((await govHere(['auth', 'token', '-C', 'acme'], { env })).stdout).toBe(`${live}\n`);
  });
});
