/** Locks of an administrator: nothing overrides them, and a file that cannot be trusted stops every command. */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { json, startServer, type TestServer } from '../../client/server.ts';
import { emptyDirectory, govHere } from '../support/tool.ts';

const home = emptyDirectory();
const config = join(home, 'config');
const policyFile = join(home, 'policy.json');
const env = { GOV_CONFIG_DIR: config, GOV_SYSTEM_CONFIG: join(home, 'none.json'), HOME: home };
const gov = (words: readonly string[], more: Record<string, string> = {}) =>
  govHere([...words], { env: { ...env, ...more }, cwd: home, policyFile });

function lock(text: unknown, mode = 0o644): void {
  writeFileSync(policyFile, typeof text === 'string' ? text : JSON.stringify(text, null, 2));
  chmodSync(policyFile, mode);
}

let server: TestServer;
beforeAll(async () => {
  mkdirSync(config);
  writeFileSync(join(config, 'config.json'), JSON.stringify({ contexts: {}, settings: { output: 'csv' } }));
  writeFileSync(join(home, '.gov.json'), '{"output": "wide"}');
  server = await startServer((_, response) => json(response, 200, { data: [], nextCursor: null }));
});
afterAll(() => server.close());

describe('a locked setting', () => {
  it('is stronger than the environment, the project file and the file of the user, and explain says who set it', async () => {
    lock({ locks: { output: 'json', retries: '0' } });
    const { code, stdout } = await gov(['config', 'explain', 'output'], { GOV_OUTPUT: 'yaml' });
    expect(code).toBe(0);
    const [first, ...others] = JSON.parse(stdout).sources;
    expect(first).toEqual({ value: 'json', from: `${policyFile}:3, locked`, problem: null });
    expect(others.map(({ value }: { value: string }) => value).slice(0, 3)).toEqual(['yaml', 'wide', 'csv']);
    const set = await gov(['config', 'set', 'output', 'table']);
    expect([set.code, set.stderr]).toEqual([
      0,
      expect.stringContaining(`${policyFile}:3, locked is stronger`),
    ]);
    expect(JSON.parse((await gov(['version'])).stdout)).toHaveProperty('version');
  });

  it('refuses a flag with another value, and takes one with the same', async () => {
    lock({ locks: { output: 'json', timeout: '5s' } });
    const other = await gov(['version', '--output', 'table']);
    expect([other.code, other.stdout]).toEqual([4, '']);
    expect(other.stderr).toContain(`--output: expected json, which ${policyFile} locks, got "table"`);
    expect((await gov(['version', '-o', 'json', '--timeout', '5s'])).code).toBe(0);
    expect((await gov(['version', '--json=version'])).code).toBe(0);
    lock({ locks: { output: 'table' } });
    expect((await gov(['version', '--json'])).code).toBe(2);
  });
});

describe('a locked address', () => {
  it('is used where nothing names one, and no credential reaches another one', async () => {
    lock({ locks: { baseUrl: server.baseUrl } });
    const key = { GOV_API_KEY: 'gov_live_x' };
    expect((await gov(['jobs', 'list'], key)).code).toBe(0);
    const asked = server.seen.length;
    lock({ locks: { baseUrl: 'https://gov.example.com' } });
    for (const [words, more] of [
      [['--base-url', server.baseUrl], {}],
      [[], { GOV_BASE_URL: server.baseUrl }],
    ] as const) {
      const { code, stderr } = await gov(['jobs', 'list', ...words], { ...key, ...more });
      expect([code, stderr]).toEqual([
        4,
        expect.stringContaining(`expected the address https://gov.example.com, which ${policyFile} locks`),
      ]);
    }
    expect(server.seen.length).toBe(asked);
    const { stdout } = await gov(['config', 'explain', 'baseUrl', '-o', 'json'], {
      GOV_BASE_URL: server.baseUrl,
    });
    expect(JSON.parse(stdout).sources[0]).toEqual({
      value: 'https://gov.example.com',
      from: `${policyFile}:3, locked`,
      problem: null,
    });
  });
});

describe('a file of locks that cannot be trusted', () => {
  it('stops every command where everybody may replace the file', async () => {
    lock({ locks: {} });
    chmodSync(home, 0o777);
    const { code, stderr } = await gov(['version']);
    chmodSync(home, 0o700);
    expect([code, stderr]).toEqual([
      4,
      expect.stringContaining(`${home}: expected that only administrators`),
    ]);
  });

  it.each<[string, unknown, number, number, RegExp]>([
    ['everybody may write', { locks: {} }, 0o666, 4, /only administrators may write it, got mode 0666/],
    ['is no JSON', '{', 0o644, 2, /expected a JSON object/],
    ['has another member', { locks: {}, settings: {} }, 0o644, 2, /got "settings"/],
    ['has no locks', {}, 0o644, 2, /expected \{"locks"/],
    ['locks an unknown setting', { locks: { color2: 'x' } }, 0o644, 2, /got "color2"/],
    ['has a value that the setting does not have', { locks: { retries: 'many' } }, 0o644, 2, /retries/],
    ['has an address without a host', { locks: { baseUrl: 'gov' } }, 0o644, 2, /expected an address/],
  ])('stops every command where it %s', async (_, text, mode, code, message) => {
    lock(text, mode);
    const ended = await gov(['version']);
    expect([ended.code, ended.stdout]).toEqual([code, '']);
    expect(ended.stderr).toMatch(message);
    expect((await gov(['--help'])).code).toBe(0);
  });
});
