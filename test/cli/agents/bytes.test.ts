import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  install,
  plannedInstall,
  plannedUninstall,
  readInstalled,
  uninstall,
} from '../../../src/cli/agents/install.ts';
import { setups } from '../../../src/cli/agents/setup/all.ts';
import { nothing, scopes, type HookSettings, type Scope } from '../../../src/cli/agents/setup/edit.ts';
import { lockedPath } from '../../../src/cli/agents/target.ts';
import type { AgentClient } from '../../../src/core/agents/clients.ts';
import { startPlane, type TestPlane } from '../../support/serving.ts';
import { emptyDirectory, gov } from '../support/tool.ts';

const wanted: HookSettings = {
  ...nothing,
  node: '/n/é',
  entry: '/gov.cjs',
  config: '/c.json',
  lockedPath: '/usr/bin',
  wrapped: (['claude-code', 'codex'] as const).map((client) => ({
    client,
    name: 'x',
    words: ['/gov', 'mcp', 'proxy', '--name', 'x', '--', 'y'],
  })),
};
let root = '';
beforeEach(() => {
  root = emptyDirectory();
});

const editsOf = (scope: Scope, clients?: readonly AgentClient[]) =>
  setups
    .filter(({ client }) => clients?.includes(client) ?? true)
    .flatMap((setup) => [
      ...setup.edits({ env: { HOME: join(root, 'home') }, etc: join(root, 'etc'), scope }, wanted),
    ]);
const put = (path: string, bytes: string | Buffer, mode = 0o644): void => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, bytes);
  chmodSync(path, mode);
};
const folder = (): string => join(root, 'state');
const added = (scope: Scope, clients?: readonly AgentClient[]): void =>
  install(plannedInstall(editsOf(scope, clients), readInstalled(folder())), folder(), null);
const removed = (scope: Scope, clients?: readonly AgentClient[]): void => {
  const changes = plannedUninstall(editsOf(scope, clients), readInstalled(folder()));
  uninstall(
    changes.filter(({ before }) => before !== null),
    folder(),
  );
};
/** Every file and link below the folder with its mode and its bytes. */
const snapshot = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((path) => !path.startsWith(folder()))
      .map((path) => {
        const found = lstatSync(path);
        if (found.isSymbolicLink()) return [path, `link ${readlinkSync(path)}`];
        const content = found.isFile() ? readFileSync(path).toString('hex') : '';
        return [path, `${(found.mode & 0o777).toString(8)} ${content}`];
      }),
  );

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1');
const jsonForms: Record<string, string | Buffer> = {
  plain: '{\n  "theme": "dark"\n}\n',
  'one line': '{"theme":"dark"}',
  tabs: '{\n\t"theme": "dark",\n\t"env": {\n\t\t"A": "1"\n\t}\n}\n',
  'CR LF': '{\r\n    "theme": "dark"\r\n}\r\n',
  'a byte order mark': '\ufeff{\n  "theme": "dark"\n}\n',
  'Latin-1': latin1('{\n  "x": "caf\u00e9",\n  "theme": "dark"\n}\n'),
  'no final newline': '{\n  "theme": "dark"\n}',
  'other hooks': '{"hooks": {"PreToolUse": [ {"matcher": "x", "hooks": []} ]}, "theme": "dark"}\n',
};
const commented: Record<string, string> = {
  comments: '// mine\n{\n  /* a */ "theme": "dark", // b\n  // c\n}\n',
  'trailing commas': '{\n  "theme": "dark",\n}\n',
};
const tomlForms: Record<string, string> = {
  plain: 'theme = "dark" # mine\n',
  'CR LF': 'theme = "dark"\r\n[tui]\r\nx = 1\r\n',
  'a byte order mark': '\ufefftheme = "dark"\n',
  'no final newline': 'theme = "dark"',
  tabs: '[tui]\n\ttheme = "dark"\n',
};

/** The first settings file of a client, which people edit. */
const settingsOf = (client: AgentClient, scope: Scope): string => editsOf(scope, [client])[0]?.path ?? '';
const cases = scopes.flatMap((scope) => [
  ...(['claude-code', 'cursor', 'gemini'] as const).flatMap((client) =>
    Object.entries(jsonForms).map(([form, text]) => ({ scope, client, form, text })),
  ),
  ...Object.entries(commented).map(([form, text]) => ({ scope, client: 'gemini' as const, form, text })),
  ...Object.entries(tomlForms).map(([form, text]) => ({ scope, client: 'codex' as const, form, text })),
]);
const opencode = Object.entries({ ...jsonForms, ...commented }).map(([form, text]) => ({
  scope: 'managed' as const,
  client: 'opencode' as const,
  form,
  text,
}));

describe('every byte of a settings file comes back', () => {
  it.each([...cases, ...opencode])(
    'of $client, scope $scope, with $form',
    ({ scope, client, form, text }) => {
      const path = settingsOf(client, scope);
      put(path, text, 0o640);
      const before = snapshot();
      added(scope, [client]);
      expect(readFileSync(path).equals(Buffer.from(text))).toBe(false);
      expect(
        editsOf(scope, [client]).flatMap((edit) => edit.look(readFileSync(edit.path, 'utf8')).lines),
      ).toHaveLength(1);
      const installed = snapshot();
      added(scope, [client]);
      expect(snapshot()).toEqual(installed);
      // the user changes another part meanwhile: only ours goes
      const encoding = form === 'Latin-1' ? 'latin1' : 'utf8';
      const changed = (bytes: Buffer): Buffer =>
        Buffer.from(bytes.toString(encoding).replace('"dark"', '"light, \u00e9"'), encoding);
      const isUtf8 = client === 'codex';
      removed(scope, [client]);
      expect(snapshot()).toEqual(before);
      if (isUtf8) return;
      added(scope, [client]);
      writeFileSync(path, changed(readFileSync(path)));
      removed(scope, [client]);
      expect(readFileSync(path).toString(encoding)).toBe(changed(Buffer.from(text)).toString(encoding));
    },
  );

  it.each(Object.entries(tomlForms))('of Codex with %s, also after another edit', (_, text) => {
    const path = settingsOf('codex', 'user');
    put(path, text);
    added('user', ['codex']);
    writeFileSync(path, readFileSync(path, 'utf8').replace('"dark"', '"light"'));
    removed('user', ['codex']);
    expect(readFileSync(path, 'utf8')).toBe(text.replace('"dark"', '"light"'));
  });

  it.each(scopes)('of all clients together, scope %s, and of files that were not there', (scope) => {
    put(settingsOf('gemini', scope), jsonForms['tabs'] ?? '');
    const before = snapshot();
    added(scope);
    expect(Object.keys(snapshot()).length).toBeGreaterThan(Object.keys(before).length);
    removed(scope);
    expect(snapshot()).toEqual(before);
  });

  it.each(['a file', 'no file yet'])('a symbolic link to %s stays, and its file is edited', (what) => {
    const path = settingsOf('claude-code', 'user');
    const target = join(root, 'dotfiles/claude.json');
    mkdirSync(dirname(path), { recursive: true });
    mkdirSync(dirname(target));
    if (what === 'a file') put(target, '{"theme":"dark"}');
    symlinkSync('../../dotfiles/link.json', path);
    symlinkSync('claude.json', join(root, 'dotfiles/link.json'));
    const before = snapshot();
    added('user', ['claude-code']);
    expect(lstatSync(path).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, 'utf8')).toContain('hook claude-code');
    removed('user', ['claude-code']);
    expect(snapshot()).toEqual(before);
  });

  it('a file that its user may only read keeps its mode', () => {
    const path = settingsOf('claude-code', 'user');
    put(path, '{}', 0o400);
    const before = snapshot();
    added('user', ['claude-code']);
    expect(statSync(path).mode & 0o777).toBe(0o400);
    removed('user', ['claude-code']);
    expect(snapshot()).toEqual(before);
  });

  it('links that lead in a circle are named', () => {
    const path = settingsOf('claude-code', 'user');
    mkdirSync(dirname(path), { recursive: true });
    symlinkSync('settings.json', path);
    expect(() => added('user', ['claude-code'])).toThrow('expected at most 40 links');
  });

  it('what an administrator had in the settings stays theirs', () => {
    const path = settingsOf('claude-code', 'managed');
    const own =
      '{"apiKeyHelper":"/own","allowManagedHooksOnly":true,"disableSkillShellExecution":false,"env":{"PATH":"/own"}}';
    put(path, own);
    added('managed', ['claude-code']);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({
      apiKeyHelper: '/own',
      disableSkillShellExecution: true,
      allowedMcpServers: [{ serverCommand: ['/gov', 'mcp', 'proxy', '--name', 'x', '--', 'y'] }],
    });
    writeFileSync(path, `${readFileSync(path, 'utf8')}\n`);
    removed('managed', ['claude-code']);
    expect(readFileSync(path, 'utf8')).toBe(`${own}\n`);
  });
});

describe('the locked PATH', () => {
  it('has the folders of PATH that root alone can write', () => {
    const open = join(root, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    expect(lockedPath({ PATH: `${open}:relative:/usr/bin:/bin` })).toBe('/usr/bin:/bin');
    expect(() => lockedPath({ PATH: open })).toThrow('expected a folder on PATH that root alone can write');
  });
});

describe('one file that cannot be edited', () => {
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await startPlane();
  });
  afterAll(() => plane.end());
  const agents = (line: string) =>
    gov(['agents', ...line.split(' ')], {
      env: {
        HOME: root,
        GOV_CONFIG_DIR: join(root, '.config/gov'),
        PATH: `${join(root, 'bin')}:/usr/bin:/bin`,
        GOV_BASE_URL: plane.baseUrl,
        GOV_API_KEY: plane.key,
      },
    });

  it('stops no other client: install and uninstall name it, and end with 9', async () => {
    for (const name of ['claude', 'gemini', 'opencode'])
      put(join(root, 'bin', name), `#!/bin/sh\necho 9.9.9\n`, 0o755);
    const odd = join(root, '.claude/settings.json');
    put(odd, '{"model": "opus", // mine\n}');
    const before = snapshot();
    const installed = await agents('install --scope user');
    expect(installed.code).toBe(9);
    expect(installed.stderr).toContain(`Claude Code was left alone: ${odd}: expected JSON without comments`);
    expect(readFileSync(join(root, '.gemini/settings.json'), 'utf8')).toContain('hook gemini');
    const doctor = await agents('doctor claude-code -o json');
    expect(JSON.parse(doctor.stdout).clients[0].problems).toContainEqual(
      expect.stringContaining('because the client ignores'),
    );
    const undone = await agents('uninstall --scope user');
    expect({ code: undone.code, stderr: undone.stderr }).toMatchObject({
      code: 9,
      stderr: expect.stringContaining('Claude Code was left alone'),
    });
    put(odd, '{}');
    expect((await agents('uninstall --scope user')).code).toBe(0);
    put(odd, '{"model": "opus", // mine\n}');
    const ours = /\.config|\.cache/;
    const of = (files: Record<string, string>) => Object.entries(files).filter(([path]) => !ours.test(path));
    expect(of(snapshot())).toEqual(of(before));
    expect(readdirSync(join(root, '.config/gov'))).toEqual([]);
  });
});
