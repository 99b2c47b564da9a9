import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { plannedInstall, plannedUninstall, install, uninstall } from '../../../src/cli/agents/install.ts';
import { setups } from '../../../src/cli/agents/setup/all.ts';
import {
  hookLine,
  isOwnLine,
  pathsIn,
  type SetupTarget,
  type HookSettings,
} from '../../../src/cli/agents/setup/edit.ts';
import { agentClients, type AgentClient } from '../../../src/core/agents/clients.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { emptyDirectory, gov } from '../support/tool.ts';

let plane: TestPlane;
beforeAll(async () => {
  plane = await startPlane({ extraKeys: { agent: { scopes: ['tools:evaluate', 'events:write'] } } });
});
afterAll(() => plane.end());

let home = '';
beforeEach(() => {
  home = emptyDirectory();
});
const write = (name: string, text: string, mode = 0o644): string => {
  const path = join(home, name);
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, text, { mode });
  return path;
};

/** A program on PATH that says its version. */
const program = (name: string, version: string): void =>
  void chmodSync(write(`bin/${name}`, `#!/bin/sh\necho "${name} ${version}"\n`), 0o755);

const agents = (line: string) =>
  gov(['agents', ...line.split(' ')], {
    env: {
      HOME: home,
      GOV_CONFIG_DIR: join(home, '.config/gov'),
      PATH: `${join(home, 'bin')}:/usr/bin:/bin`,
      GOV_BASE_URL: plane.baseUrl,
      GOV_API_KEY: plane.key,
      NO_COLOR: '1',
    },
  });

/** All files of the home directory, with mode and content. */
const snapshot = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(home, { recursive: true, withFileTypes: true })
      .map((entry) => [join(entry.parentPath, entry.name), entry] as const)
      .filter(([path]) => !path.includes('/.cache'))
      .map(([path, entry]) => [
        path,
        entry.isFile() ? `${statSync(path).mode.toString(8)} ${readFileSync(path, 'utf8')}` : 'folder',
      ]),
  );

const own = (client: AgentClient): string =>
  ({
    'claude-code': '.claude/settings.json',
    codex: '.codex/config.toml',
    gemini: '.gemini/settings.json',
    cursor: '.cursor/hooks.json',
    opencode: '.config/opencode/plugins/gov.js',
  })[client];

describe('the line of a hook', () => {
  it('hookLine quotes its paths, and pathsIn finds them again', () => {
    const wanted = {
      node: "/o'brien/node",
      entry: '/a b/gov.cjs',
      config: '/c.json',
      hold: 0,
      telemetry: null,
      lockedPath: null,
      wrapped: [],
      sandbox: null,
    };
    const line = hookLine('codex', wanted, true);
    expect(isOwnLine(line)).toBe(true);
    expect(pathsIn(line)).toEqual(["/o'brien/node", '/a b/gov.cjs', '/c.json']);
    expect(isOwnLine('echo hook codex')).toBe(false);
  });

  it('hookLine ends with 2 and a text where it gates, and with 1 where it only records, if the hook is missing', () => {
    const wanted = {
      node: '/no/node',
      entry: '/gov.cjs',
      config: '/c.json',
      hold: 0,
      telemetry: null,
      lockedPath: null,
      wrapped: [],
      sandbox: null,
    };
    const ran = [true, false].map((gates) => spawnSync('/bin/sh', ['-c', hookLine('codex', wanted, gates)]));
    expect(ran.map(({ status }) => status)).toEqual([2, 1]);
    expect(String(ran[0]?.stderr)).toContain('gov: the call did not run');
  });
});

describe('gov agents install and uninstall', () => {
  it.skipIf(process.getuid?.() !== 0)('gov agents install and uninstall need a scope from root', async () => {
    for (const verb of ['install', 'uninstall'])
      expect(await agents(`${verb} claude-code`)).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('expected --scope managed'),
      });
  });

  it.each(agentClients)('gov agents install %s is undone by uninstall without a trace', async (client) => {
    mkdirSync(join(home, '.config/gov'), { recursive: true });
    const before = snapshot();
    expect((await agents(`install ${client} --scope user`)).code).toBe(0);
    const installed = readFileSync(join(home, own(client)), 'utf8');
    expect(installed).toContain(`hook ${client} --config`);
    expect((await agents(`install ${client} --scope user -o json`)).stdout).toContain('"unchanged"');
    expect(readFileSync(join(home, own(client)), 'utf8')).toBe(installed);
    expect((await agents(`uninstall ${client} --scope user`)).code).toBe(0);
    expect(snapshot()).toEqual(before);
  });

  it.each([
    [
      'claude-code',
      '{\n    "model": "opus", "hooks": {"PreToolUse": [{"matcher": "Bash",\n  "hooks": []}]}}',
    ],
    ['codex', '# mine\nmodel = "gpt-5.5" # no newline at the end\n[[hooks.PreToolUse]]\nmatcher = "x"'],
    ['gemini', '{"hooks":{"enabled":true},"theme":"dark"}\n'],
    ['cursor', '{"version":1,"hooks":{"stop":[{"command":"say done"}]}}'],
  ] as const)(
    'gov agents install %s keeps what the user has, and gives the same bytes back',
    async (client, text) => {
      const path = write(own(client), text, 0o640);
      chmodSync(path, 0o640);
      const before = snapshot();
      await agents(`install ${client} --scope user`);
      const now = readFileSync(path, 'utf8');
      for (const word of text.match(/[a-z0-9.-]{3,}/g) ?? []) expect(now).toContain(word);
      await agents(`uninstall ${client} --scope user`);
      expect(snapshot()).toMatchObject(before);
      expect(readFileSync(path, 'utf8')).toBe(text);
    },
  );

  it.each([
    ['files that are a text', { files: 'x' }],
    ['a file without its bytes', { files: { '/tmp/x': { mode: 420, madeFolder: null, written: 'a' } } }],
    [
      'a mode beyond 0777',
      { files: { '/tmp/x': { before: '', mode: 512, madeFolder: null, written: 'a' } } },
    ],
    ['a key that is a number', { files: {}, keyId: 1 }],
  ])('gov agents changes nothing if its record has %s', async (_, record) => {
    write('.claude/settings.json', '{}');
    write('.config/gov/agents-installed.json', JSON.stringify(record));
    const before = snapshot();
    for (const verb of ['install', 'uninstall']) {
      const { code, stderr } = await agents(`${verb} claude-code --scope user`);
      expect(code).toBe(2);
      expect(stderr).toContain('expected the files that gov agents install changed');
    }
    expect(snapshot()).toEqual(before);
  });

  it('gov agents uninstall removes only its own settings from a file that was changed since', async () => {
    const claude = write(own('claude-code'), '{"env":{"MINE":"1"}}');
    const codex = write(own('codex'), 'model = "a"\n');
    await agents('install claude-code --scope user');
    await agents('install codex --scope user');
    const settings = JSON.parse(readFileSync(claude, 'utf8'));
    settings.hooks.Stop.push({ hooks: [{ type: 'command', command: 'say done' }] });
    writeFileSync(claude, JSON.stringify({ ...settings, model: 'opus' }));
    writeFileSync(codex, `${readFileSync(codex, 'utf8')}[tui]\ntheme = "x"\n`);
    await agents('uninstall --scope user');
    expect(JSON.parse(readFileSync(claude, 'utf8'))).toEqual({
      env: { MINE: '1' },
      model: 'opus',
      hooks: { Stop: [{ hooks: [{ type: 'command', command: 'say done' }] }] },
    });
    expect(readFileSync(codex, 'utf8')).toBe('model = "a"\n[tui]\ntheme = "x"\n');
  });

  it.each([
    ['claude-code', '{"model": "opus", // a comment\n}'],
    ['claude-code', '[]'],
    ['claude-code', '{"hooks": []}'],
    ['codex', 'model = '],
    ['codex', 'hooks = { PreToolUse = [] }\n'],
    ['cursor', '{"hooks":{"stop":{}}}'],
  ] as const)(
    'gov agents install and uninstall %s leave a file alone that they cannot edit: %s',
    async (client, text) => {
      const path = write(own(client), text);
      const before = snapshot();
      const { code, stderr } = await agents(`install ${client} --scope user`);
      expect(code).toBe(2);
      expect(stderr).toContain(path);
      expect(stderr).toContain('was not changed');
      expect(snapshot()).toEqual(before);
      await agents(`uninstall ${client} --scope user`);
      expect(readFileSync(path, 'utf8')).toBe(text);
    },
  );

  it('gov agents install --dry-run shows a diff and changes nothing', async () => {
    write(own('claude-code'), '{"model":"opus"}\n');
    const before = snapshot();
    const { code, stdout } = await agents('install claude-code --scope user --dry-run');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^--- .*settings\.json\n\+\+\+ /);
    expect(stdout).toMatch(/\+ +"onFailure": "block"/);
    expect(stdout).not.toContain(plane.key);
    expect(snapshot()).toEqual(before);
  });

  it('gov agents install takes the clients on PATH, and refuses versions that let calls run', async () => {
    expect(await agents('install --scope user')).toMatchObject({ code: 5 });
    program('claude', '2.1.294');
    const old = await agents('install --scope user');
    expect(old).toMatchObject({ code: 2, stderr: expect.stringContaining('2.1.295 or newer, got 2.1.294') });
    expect(existsSync(join(home, own('claude-code')))).toBe(false);
    program('claude', '2.1.295');
    expect((await agents('install --scope user')).code).toBe(0);
    expect(existsSync(join(home, own('claude-code')))).toBe(true);
    expect(existsSync(join(home, own('codex')))).toBe(false);
    expect((await agents('install emacs')).code).toBe(2);
    program('codex', '0.171.0'); // it says nothing of its hooks
    expect((await agents('install codex --scope user')).stderr).toContain(
      'Codex did not say whether it trusts the hooks',
    );
  });

  it('gov agents install writes a key only into files of their owner', async () => {
    const keyFile = write('narrow.key', `${plane.keys['agent']}\n`, 0o600);
    write(own('codex'), 'model = "a"\n');
    await agents(`install codex --scope user --key-file ${keyFile}`);
    const text = readFileSync(join(home, own('codex')), 'utf8');
    expect(text).toContain(`${plane.origin}/v1/logs`);
    expect(text).toContain(`Bearer ${plane.keys['agent']}`);
    expect(statSync(join(home, own('codex'))).mode & 0o777).toBe(0o600);
    await agents(`install claude-code --scope user --key-file ${keyFile}`);
    expect(JSON.parse(readFileSync(join(home, own('claude-code')), 'utf8')).env).toMatchObject({
      OTEL_EXPORTER_OTLP_ENDPOINT: plane.origin,
      OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer ${plane.keys['agent']}`,
    });
    await agents('uninstall codex --scope user');
    expect(statSync(join(home, own('codex'))).mode & 0o777).toBe(0o644);
    await agents(`install codex --scope user --key-file ${keyFile} --without-telemetry`);
    expect(readFileSync(join(home, own('codex')), 'utf8')).not.toContain('otel');
  });

  it('gov agents install keeps Codex from typing into terminals, unless the user has features of their own', async () => {
    await agents('install codex --scope user');
    expect(readFileSync(join(home, own('codex')), 'utf8')).toContain(
      '[features]\nunified_exec_tty = false\n',
    );
    await agents('uninstall codex --scope user');
    write(own('codex'), '[features]\nweb_search = true\n');
    await agents('install codex --scope user');
    expect(readFileSync(join(home, own('codex')), 'utf8').match(/\[features\]/g)).toHaveLength(1);
    const { stdout } = await agents('doctor codex -o json');
    expect(stdout).toContain('config.toml: features.unified_exec_tty is not false');
  });

  it('gov agents install leaves an OpenTelemetry endpoint of the user alone', async () => {
    write(own('claude-code'), '{"env":{"OTEL_EXPORTER_OTLP_ENDPOINT":"http://mine"}}');
    write(own('codex'), '[otel]\nenvironment = "mine"\n');
    await agents('install claude-code --scope user');
    await agents('install codex --scope user');
    expect(JSON.parse(readFileSync(join(home, own('claude-code')), 'utf8')).env).toEqual({
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://mine',
    });
    expect(readFileSync(join(home, own('codex')), 'utf8').match(/\[otel\]/g)).toHaveLength(1);
  });
});

describe('files of the administrator', () => {
  const wanted: HookSettings = {
    node: '/n',
    entry: '/gov.cjs',
    config: '/etc/gov/agents.json',
    hold: 0,
    telemetry: null,
    lockedPath: null,
    wrapped: [],
    sandbox: null,
  };
  const edits = (client: AgentClient) => {
    const place: SetupTarget = { env: {}, etc: join(home, 'etc'), scope: 'managed' };
    return setups.filter((each) => each.client === client).flatMap((each) => [...each.edits(place, wanted)]);
  };
  const none = { files: {}, keyId: null };

  it.each(agentClients)('the files of the administrator for %s are made and removed', (client) => {
    const changes = plannedInstall(edits(client), none);
    for (const { path } of changes) expect(path.startsWith(join(home, 'etc'))).toBe(true);
    install(changes, home, null);
    const lines = edits(client).flatMap(({ path, look }) => look(readFileSync(path, 'utf8')).lines);
    expect(lines).toHaveLength(1);
    uninstall(plannedUninstall(edits(client), none), home);
    expect(readdirSync(home)).toEqual([]);
  });

  it('the files of the administrator allow no other hooks', () => {
    const [claude] = plannedInstall(edits('claude-code'), none);
    expect(JSON.parse(claude?.after ?? '')).toMatchObject({ allowManagedHooksOnly: true });
    const [codex] = plannedInstall(edits('codex'), none);
    expect(codex?.after).toMatch(/^allow_managed_hooks_only = true$/m);
    expect(edits('codex')[0]?.look(codex?.after ?? '').holes).toEqual([]);
    expect(edits('claude-code')[0]?.look(claude?.after ?? '').holes).toEqual([]);
  });

  it('the administrator’s opencode.json names the plugin, which OpenCode does not look for there', () => {
    const path = write('etc/opencode/opencode.json', '{"plugin":["mine"]}\n');
    const [entry] = edits('opencode');
    expect(entry?.look(readFileSync(path, 'utf8')).holes).toEqual([
      expect.stringContaining('opencode.json does not name the plugin'),
    ]);
    const after = entry?.add('{"plugin":["mine"]}\n', null) ?? '';
    const plugin = `file://${join(home, 'etc/opencode/plugins/gov.js')}`;
    expect(JSON.parse(after)).toEqual({ plugin: ['mine', plugin] });
    expect(entry?.look(after).holes).toEqual([]);
    expect(JSON.parse(entry?.remove(after) ?? '')).toEqual({ plugin: ['mine'] });
    expect(() => entry?.add('{"plugin":"mine"}', null)).toThrow(/plugin to be a list/);
  });

  it('requirements that switch other hooks on are left alone', () => {
    write('etc/codex/requirements.toml', 'allow_managed_hooks_only = false\n');
    expect(() => plannedInstall(edits('codex'), none)).toThrow(/got false; the file was not changed/);
  });
});
