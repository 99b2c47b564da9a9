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
    expect(stdout).toMatch(/^retries,7,.*system\.json:1\r?$/m);
    expect(stdout).toMatch(/^context,local,.*config\.json:\d+\r?$/m);
    expect(stdout).toMatch(/^baseUrl,that of the plane in \/var\/lib\/gov,context local\r?$/m);
  });

  it.each([
    [['output', 'foo'], /output: expected one of table, wide, json.* got "foo"/],
    [['retries', '21'], /retries: expected a whole number from 0 to 20, got "21"/],
    [['color', 'red'], /color: expected one of auto, always, never, got "red"/],
    [['baseUrl', 'https://x'], /expected one of output, color, timeout, retries, got "baseUrl"/],
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

  it('a file with an unknown setting is refused by name', async () => {
    writeFileSync(system, '{"settings": {"colour": "never"}}');
    expect(await gov(['config', 'list'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('expected settings output, color, timeout, retries, got "colour"'),
    });
  });
});
