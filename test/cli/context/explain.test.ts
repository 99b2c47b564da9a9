import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyDirectory, govHere } from '../support/tool.ts';

const home = emptyDirectory();
const config = join(home, 'config');
const system = join(home, 'system.json');
const file = join(config, 'config.json');
const env = { GOV_CONFIG_DIR: config, GOV_SYSTEM_CONFIG: system, HOME: home };
const gov = (words: readonly string[], more: Record<string, string> = {}) =>
  govHere([...words], { env: { ...env, ...more }, cwd: home });

describe('gov config', () => {
  it('a stored setting applies to later commands, and contexts stay', async () => {
    mkdirSync(config);
    const contexts = { local: { kind: 'plane', dataDir: '/var/lib/gov' } };
    writeFileSync(file, JSON.stringify({ currentContext: 'local', contexts }));
    expect(await gov(['config', 'set', 'output', 'json'])).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({
      currentContext: 'local',
      contexts,
      settings: { output: 'json' },
    });
    expect(JSON.parse((await gov(['context', 'list'])).stdout)).toMatchObject({
      contexts: [{ name: 'local' }],
    });
  });

  it('a change of a context keeps the settings', async () => {
    expect(await gov(['context', 'set', 'other', '--base-url', 'http://127.0.0.1:1'])).toMatchObject({
      code: 0,
    });
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ settings: { output: 'json' } });
  });

  it('explain lists every source of a setting, the one in use first', async () => {
    writeFileSync(system, JSON.stringify({ settings: { output: 'yaml', retries: '7' } }));
    writeFileSync(join(home, '.gov.json'), '{\n  "output": "csv"\n}\n');
    const { stdout } = await gov(['config', 'explain', 'output', '-o', 'json'], { GOV_OUTPUT: 'wide' });
    const sources = JSON.parse(stdout).sources.map(({ value, from }: { value: string; from: string }) => [
      value,
      from.replace(home, ''),
    ]);
    expect(sources).toEqual([
      ['json', '--output'],
      ['wide', 'GOV_OUTPUT'],
      ['csv', '/.gov.json:2'],
      ['json', expect.stringMatching(/^\/config\/config\.json:\d+$/)],
      ['yaml', '/system.json:1'],
      ['table, or tab-separated values into a pipe', 'default'],
    ]);
  });

  it('list shows the source in use of each setting', async () => {
    const { stdout } = await gov(['config', 'list', '-o', 'csv']);
    expect(stdout).toMatch(/^retries,7,.*system\.json:1,\r?$/m);
    expect(stdout).toMatch(/^context,local,.*config\.json:\d+,\r?$/m);
    expect(stdout).toMatch(/^baseUrl,that of the plane in \/var\/lib\/gov,context local,\r?$/m);
  });

  it.each([
    [['output', 'foo'], /output: expected one of table, wide, json.* got "foo"/],
    [['retries', '21'], /retries: expected a whole number from 0 to 20, got "21"/],
    [['color', 'red'], /color: expected one of auto, always, never, got "red"/],
    [['baseUrl', 'https://x'], /expected one of output, color, timeout, retries, .*got "baseUrl"/],
  ])('config set refuses %j and changes nothing', async (words, message) => {
    const before = readFileSync(file, 'utf8');
    const { code, stderr } = await gov(['config', 'set', ...words, '-o', 'table']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it('unset removes a setting, and the weaker source applies', async () => {
    writeFileSync(join(home, '.gov.json'), '{}');
    expect(await gov(['config', 'unset', 'output'])).toMatchObject({ code: 0 });
    expect((await gov(['config', 'path', '-o', 'id'])).stdout).toBe(`${file}\n`);
  });

  it('edit checks the file before it replaces the present one', async () => {
    const editor = join(home, 'editor');
    writeFileSync(editor, '#!/bin/sh\nsed -i "$EDIT" "$1"\n');
    chmodSync(editor, 0o755);
    const before = readFileSync(file, 'utf8');
    process.env['EDIT'] = 's/"kind"/"sort"/';
    const refused = await gov(['config', 'edit', '-o', 'table'], { EDITOR: editor });
    delete process.env['EDIT'];
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('expected contexts such as') });
    expect(readFileSync(file, 'utf8')).toBe(before);
    process.env['EDIT'] = 's/local/here/';
    expect(await gov(['config', 'edit'], { EDITOR: editor })).toMatchObject({ code: 0 });
    delete process.env['EDIT'];
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ currentContext: 'here' });
  });

  it('set and list say nothing wrong where the current context is gone', async () => {
    writeFileSync(system, '{}');
    writeFileSync(file, JSON.stringify({ currentContext: 'gone', contexts: {} }));
    expect(await gov(['config', 'set', 'retries', '3'])).toMatchObject({ code: 0 });
    const { code, stdout } = await gov(['config', 'list', '-o', 'csv']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^context,gone,.*,refused: there is no context of this name\r?$/m);
    expect(stdout).toMatch(/^retries,3,/m);
  });

  it('list and explain say why a value is not used, and unset removes it', async () => {
    writeFileSync(file, JSON.stringify({ contexts: {}, settings: { output: 'foo', retries: '99' } }));
    const { settings } = JSON.parse((await gov(['config', 'list', '-o', 'json'])).stdout);
    expect(settings).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ key: 'output', value: 'json', from: '--output', problem: null }),
        expect.objectContaining({
          key: 'output',
          value: 'foo',
          problem: expect.stringMatching(/^ignored: expected one of table, wide/),
        }),
        expect.objectContaining({ key: 'retries', value: '2', from: 'default' }),
        expect.objectContaining({
          key: 'retries',
          problem: expect.stringMatching(/^refused: expected a whole/),
        }),
      ]),
    );
    const { stdout } = await gov(['config', 'explain', 'retries', '-o', 'csv']);
    expect(stdout).toMatch(/^99,.*config\.json:1,"?refused: expected a whole number from 0 to 20/m);
    // other commands do not run with it
    expect((await gov(['context', 'list'])).stderr).toContain('retries: expected a whole number');
    for (const key of ['retries', 'output'])
      expect(await gov(['config', 'unset', key])).toMatchObject({ code: 0 });
    expect(JSON.parse(readFileSync(file, 'utf8')).settings).toEqual({});
  });

  it('edit repairs a file that nothing else can read', async () => {
    writeFileSync(file, '{ "contexts": {},, }');
    expect(await gov(['context', 'list'])).toMatchObject({ code: 2 });
    const editor = join(home, 'repair');
    writeFileSync(editor, '#!/bin/sh\nsed -i "s/,,//" "$1"\n');
    chmodSync(editor, 0o755);
    expect(await gov(['config', 'edit'], { EDITOR: editor })).toMatchObject({ code: 0 });
    expect(readFileSync(file, 'utf8')).toBe('{ "contexts": {} }');
  });

  it('edit refuses a value that no command would use', async () => {
    const editor = join(home, 'spoil');
    writeFileSync(editor, `#!/bin/sh\necho '{"settings": {"retries": "many"}}' > "$1"\n`);
    chmodSync(editor, 0o755);
    const { code, stderr } = await gov(['config', 'edit'], { EDITOR: editor });
    expect([code, stderr]).toEqual([2, expect.stringContaining('retries: expected a whole number')]);
  });

  it('a relative HOME is refused, because its files would move with the working directory', async () => {
    const { code, stderr } = await gov(['context', 'list'], { HOME: 'home', GOV_CONFIG_DIR: '' });
    expect([code, stderr]).toEqual([
      2,
      'error: HOME: expected an absolute path, got "home"\n  export HOME=/absolute/path\n',
    ]);
    expect((await gov(['help'], { HOME: 'home', GOV_CONFIG_DIR: '' })).code).toBe(2);
    expect((await gov(['context', '--help'], { HOME: 'home', GOV_CONFIG_DIR: '' })).code).toBe(0);
  });

  it.each(['mcp wrap codex', 'agents uninstall cursor --scope user --dry-run'])(
    'gov %s refuses a relative HOME too, in which it would look for files of a client',
    async (line) => {
      const { code, stderr } = await gov(line.split(' '), { HOME: 'home' });
      expect([code, stderr]).toEqual([
        2,
        expect.stringContaining('HOME: expected an absolute path, got "home"'),
      ]);
    },
  );

  it('a file with an unknown setting is refused by name', async () => {
    writeFileSync(system, '{"settings": {"colour": "never"}}');
    expect(await gov(['context', 'list'])).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/expected settings output, color, .*, got "colour"/),
    });
  });
});
