/**
 * The package as people get it: packed, installed into an empty folder without scripts, run and compiled
 * against. Needs the build (`npm test` makes it) and npm's registry or cache for the one native dependency.
 */
import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { projectRoot } from './paths.ts';

const run = promisify(execFile);
const isBuilt = existsSync(join(projectRoot, 'dist/gov.cjs'));
const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));

describe.skipIf(!isBuilt)('the package as published (needs dist: npm run build)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-package-'));
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}` };
  let files: readonly string[] = [];
  let isInstalled = false;

  beforeAll(async () => {
    const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: projectRoot,
      env,
    });
    const [tarball] = Object.values<{ filename: string; files: { path: string }[] }>(
      JSON.parse(packed.stdout),
    );
    files = tarball!.files.map(({ path }) => path);
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--fetch-retries=0'];
    const install = run('npm', ['install', ...quiet, `./${tarball!.filename}`], { cwd: folder, env });
    isInstalled = await install.then(
      () => true,
      ({ stderr }: { stderr: string }) => {
        if (/ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED/.test(stderr)) return false;
        throw new Error(stderr);
      },
    );
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('the package contains the program, its licences and its documentation, and no sources', () => {
    const expected = [
      'bin/gov',
      'dist/gov.cjs',
      'dist/main.cjs',
      'dist/NOTICE',
      'docs/how-to/install.md',
      'install.sh',
    ];
    expect(files).toEqual(expect.arrayContaining(expected));
    const folders = new Set(files.map((path) => path.replace(/\/.*/, '/')));
    expect([...folders].sort()).toEqual(
      ['LICENSE', 'README.md', 'bin/', 'dist/', 'docs/', 'install.sh', 'package.json', 'scripts/'].sort(),
    );
  });

  it('the package depends on native code alone', () => {
    expect(Object.keys(manifest.dependencies)).toEqual(['better-sqlite3']);
  });

  it('the NOTICE file names the licence of each package in the bundle', () => {
    const notice = readFileSync(join(projectRoot, 'dist/NOTICE'), 'utf8');
    expect(notice).toMatch(/^commander \d+\.\d+\.\d+, licence MIT$/m);
    expect(notice.match(/^\S+ \S+, licence /gm)!.length).toBeGreaterThan(2);
    expect(notice).not.toMatch(/^(?:rolldown|vitest|typescript) /m);
  });

  it('the package has the contract and the commands as data, without the library that makes them', () => {
    expect(files.filter((path) => /^dist\/data-[0-9a-f]{8}\.json$/.test(path))).toHaveLength(1);
    expect(readFileSync(join(projectRoot, 'dist/NOTICE'), 'utf8')).not.toMatch(/^typebox /m);
    expect(readFileSync(join(projectRoot, 'dist/main.cjs'), 'utf8')).not.toMatch(
      /^\/\/ src\/cli\/commands\/events\/spec/m,
    );
  });

  it('the package runs after an installation without install scripts', async ({ skip }) => {
    skip(!isInstalled, 'no registry is reachable');
    const home = join(folder, 'home');
    mkdirSync(home);
    const gov = join(folder, 'node_modules/.bin/gov');
    const { stdout } = await run(gov, ['--version'], { env: { PATH: env.PATH, HOME: home } });
    expect(stdout).toBe(`gov ${manifest.version}\n`);
  });

  it('the package lets a program use the client with its types', async ({ skip }) => {
    skip(!isInstalled, 'no registry is reachable');
    skip(!files.includes('dist/client.js'), 'no client was built');
    const program = `import { createClient } from 'gov';
      const client = createClient({ baseUrl: 'http://127.0.0.1:9/api/v1' });
      export const status = async (): Promise<'ok' | 'degraded' | 'unavailable'> => (await client.getHealth()).body.status;
      // @ts-expect-error: health has no such member
      export const none = async () => (await client.getHealth()).body.nothing;
      console.log(typeof client.createEvent);`;
    writeFileSync(join(folder, 'program.mts'), program);
    mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
    symlinkSync(join(projectRoot, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'));
    const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc');
    const options = [
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--skipLibCheck',
      '--types',
      'node',
    ];
    await run(process.execPath, [compiler, '--noEmit', ...options, 'program.mts'], { cwd: folder });
    const { stdout } = await run(process.execPath, ['program.mts'], { cwd: folder });
    expect(stdout).toBe('function\n');
  });
});
