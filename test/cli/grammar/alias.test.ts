/** Aliases of a user, from `gov alias set` to the words that the parser gets. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { beforeEach, describe, expect, it } from 'vitest';
import { complete } from '../../../src/cli/completion/complete.ts';
import { withoutAlias, wordsOf } from '../../../src/cli/grammar/alias.ts';
import { cleanEnv, emptyDirectory, gov, govHere } from '../support/tool.ts';

let folder = '';
let env: Record<string, string> = {};
beforeEach(() => {
  folder = emptyDirectory();
  env = { HOME: folder, GOV_CONFIG_DIR: join(folder, 'config') };
  mkdirSync(join(folder, 'config'));
});

const file = (): string => join(folder, 'config/config.json');
const write = (aliases: unknown): void => writeFileSync(file(), JSON.stringify({ contexts: {}, aliases }));
const here = (...words: string[]) => govHere(words, { env, cwd: folder });
const expanded = (line: string): readonly string[] => withoutAlias(line.split(' '), { env });

describe('gov alias', () => {
  it('sets, lists, uses, changes and deletes an alias', async () => {
    expect(await here('alias', 'set', 'codes', 'help exit-codes')).toMatchObject({ code: 0 });
    expect((await here('codes')).stdout).toContain('the check failed');
    expect((await here('alias', 'list')).stdout).toBe('codes\thelp exit-codes\t\n');
    await here('alias', 'set', 'codes', 'version');
    expect((await here('codes')).stdout).toMatch(/^gov \d/);
    expect((await here('help', 'codes')).stdout).toBe('gov codes is your alias for: gov version\n');
    expect(await here('alias', 'delete', 'codes')).toMatchObject({ code: 0 });
    expect(await here('codes')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('unknown command'),
    });
    expect((await here('alias', 'delete', 'codes')).code).toBe(5);
    expect(JSON.parse(readFileSync(file(), 'utf8'))).toEqual({ contexts: {}, aliases: {} });
  });

  it.each([
    [['events', 'version'], '"events" is a command'],
    [['event', 'version'], '"event" is a command'],
    [['__complete', 'version'], 'expected a name'],
    [['A b', 'version'], 'expected a name'],
    [['x', 'nothing like this'], 'expected the words of a command'],
    [['x', '!echo hi'], 'gov runs no shell'],
    [['x', '   '], 'expected the words of a command'],
    [['x', 'events list --run "r'], 'expected a second "'],
    [['x', 'x'], 'x → x: this leads back to itself'],
  ])('set refuses %j', async (words, message) => {
    const { code, stderr } = await here('alias', 'set', ...words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(existsSync(file())).toBe(false);
  });

  it('refuses a loop of two, when it is made and when a person wrote it into the file', async () => {
    write({ a: 'b', b: 'version' });
    expect((await here('alias', 'set', '--', 'b', '-q a')).stderr).toContain('b → a → b');
    write({ a: 'b', b: 'a' });
    const { code, stderr } = await here('a');
    expect([code, stderr]).toEqual([2, expect.stringContaining('a → b → a: this leads back to itself')]);
  });

  it('a command wins over an alias of its name in the file, and list says so', async () => {
    write({ version: 'help' });
    expect((await here('version')).stdout).toMatch(/^gov \d/);
    expect((await here('alias', 'list', '-o', 'json')).stdout).toContain('a command has this name now');
  });

  it('two processes that set aliases at the same time both keep theirs', async () => {
    await Promise.all(['one', 'two'].map((name) => gov(['alias', 'set', name, 'version'], { env })));
    expect(Object.keys(JSON.parse(readFileSync(file(), 'utf8')).aliases).sort()).toEqual(['one', 'two']);
  });

  it('a file with broken aliases does not stop other commands', async () => {
    write({ x: 5 });
    expect((await here('version')).code).toBe(0);
    expect((await here('alias', 'list')).stderr).toContain('expected aliases such as');
  });
});

describe('the words of an alias', () => {
  it.each([
    ['denied', 'events list --decision deny'],
    ['denied --limit 5', 'events list --decision deny --limit 5'],
    ['-C prod denied', '-C prod events list --decision deny'],
    ['-q --context prod denied', '-q --context prod events list --decision deny'],
    ['--json denied', '--json events list --decision deny'],
    ['story r1', 'runs show r1 -o wide'],
    ['story r1 --limit 5', 'runs show r1 -o wide --limit 5'],
    ['two b a c', 'runs show a b c'],
    ['mine', '-q events list --decision deny'],
    ['events list', 'events list'],
    ['money', 'search $1'],
  ])('%j is %j', (line, words) => {
    write({
      denied: 'events list --decision deny',
      story: 'runs show $1 -o wide',
      two: 'runs show $2 $1',
      mine: '-q denied',
      money: 'search $$1',
    });
    expect(expanded(line).join(' ')).toBe(words);
  });

  it('a missing word is an error that names its place', () => {
    write({ story: 'runs show $1' });
    expect(() => expanded('story')).toThrow('alias story: expected a word for $1 of "runs show $1"');
  });

  it('a word with blanks, quotes or a dollar sign stays one word', () => {
    write({ find: 'search $1' });
    for (const word of ['a b', '"; rm -rf /', '$(touch x)', '$2', '`id`'])
      expect(withoutAlias(['find', word], { env })).toEqual(['search', word]);
  });

  it('no shell sees the text: hostile content is words of the command', async () => {
    const text = `search "$(touch ${folder}/hit)" ; touch ${folder}/hit`;
    write({ evil: text });
    const { code } = await gov(['evil', '`touch hit`'], {
      env: { ...env, GOV_BASE_URL: 'http://127.0.0.1:1' },
      cwd: folder,
    });
    expect(code).toBe(10);
    expect(existsSync(join(folder, 'hit'))).toBe(false);
    expect(withoutAlias(['evil'], { env })).toEqual([
      'search',
      `$(touch ${folder}/hit)`,
      ';',
      'touch',
      `${folder}/hit`,
    ]);
  });

  it.each([
    ["a 'b c' d", ['a', 'b c', 'd']],
    ['a "b \\" c"', ['a', 'b " c']],
    ["'a\\b'", ['a\\b']],
    ['a\\ b', ['a b']],
    ["''", ['']],
    ['x"y"z', ['xyz']],
  ])('splits %j', (text, words) => {
    expect(wordsOf(text, 'x')).toEqual(words);
  });
});

describe('completion of aliases', () => {
  const offered = async (...words: string[]): Promise<string> => {
    const stdout = new PassThrough();
    const stream = new PassThrough();
    await complete(words, {
      stdin: stream,
      stdout,
      stderr: stream,
      env: cleanEnv(env),
      cwd: folder,
      now: Date.now,
    });
    return stdout.read()?.toString() ?? '';
  };

  it('offers aliases as words, their names to alias delete, and the flags behind an alias', async () => {
    write({ denied: 'events list --decision deny', story: 'runs show $1' });
    expect(await offered('den')).toBe('denied\talias: events list --decision deny\n');
    expect(await offered('alias', 'delete', 's')).toBe('story\truns show $1\n');
    expect(await offered('denied', '--ord')).toContain('--order');
    expect(await offered('-q', 'denied', '--order', 'a')).toBe('asc\n');
  });

  it('still offers commands where the file is broken', async () => {
    writeFileSync(file(), '{');
    expect(await offered('versi')).toContain('version');
  });
});
