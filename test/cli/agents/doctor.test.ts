import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { emptyDirectory, gov } from '../support/tool.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane();
});
afterAll(() => plane.end());

let home = '';
beforeEach(() => {
  home = emptyDirectory();
  mkdirSync(join(home, 'bin'));
});

/**
 * Programs that answer as Codex 0.169 and Claude Code do when they are asked for their version, and Codex for its hooks. The
 * real ones have tests of their own (`real.long.test.ts`).
 */
function program(name: string, version: string, trust = 'trusted'): void {
  const text = `#!${process.execPath}
if (process.argv[2] === '--version') { console.log('${name} ${version}'); process.exit(); }
const text = require('node:fs').readFileSync('${join(home, '.codex/config.toml')}', 'utf8');
const command = JSON.parse(/^command = (".*")$/m.exec(text)?.[1] ?? '""');
const hook = { key: 'k:pre_tool_use:0:0', command, enabled: true, currentHash: 'sha256:1', trustStatus: text.includes('trusted_hash = "sha256:1"') ? 'trusted' : '${trust}' };
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line);
  if (method === 'hooks/list') console.log(JSON.stringify({ id, result: { data: [{ hooks: [hook] }] } }));
  else if (id !== undefined) console.log(JSON.stringify({ id, result: {} }));
});
`;
  const path = join(home, 'bin', name);
  writeFileSync(path, text);
  chmodSync(path, 0o755);
}

const agents = (line: string, more: Record<string, string> = {}) =>
  gov(['agents', ...line.split(' ')], {
    env: {
      HOME: home,
      GOV_CONFIG_DIR: join(home, '.config/gov'),
      PATH: join(home, 'bin'),
      GOV_BASE_URL: plane.baseUrl,
      GOV_API_KEY: plane.key,
      ...more,
    },
  });
const report = async (client: string) => {
  const { code, stdout } = await agents(`doctor ${client} -o json`);
  return { code, ...JSON.parse(stdout).clients[0] };
};
const change = (path: string, edit: (text: string) => string): void => {
  const file = join(home, path);
  writeFileSync(file, edit(readFileSync(file, 'utf8')));
};

describe('gov agents doctor', () => {
  it('gov agents doctor fails for a client on PATH without hooks, and passes over those that are not there', async () => {
    const nothing = await agents('doctor -o json');
    expect(nothing).toMatchObject({ code: 0, stdout: expect.stringContaining('"clients": []') });
    program('claude', '2.1.332');
    expect(await report('claude-code')).toMatchObject({
      code: 3,
      version: '2.1.332',
      installed: null,
      failsClosed: false,
      problems: ['no hooks: gov agents install'],
    });
  });

  it('gov agents doctor says what a user and a project can still turn off', async () => {
    program('claude', '2.1.332');
    await agents('install claude-code --scope user');
    expect(await report('claude-code')).toMatchObject({
      code: 3,
      installed: 'user',
      trusted: null,
      reachable: true,
      tested: '2.1.332',
      problems: expect.arrayContaining([
        'open: a skill or a command runs shell lines while it loads, without a call; close it with sudo gov agents install --scope managed',
        expect.stringMatching(/^open: PATH of a project .* --scope managed --lock-path$/),
      ]),
    });
    change('.claude/settings.json', (text) => text.replace('"block"', '"continue"'));
    expect((await report('claude-code')).problems[0]).toContain('"onFailure": "block"');
    change('.claude/settings.json', (text) => text.replace('{', '{"disableAllHooks":true,'));
    expect((await report('claude-code')).problems[1]).toContain('disableAllHooks is true');
    program('claude', '2.1.200');
    expect((await report('claude-code')).problems).toContainEqual(
      expect.stringContaining('2.1.295 or newer'),
    );
  });

  it('gov agents install makes Codex trust the hooks, and doctor fails where it does not', async () => {
    program('codex', '0.169.0', 'untrusted');
    expect((await agents('install codex --scope user')).code).toBe(0);
    expect(readFileSync(join(home, '.codex/config.toml'), 'utf8')).toContain('trusted_hash = "sha256:1"');
    expect((await agents('install codex --scope user -o json')).stdout).not.toContain('"changed"');
    expect(await report('codex')).toMatchObject({
      trusted: true,
      problems: expect.arrayContaining([expect.stringContaining('features.hooks = false')]),
    });
    change('.codex/config.toml', (text) => text.replace(/trusted_hash.*/, ''));
    expect(await report('codex')).toMatchObject({
      code: 3,
      trusted: false,
      problems: expect.arrayContaining([expect.stringContaining('does not trust')]),
    });
  });

  it.each([
    ['another version of the hook', (text: string) => text.replace('"sha256:1"', '"sha256:0"')],
    [
      'another version, in lines of the user',
      (text: string) =>
        `[hooks.state."k:pre_tool_use:0:0"]\nenabled = false\ntrusted_hash = "sha256:0"\n\n[tui]\ntheme = "x"\n${text.replace(/\[hooks\.state[^]*?"\n/, '')}`,
    ],
  ])(
    'gov agents install replaces the trust of Codex in %s, and uninstall removes its lines',
    async (_, edit) => {
      program('codex', '0.171.0', 'untrusted');
      await agents('install codex --scope user');
      change('.codex/config.toml', edit);
      expect(await report('codex')).toMatchObject({ trusted: false });
      expect((await agents('install codex --scope user')).code).toBe(0);
      const { hooks } = parse(readFileSync(join(home, '.codex/config.toml'), 'utf8'));
      expect(hooks).toMatchObject({ state: { 'k:pre_tool_use:0:0': { trusted_hash: 'sha256:1' } } });
      expect(hooks).not.toMatchObject({ state: { 'k:pre_tool_use:0:0': { enabled: false } } });
      expect(await report('codex')).toMatchObject({ trusted: true });
      await agents('uninstall codex --scope user');
      const path = join(home, '.codex/config.toml');
      expect(existsSync(path) ? readFileSync(path, 'utf8') : '').not.toMatch(/hook codex|gov agents/);
    },
  );

  it('gov agents doctor says what is missing, and whether the plane decides with the key of the hooks', async () => {
    await agents('install claude-code --scope user');
    const connection = join(home, '.config/gov/agents.json');
    renameSync(connection, `${connection}.away`);
    expect((await report('claude-code')).problems).toContainEqual(
      expect.stringMatching(/agents\.json is missing, so every call is blocked/),
    );
    renameSync(`${connection}.away`, connection);
    writeFileSync(join(home, '.config/gov/agents.key'), 'gov_live_wrong\n');
    expect(await report('claude-code')).toMatchObject({
      code: 3,
      reachable: false,
      problems: expect.arrayContaining([expect.stringContaining('no decisions')]),
    });
  });
});
