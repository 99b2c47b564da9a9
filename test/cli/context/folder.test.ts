/** Two planes of one user: a command in the folder of a plane acts on this plane, and a second `init` is whole or nothing. */
import { existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { emptyDirectory, govHere } from '../support/tool.ts';

const root = emptyDirectory();
const env = { GOV_CONFIG_DIR: join(root, 'config'), HOME: root };
const at = (name: string): string => join(root, name);
const quiet = ['--listen', '127.0.0.1:0', '--metrics-listen', 'off'];
const gov = (cwd: string, ...argv: string[]) => govHere(argv, { env, cwd });
const init = (cwd: string, ...flags: string[]) => gov(cwd, 'plane', 'init', ...quiet, ...flags);
const placeFrom = async (cwd: string, ...flags: string[]): Promise<unknown> =>
  JSON.parse((await gov(cwd, 'plane', 'status', ...flags, '-o', 'json')).stdout).dataDir;

beforeAll(async () => {
  for (const name of ['first', 'second']) mkdirSync(at(name));
  expect((await init(at('first'), '--data', './gov-data')).code).toBe(0);
});

it('gov plane init makes nothing where its context has a taken name, and says what to do', async () => {
  const { code, stderr } = await init(at('second'), '--data', './gov-data');
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining(`got "gov-data", which names the plane in ${at('first/gov-data')}`),
  ]);
  expect(stderr).toContain('--name NAME');
  expect(existsSync(at('second/gov-data'))).toBe(false);
  const { contexts, currentContext } = JSON.parse(readFileSync(at('config/config.json'), 'utf8'));
  expect([Object.keys(contexts), currentContext]).toEqual([['gov-data'], 'gov-data']);
});

it('gov plane init says which context stays the current one, and how to use the new plane', async () => {
  const made = await init(at('second'), '--data', './gov-data', '--name', 'two', '-o', 'table');
  expect(made.code).toBe(0);
  expect(made.stderr).toMatch(/commands go on with context gov-data; .*gov context use two, -C two/);
  // again, in other words: the plane is there, with its context
  const again = await init(at('second'), '--data', at('second/gov-data'), '-o', 'json');
  expect(JSON.parse(again.stdout)).toMatchObject({ created: false, context: 'two' });
});

it('a command in the folder of a plane acts on that plane, unless it names a context', async () => {
  symlinkSync(at('second/gov-data'), at('link'));
  for (const cwd of [at('second/gov-data'), at('second/gov-data/keys'), at('link')])
    expect(await placeFrom(cwd)).toBe(at('second/gov-data'));
  expect(await placeFrom(at('second'))).toBe(at('first/gov-data'));
  expect(await placeFrom(at('second/gov-data'), '-C', 'gov-data')).toBe(at('first/gov-data'));
  expect(await placeFrom(at('second/gov-data'), '--data', at('first/gov-data'))).toBe(at('first/gov-data'));
  const listed = JSON.parse((await gov(at('second/gov-data'), 'context', 'list', '-o', 'json')).stdout);
  expect(listed.contexts).toMatchObject([{ current: false }, { name: 'two', current: true }]);
  const why = await gov(at('second/gov-data'), 'config', 'explain', 'context');
  expect(why.stdout).toMatch(/two\s+folder of the plane[\s\S]*gov-data/);
});

it('a command in the folder of a plane without a context acts on no other plane', async () => {
  const { planeInit } = await import('../../../plane/data/init.ts');
  await planeInit({ dataDir: at('third'), listen: '127.0.0.1:0', metricsListen: 'off' });
  for (const words of [
    ['plane', 'status'],
    ['plane', 'doctor'],
    ['runs', 'list'],
    ['trust', 'show'],
    ['heads', 'list'],
    ['auth', 'logout'],
    ['context', 'show'],
  ]) {
    const { code, stderr } = await gov(at('third'), ...words);
    expect([words, code, stderr]).toEqual([
      words,
      2,
      expect.stringContaining(`expected a context for the plane of this folder, ${at('third')}`),
    ]);
  }
  expect(await placeFrom(at('third'), '--data', '.')).toBe(at('third'));
  const why = await gov(at('third'), 'config', 'explain', 'context');
  expect(why.stdout).toMatch(/gov-data.*not used in the folder of another plane/);
});
