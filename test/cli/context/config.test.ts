import { chmodSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readProjectConfig, readSecret, readUserConfig } from '../../../src/cli/context/config.ts';
import { updateUserConfig } from '../../../src/cli/context/config-write.ts';
import type { Role } from '../../../src/cli/context/place.ts';
import { Session } from '../../../src/cli/context/session.ts';
import { resolveSettings } from '../../../src/cli/context/settings.ts';
import type { GivenFlags } from '../../../src/cli/context/settings.ts';
import { emptyDirectory, govHere } from '../support/tool.ts';

const key = (fill: string): string => `gov_live_${fill.repeat(38)}`;
const secret = (path: string, text: string): string => {
  writeFileSync(path, `${text}\n`, { mode: 0o600 });
  return path;
};

/** A user with two planes and a service, the first plane current. */
function setUp() {
  const root = emptyDirectory();
  const plane = join(root, 'plane');
  const other = join(root, 'other');
  for (const [dataDir, port] of [
    [plane, 7460],
    [other, 7560],
  ] as const) {
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'plane.json'), JSON.stringify({ listen: `127.0.0.1:${port}` }));
    secret(join(dataDir, 'local.key'), key(dataDir === plane ? 'p' : 'o'));
    writeFileSync(join(dataDir, 'trust'), '# keys\n');
  }
  const apiKeyFile = secret(join(root, 'service.key'), key('s'));
  const contexts = {
    local: { kind: 'plane', dataDir: plane },
    second: { kind: 'plane', dataDir: other },
    cloud: { kind: 'service', baseUrl: 'https://gov.example.test/api/v1', apiKeyFile },
  };
  mkdirSync(join(root, 'config'));
  writeFileSync(join(root, 'config', 'config.json'), JSON.stringify({ currentContext: 'local', contexts }));
  const env = { GOV_CONFIG_DIR: join(root, 'config'), HOME: root };
  const session = (flags: GivenFlags = {}, more: Record<string, string> = {}, role: Role = 'operator') => {
    const stream = { isTTY: false } as never;
    const io = {
      stdin: stream,
      stdout: stream,
      stderr: stream,
      env: { ...env, ...more },
      cwd: root,
      now: Date.now,
    };
    const settings = resolveSettings(flags, io);
    const quiet = { signal: new AbortController().signal, observe: () => {}, warn: () => {} };
    return { session: new Session({ settings, io, role, ...quiet }), settings };
  };
  return { root, plane, env, session };
}

describe('the address', () => {
  it('the address of a plane that does not serve comes from plane.json, also with a byte order mark', () => {
    const { plane, session } = setUp();
    writeFileSync(join(plane, 'plane.json'), '\ufeff{\r\n"listen": "127.0.0.1:7999"\r\n}');
    expect(session().session.baseUrl().value).toBe('http://127.0.0.1:7999/api/v1');
  });

  it('the address comes from the flag, then the environment, then the context', () => {
    const { session } = setUp();
    const address = (...given: Parameters<typeof session>) => session(...given).session.baseUrl().value;
    expect(address()).toBe('http://127.0.0.1:7460/api/v1');
    expect(address({ context: 'second' })).toBe('http://127.0.0.1:7560/api/v1');
    expect(address({}, { GOV_CONTEXT: 'cloud' })).toBe('https://gov.example.test/api/v1');
    expect(address({ context: 'second' }, { GOV_CONTEXT: 'cloud' })).toBe('http://127.0.0.1:7560/api/v1');
    expect(address({}, { GOV_BASE_URL: 'http://127.0.0.1:1/x' })).toBe('http://127.0.0.1:1/x');
    expect(address({ baseUrl: 'http://127.0.0.1:2' }, { GOV_BASE_URL: 'http://127.0.0.1:1' })).toBe(
      'http://127.0.0.1:2/api/v1',
    );
  });

  it('the address of a plane is where it serves now, otherwise its configured address', () => {
    const { session, plane } = setUp();
    writeFileSync(join(plane, 'run.json'), JSON.stringify({ baseUrl: 'http://127.0.0.1:9999/api/v1' }));
    expect(session().session.baseUrl()).toEqual({
      value: 'http://127.0.0.1:9999/api/v1',
      from: 'context local (run.json)',
    });
  });

  it('--help works where the configuration file is broken, and every other command names the file', async () => {
    const folder = emptyDirectory();
    writeFileSync(join(folder, 'config.json'), '{');
    const here = (...argv: string[]) => govHere(argv, { env: { GOV_CONFIG_DIR: folder } });
    for (const argv of [['--help'], ['config', '--help']]) expect((await here(...argv)).code).toBe(0);
    const { code, stderr } = await here('config', 'list');
    expect([code, stderr]).toEqual([2, expect.stringContaining(join(folder, 'config.json'))]);
  });

  it('an invalid address is refused with what to do', () => {
    const { session } = setUp();
    expect(() => session({ baseUrl: 'localhost:80' }).session.baseUrl()).toThrow(/expected an address/);
    expect(() => session({ context: 'nope' }).session.baseUrl()).toThrow(
      /expected the name of a context, got "nope"; contexts: local/,
    );
  });
});

describe('the credential', () => {
  it('the credential comes from GOV_API_KEY, then a file, then systemd, then the context', () => {
    const { session, root } = setUp();
    const file = secret(join(root, 'k1'), key('f'));
    mkdirSync(join(root, 'systemd'));
    secret(join(root, 'systemd', 'gov-api-key'), key('d'));
    const sources: Record<string, string> = {
      GOV_API_KEY: key('e'),
      GOV_API_KEY_FILE: file,
      CREDENTIALS_DIRECTORY: join(root, 'systemd'),
    };
    const order = ['e', 'f', 'd', 'p'];
    for (const [at, fill] of order.entries()) {
      const left = Object.fromEntries(Object.entries(sources).slice(at));
      expect(session({}, left).session.apiKey()?.value).toBe(key(fill));
    }
  });

  it('a proxy takes the key of agents of a plane in place of a run token, because it pins in another run', () => {
    const { session, plane } = setUp();
    secret(join(plane, 'agent.key'), key('a'));
    const token = { GOV_API_KEY: 'gov_run_key_x.y.z' };
    expect(session({}, token, 'agent').session.apiKey()?.value).toBe(key('a'));
    expect(session({}, token).session.apiKey()?.value).toBe('gov_run_key_x.y.z');
    expect(session({ context: 'cloud' }, token, 'agent').session.apiKey()?.value).toBe('gov_run_key_x.y.z');
  });

  it('the credential of a context goes only to the address of that context', () => {
    const { session } = setUp();
    expect(session({ baseUrl: 'http://127.0.0.1:7460/other' }).session.apiKey()?.value).toBe(key('p'));
    expect(session({ baseUrl: 'https://evil.example.test' }).session.apiKey()).toBeNull();
    expect(session({}, { GOV_BASE_URL: 'http://127.0.0.1:7461' }).session.apiKey()).toBeNull();
    expect(
      session({ baseUrl: 'https://evil.example.test' }, { GOV_API_KEY: key('e') }).session.apiKey()?.value,
    ).toBe(key('e'));
  });

  it('a credential in a file that every user can read is refused', () => {
    const { session, plane } = setUp();
    for (const mode of [0o644, 0o604, 0o602]) {
      chmodSync(join(plane, 'local.key'), mode);
      expect(() => session().session.apiKey()).toThrow(/every user can read/);
    }
    for (const mode of [0o600, 0o400, 0o640]) {
      chmodSync(join(plane, 'local.key'), mode);
      expect(session().session.apiKey()?.value).toBe(key('p'));
    }
  });

  it('a credential is read from files that an editor on Windows wrote', () => {
    const { env } = setUp();
    const path = join(env.GOV_CONFIG_DIR, 'config.json');
    const before = readUserConfig(env);
    writeFileSync(path, `\ufeff${JSON.stringify(before, null, 2).replaceAll('\n', '\r\n')}`);
    expect(readUserConfig(env)).toEqual(before);
    const file = secret(join(env.HOME, 'windows.key'), `\ufeff${key('w')}\r`);
    expect(readSecret(file)).toBe(key('w'));
  });

  it('a credential file has exactly one line', () => {
    const path = secret(join(emptyDirectory(), 'k'), 'two words');
    expect(() => readSecret(path)).toThrow(/expected one line with a key/);
    expect(() => readSecret(join(emptyDirectory(), 'absent'))).toThrow(/the file does not exist/);
  });

  it('a credential never appears in any output', async () => {
    const { env } = setUp();
    for (const argv of [
      ['context', 'show'],
      ['context', 'show', '-o', 'json'],
      ['context', 'list'],
      ['health', '--debug=http'],
    ]) {
      const { stdout, stderr } = await govHere(argv, { env: { ...env, GOV_RETRIES: '0' } });
      expect(stdout + stderr).not.toContain('pppp'.repeat(3));
    }
  });

  it('a credential for an unencrypted remote address causes a warning', async () => {
    const { env } = setUp();
    const argv = ['health', '--base-url', 'http://gov.invalid/api/v1', '--retries', '0'];
    const { stderr, code } = await govHere(argv, { env: { ...env, GOV_API_KEY: key('e') } });
    expect(stderr).toContain('warning: the credential is sent unencrypted to gov.invalid');
    expect(code).toBe(10);
  });
});

describe('settings', () => {
  const at = (flags: GivenFlags, env: Record<string, string>, project?: object) => {
    const cwd = emptyDirectory();
    if (project !== undefined) writeFileSync(join(cwd, '.gov.json'), JSON.stringify(project));
    const stream = { isTTY: false } as never;
    mkdirSync(join(cwd, 'below'));
    return resolveSettings(flags, {
      stdin: stream,
      stdout: stream,
      stderr: stream,
      // without these, the settings of the developer who runs the tests would apply
      env: { GOV_CONFIG_DIR: cwd, GOV_SYSTEM_CONFIG: join(cwd, 'system.json'), ...env },
      cwd: join(cwd, 'below'),
      now: Date.now,
    });
  };

  it('the output settings come from flag, environment, project file, then default', () => {
    const all = [{ output: 'json' }, { GOV_OUTPUT: 'yaml' }, { output: 'csv' }] as const;
    expect(at(all[0], all[1], all[2])).toMatchObject({ format: 'json', formatFrom: 'flag' });
    expect(at({}, all[1], all[2])).toMatchObject({ format: 'yaml', formatFrom: 'environment' });
    expect(at({}, {}, all[2])).toMatchObject({ format: 'csv', formatFrom: 'project file' });
    expect(at({}, {})).toMatchObject({ format: 'table', formatFrom: 'default' });
  });

  it('the numeric settings are checked wherever they come from', () => {
    expect(at({ timeout: '5s', retries: '0' }, { GOV_TIMEOUT: '9s' })).toMatchObject({
      timeoutMs: 5000,
      retries: 0,
    });
    expect(at({}, { GOV_TIMEOUT: '2m', GOV_RETRIES: '7' })).toMatchObject({ timeoutMs: 120_000, retries: 7 });
    expect(() => at({}, { GOV_RETRIES: 'many' })).toThrow(
      /GOV_RETRIES: expected a whole number from 0 to 20/,
    );
    expect(() => at({ timeout: '0' }, {})).toThrow(/--timeout: expected a time/);
  });

  it('the output settings refuse unknown formats and name the known ones', () => {
    for (const output of ['sarif', 'junit', 'github', 'xml']) {
      expect(() => at({ output }, {})).toThrow(
        `--output: expected one of table, wide, json, ndjson, yaml, csv, id, got "${output}"`,
      );
    }
    expect(() => at({}, { GOV_OUTPUT: 'sarif' })).toThrow(/GOV_OUTPUT: expected one of table/);
  });

  it.each([
    [{}, {}, false],
    [{}, { FORCE_COLOR: '1' }, true],
    [{}, { CLICOLOR_FORCE: '1' }, true],
    [{}, { FORCE_COLOR: '0', GOV_FORCE_TTY: '80' }, false],
    [{}, { NO_COLOR: '1', FORCE_COLOR: '1' }, false],
    [{}, { NO_COLOR: '', FORCE_COLOR: '1' }, true],
    [{}, { GOV_FORCE_TTY: '80' }, true],
    [{}, { GOV_FORCE_TTY: '80', TERM: 'dumb' }, false],
    [{}, { GOV_FORCE_TTY: '80', CLICOLOR: '0' }, false],
    [{ color: 'always' }, { NO_COLOR: '1' }, true],
    [{ color: 'never' }, { FORCE_COLOR: '1' }, false],
  ])('the colour setting with flags %j and environment %j is %s', (flags, env, expected) => {
    expect(at(flags, env).color).toBe(expected);
  });
});

describe('a project file', () => {
  it.each([
    'baseUrl',
    'base_url',
    'cacert',
    'caFile',
    'apiKey',
    'apiKeyFile',
    'context',
    'currentContext',
    'hooks',
  ])('a project file that sets %s is refused, with the reason and the file', async (member) => {
    const cwd = emptyDirectory();
    writeFileSync(join(cwd, '.gov.json'), JSON.stringify({ [member]: 'x' }));
    const { code, stderr } = await govHere(['context', 'list'], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain(`${cwd}/.gov.json: expected output, project and env only, got "${member}"`);
  });

  it('the project file is the nearest one upward', () => {
    const cwd = emptyDirectory();
    mkdirSync(join(cwd, 'a', 'b'), { recursive: true });
    writeFileSync(join(cwd, '.gov.json'), '{"output":"json"}');
    expect(readProjectConfig(join(cwd, 'a', 'b'))).toMatchObject({ output: 'json' });
    writeFileSync(join(cwd, 'a', '.gov.json'), '{"output":"id"}');
    expect(readProjectConfig(join(cwd, 'a', 'b'))).toMatchObject({ output: 'id' });
  });

  it('a project file that is not JSON or has a wrong type is refused by name', () => {
    const cwd = emptyDirectory();
    for (const text of ['{', '[]', '{"output":1}', '{"output":"xml"}']) {
      writeFileSync(join(cwd, '.gov.json'), text);
      expect(() => readProjectConfig(cwd)).toThrow(/\.gov\.json: expected/);
    }
  });
});

describe('contexts', () => {
  it('gov context lists, selects and stores contexts', async () => {
    const { env } = setUp();
    expect((await govHere(['context', 'use', 'cloud'], { env })).code).toBe(0);
    const { stdout } = await govHere(['context', 'list', '-o', 'json'], { env });
    expect(JSON.parse(stdout)).toMatchObject({
      contexts: [
        { name: 'local', current: false, kind: 'plane' },
        { name: 'second', current: false },
        { name: 'cloud', current: true, place: 'https://gov.example.test/api/v1' },
      ],
    });
    const unknown = await govHere(['context', 'use', 'nope'], { env });
    expect(unknown).toMatchObject({
      code: 5,
      stderr: expect.stringContaining('contexts: local, second, cloud'),
    });
  });

  it('the file of contexts is readable by this user only', async () => {
    const root = emptyDirectory();
    const env = { GOV_CONFIG_DIR: join(root, 'new') };
    await updateUserConfig(env, () => ({
      currentContext: 'x',
      contexts: { x: { kind: 'plane', dataDir: '/x' } },
    }));
    expect(statSync(join(root, 'new', 'config.json')).mode & 0o777).toBe(0o600);
    expect(statSync(join(root, 'new')).mode & 0o777).toBe(0o700);
    expect(readUserConfig(env).currentContext).toBe('x');
  });

  it('a file of contexts that cannot be read is refused by name', () => {
    const { env } = setUp();
    for (const text of [
      '{',
      '{"contexts":{"x":{"kind":"plane"}}}',
      '{"contexts":[]}',
      '{"contexts":{"x":{"kind":"odd"}}}',
    ]) {
      writeFileSync(join(env.GOV_CONFIG_DIR, 'config.json'), text);
      expect(() => readUserConfig(env)).toThrow(/config\.json: expected/);
    }
  });
});
