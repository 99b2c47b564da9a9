/**
 * The package as people get it: packed, installed into an empty folder without scripts, run and compiled
 * against. Needs the build (`npm test` makes it) and npm's registry or cache for the one native dependency.
 */
import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notice } from '../scripts/notice.ts';
import { projectRoot } from './paths.ts';

const run = promisify(execFile);
const isBuilt = existsSync(join(projectRoot, 'dist/gov.cjs'));
const manifest = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8'));

describe.skipIf(!isBuilt)('the package as published (needs dist: npm run build)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gov-package-'));
  const env = { ...process.env, PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH']}` };
  let files: readonly string[] = [];
  let packedBytes = 0;
  let isInstalled = false;
  const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc');

  beforeAll(async () => {
    const packed = await run('npm', ['pack', '--json', '--pack-destination', folder], {
      cwd: projectRoot,
      env,
    });
    const [tarball] = Object.values<{ filename: string; size: number; files: { path: string }[] }>(
      JSON.parse(packed.stdout),
    );
    packedBytes = tarball!.size;
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
      'dist/gov-watch-arm64',
      'dist/gov-watch-x64',
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

  it('the package depends on native code and WebAssembly alone', () => {
    expect(Object.keys(manifest.dependencies)).toEqual(['better-sqlite3', 'jq-web']);
  });

  it('the NOTICE file names the licence of each package in the bundle', () => {
    const notice = readFileSync(join(projectRoot, 'dist/NOTICE'), 'utf8');
    expect(notice).toMatch(/^commander \d+\.\d+\.\d+, licence MIT$/m);
    expect(notice.match(/^\S+ \S+, licence /gm)!.length).toBeGreaterThan(2);
    expect(notice).not.toMatch(/^(?:rolldown|vitest|typescript) /m);
  });

  it('each package of the NOTICE file has the text of its licence, and so has each codec', () => {
    const sections = readFileSync(join(projectRoot, 'dist/NOTICE'), 'utf8').split('-'.repeat(78)).slice(1);
    const short = sections.map((text) => text.trim()).filter((text) => text.split('\n').length < 4);
    expect(short).toEqual([]);
    const section = (name: string) => sections.find((text) => text.trim().startsWith(`${name} `));
    expect(section('@jsquash/jpeg')).toContain('libjpeg-turbo is covered by three');
    expect(section('@jsquash/webp')).toContain('Copyright (c) 2010, Google Inc. All rights reserved.');
    expect(section('es-toolkit')).toContain('derived from Lodash');
    expect(section('@bufbuild/protobuf')).toContain('Copyright 2008 Google Inc.');
    // parts of other authors inside a package, and works that no package names
    expect(section('brotli')).toMatch(/Copyright 2013 Google Inc\..*\n+ *Licensed under the Apache License/);
    expect(section('@fastify/deepmerge')).toContain('James Halliday, Josh Duff');
    expect(section('nodemailer')).toContain('Mathias Bynens');
    expect(section('The declarations of typebox')).toContain('Permission is hereby granted');
    expect(readdirSync(join(projectRoot, 'dist/types')).sort()).toEqual([
      'client',
      'contract',
      'core',
      'files',
      'typebox',
    ]);
    expect(section('The colour profile')).toContain('International Color Consortium');
    expect(section('Noto Sans')).toContain('SIL OPEN FONT LICENSE');
    expect(section('jq 1.7.1')).toContain('ICU License');
    expect(section('Oniguruma,')).toContain('K.Kosako');
    expect(section('yoga-layout')).toMatch(
      /Copyright \(c\) Meta Open Source\n\nPermission is hereby granted/,
    );
  });

  it('the build ends at a bundled package without the text of its licence', () => {
    const at = join(folder, 'node_modules/bare');
    mkdirSync(at, { recursive: true });
    const bare = (members: object) => {
      writeFileSync(join(at, 'package.json'), JSON.stringify({ name: 'bare', version: '1.0.0', ...members }));
      return () => notice([join(at, 'index.js')]);
    };
    expect(bare({ license: 'ISC', author: 'Ada' })).toThrow(
      /text of a licence of bare .*licences\/bare\.txt/,
    );
    expect(bare({ license: 'MIT' })).toThrow(/text of a licence of bare/);
    expect(bare({ license: 'MIT', author: 'Ada <ada@example.com>' })()).toContain('Copyright (c) Ada\n');
    writeFileSync(join(at, 'NOTICE'), 'text');
    expect(bare({ license: 'Apache-2.0' })).toThrow(/text of a licence of bare/);
    writeFileSync(join(at, 'LICENSE'), 'text');
    expect(bare({})).toThrow('expected a licence in');
    writeFileSync(join(at, 'index.js'), '/* Copyright 2020 Eve */\n');
    expect(bare({ license: 'MIT' })).toThrow(
      'in scripts/sbom.ts whose work bare contains: /* Copyright 2020 Eve',
    );
    rmSync(at, { recursive: true });
  });

  it('the package has the contract and the commands as data, without the library that makes them', () => {
    expect(files.filter((path) => /^dist\/data-[0-9a-f]{8}\.json$/.test(path))).toHaveLength(1);
    expect(readFileSync(join(projectRoot, 'dist/NOTICE'), 'utf8')).not.toMatch(/^typebox /m);
    expect(readFileSync(join(projectRoot, 'dist/main.cjs'), 'utf8')).not.toMatch(
      /^\/\/ src\/cli\/commands\/events\/spec/m,
    );
  });

  it('the package is small: at most 5 MB packed, and 10 packages with what it needs', ({ skip }) => {
    skip(!isInstalled, 'no registry is reachable');
    expect(packedBytes).toBeLessThan(5_000_000);
    const lock = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')) as { packages: object };
    // the lock also names the native packages of other systems
    const installed = Object.keys(lock.packages).filter((path) => existsSync(join(folder, path)));
    expect(installed.filter((path) => path !== '').length).toBeLessThanOrEqual(10);
  });

  it('the package runs after an installation without install scripts, also with npx', async ({ skip }) => {
    skip(!isInstalled, 'no registry is reachable');
    const home = join(folder, 'home');
    mkdirSync(home);
    const gov = join(folder, 'node_modules/.bin/gov');
    const { stdout } = await run(gov, ['--version'], { env: { PATH: env.PATH, HOME: home } });
    expect(stdout).toMatch(new RegExp(`^gov ${manifest.version} \\(build \\S+\\)\n$`));
    const npx = await run('npx', ['--no-install', 'gov', '--version'], { cwd: folder, env });
    expect(npx.stdout).toBe(stdout);
  });

  it('a program in JavaScript uses every part of the library', async ({ skip }) => {
    skip(!isInstalled, 'no registry is reachable');
    const program = `import { createClient, createNamespaces, EventRecorder, GovNetworkError, revealSecret, sqliteStore } from 'gov';
      import { readTrust, verify } from 'gov/verify';
      const client = createClient({ baseUrl: 'http://127.0.0.1:9/api/v1', retries: 0, env: {} });
      const failure = await client.getHealth().catch((error) => error);
      const store = await sqliteStore('records.db', { secretsKey: new Uint8Array(32) });
      const { id } = await createNamespaces(store).secrets.create({ token: 'x' });
      const recorder = await EventRecorder.open(client, { spool: 'spool' });
      recorder.record({ runId: 'r', eventType: 'a', actor: 'b', action: 'c', timestamp: new Date().toISOString() });
      const { waiting } = await recorder.close({ timeoutMs: 0 });
      const { code } = await verify('{}', { trust: null });
      const { token } = await revealSecret(store, id);
      console.log([failure instanceof GovNetworkError, waiting, code, token, typeof readTrust].join());`;
    writeFileSync(join(folder, 'program.js'), program);
    const { stdout, stderr } = await run(process.execPath, ['program.js'], { cwd: folder });
    expect({ stdout, stderr }).toEqual({ stdout: 'true,1,MALFORMED_BUNDLE,x,function\n', stderr: '' });
  });

  it.each([
    ['nodenext', ['--module', 'nodenext']],
    ['bundler', ['--module', 'esnext', '--moduleResolution', 'bundler']],
  ])(
    'a strict program in TypeScript compiles with the resolution %s, also without @types/node',
    async (_, module) => {
      if (!isInstalled) return; // no registry is reachable
      const program = `import { createClient, EventRecorder, memoryStore, paginate, type Client } from 'gov';
      import { verify, type Verdict } from 'gov/verify';
      const client: Client = createClient({ baseUrl: 'http://127.0.0.1:9/api/v1', store: memoryStore() });
      export const status = async (): Promise<'ok' | 'degraded' | 'unavailable'> => (await client.getHealth()).body.status;
      // @ts-expect-error: health has no such member
      export const none = async () => (await client.getHealth()).body.nothing;
      // @ts-expect-error: the action is missing
      export const wrong = () => client.createEvent({ body: { runId: 'r', eventType: 'a', actor: 'b', timestamp: '' } });
      export async function runs(): Promise<string[]> {
        const ids: string[] = [];
        for await (const { runId } of paginate(client.listRuns, {})) ids.push(runId);
        return ids;
      }
      const verdict: Verdict = await verify('{}', { trust: null });
      const prompt = await client.prompts.create({ text: 'x' });
      const recorder: EventRecorder = await EventRecorder.open(client);
      console.log(typeof client.createEvent, verdict.verified, prompt.version, (await recorder.close()).sent);`;
      writeFileSync(join(folder, 'program.mts'), program);
      const options = [
        '--noEmit',
        '--strict',
        '--target',
        'es2022',
        '--lib',
        'es2022,dom',
        '--skipLibCheck',
        'false',
      ];
      await run(process.execPath, [compiler, ...options, ...module, 'program.mts'], { cwd: folder });
      const { stdout } = await run(process.execPath, ['program.mts'], { cwd: folder });
      expect(stdout).toBe('function false 1 0\n');
    },
  );

  it('the examples of agent libraries compile against the installed package, and load it', async ({
    skip,
  }) => {
    skip(!isInstalled, 'no registry is reachable');
    cpSync(join(projectRoot, 'examples/libraries'), join(folder, 'examples'), { recursive: true });
    for (const name of ['ai', 'zod', '@openai', '@langchain', '@types']) {
      const target = join(folder, 'node_modules', name);
      if (!existsSync(target)) symlinkSync(join(projectRoot, 'node_modules', name), target);
    }
    const examples = globSync('examples/*.ts', { cwd: folder });
    expect(examples.length).toBeGreaterThan(3);
    const options = [
      '--noEmit',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2024',
      '--skipLibCheck',
      '--types',
      'node',
      '--allowImportingTsExtensions',
    ];
    await run(process.execPath, [compiler, ...options, ...examples], { cwd: folder });
    const load = examples.map((path) => `import './${path}';`).join('\n');
    writeFileSync(join(folder, 'load.mts'), load);
    await run(process.execPath, ['load.mts'], { cwd: folder });
  });
});
