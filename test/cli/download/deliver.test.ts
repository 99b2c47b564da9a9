import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  exportId,
  startCuttingProxy,
  startExportServer,
  type ExportServer,
} from '../../client/exportserver.ts';
import { artifactOf, events } from '../../core/exports/log.ts';
import { logSigner, ProofLog } from '../../core/proofs/log.ts';
import { cleanEnv, emptyDirectory, ended, govHere, runner, shell } from '../support/tool.ts';

const log = events(new ProofLog());
for (let number = 0; number < 400; number++) log.record({ runId: 'r', metadata: { text: 'x'.repeat(1000) } });
const artifact = Buffer.from(artifactOf(log));
const key = logSigner.verifierKey;
const sha256 = `sha256:${createHash('sha256').update(artifact).digest('hex')}`;

let server: ExportServer;
let folder: string;
beforeEach(async () => {
  server = await startExportServer(artifact);
  folder = emptyDirectory();
});
afterEach(() => server.close());

const env = (baseUrl = server.baseUrl) => ({ GOV_BASE_URL: baseUrl, GOV_API_KEY: 'gov_test' });
const file = () => join(folder, 'events.json');
const download = (argv: readonly string[] = [], baseUrl?: string) =>
  govHere(['export', 'download', exportId, '-O', file(), ...argv], { env: env(baseUrl) });
const files = () => readdirSync(folder).sort();
/** Where the bytes are gathered. */
const part = () => `${file()}.${exportId}.part`;
const partName = `events.json.${exportId}.part`;

describe('export download', () => {
  it('export download writes the whole file, for its user alone, and reports its hash', async () => {
    const { code, stdout } = await download(['-o', 'json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      exportId,
      file: file(),
      rowCount: 4,
      sizeBytes: artifact.length,
      sha256,
    });
    expect(readFileSync(file()).equals(artifact)).toBe(true);
    expect(statSync(file()).mode & 0o777).toBe(0o600);
    expect(files()).toEqual(['events.json']);
  });

  it('export download names the file after the export when no name is given', async () => {
    const { code } = await shell(`gov export download ${exportId} -q`, { env: env(), cwd: folder });
    expect(code).toBe(0);
    expect(files()).toEqual([`audit_events-${exportId}.json`]);
  });

  it(
    'export download continues after ten cut connections and gets the same bytes',
    { timeout: 60_000 },
    async () => {
      const port = (server.server.address() as AddressInfo).port;
      const proxy = await startCuttingProxy(port, { after: Math.floor(artifact.length / 12), times: 10 });
      const { code } = await download([], proxy.baseUrl);
      await proxy.close();
      expect([code, proxy.cuts]).toEqual([0, 10]);
      expect(readFileSync(file()).equals(artifact)).toBe(true);
    },
  );

  it('export download continues an earlier part, and starts again when the part differs', async () => {
    writeFileSync(part(), artifact.subarray(0, 100_000), { mode: 0o600 });
    expect((await download()).code).toBe(0);
    expect(server.ranges).toEqual(['bytes=100000-']);
    writeFileSync(part(), 'something else', { mode: 0o600 });
    const { code, stderr } = await download(['--force']);
    expect(code).toBe(0);
    expect(stderr).toContain('was not the beginning of this export');
    expect(readFileSync(file()).equals(artifact)).toBe(true);
    expect(files()).toEqual(['events.json']);
  });

  it.each<[string, () => void]>([
    ['others can write', () => writeFileSync(part(), '', { mode: 0o600 })],
    ['has another name', () => linkSync(join(folder, 'precious'), part())],
    ['is no file', () => mkdirSync(part())],
  ])('export download does not continue a part that %s', async (what, make) => {
    writeFileSync(join(folder, 'precious'), 'mine', { mode: 0o600 });
    make();
    if (what === 'others can write') chmodSync(part(), 0o622);
    const { code, stderr } = await download(['--force']);
    expect(code).toBe(what === 'is no file' ? 1 : 2);
    expect(stderr).toContain(part());
    expect(readFileSync(join(folder, 'precious'), 'utf8')).toBe('mine');
    expect(existsSync(file())).toBe(false);
  });

  it('export download touches no other file that ends in .part', async () => {
    writeFileSync(`${file()}.part`, 'of a browser');
    expect((await download()).code).toBe(0);
    expect(readFileSync(`${file()}.part`, 'utf8')).toBe('of a browser');
  });

  it.each([
    ['', 'name of a file'],
    ['nowhere/events.json', 'expected the folder'],
  ])('export download checks before its request that %j cannot be written', async (name, told) => {
    const argv = ['export', 'run', '--resource', 'jobs', '-O', name === '' ? '' : join(folder, name)];
    const { code, stderr } = await govHere(argv, { env: env() });
    expect([code, server.seen]).toEqual([2, []]);
    expect(stderr).toContain(told);
    expect(files()).toEqual([]);
  });

  it.each([
    { resource: '../../elsewhere' },
    { resource: '/tmp/elsewhere' },
    { format: 'json/../x' },
    { exportId: '../x' },
    { exportId: 'exp_1' },
  ])('export download names no file after a response with %j', async (metadata) => {
    server.metadata = metadata;
    const { code, stderr } = await shell(`gov export download ${exportId}`, { env: env(), cwd: folder });
    expect(code).toBe(10);
    expect(stderr).toContain('expected an export, got');
    expect(files()).toEqual([]);
    expect(server.ranges).toEqual([]);
  });

  it('a failed export download keeps the received bytes and makes no file under the final name', async () => {
    server.headers = { 'content-length': String(artifact.length + 1) };
    const { code, stderr } = await download(['--retries', '0']);
    expect(code).toBe(10);
    expect(stderr).not.toBe('');
    expect(files()).toEqual([partName]);
  });

  it('an export download with a wrong hash makes no final file and exits with 10', async () => {
    server.metadata = { sha256: `sha256:${'0'.repeat(64)}` };
    const { code, stderr } = await download(['-o', 'json']);
    expect([code, JSON.parse(stderr.trim().split('\n').at(-1)!).error.code]).toEqual([10, 'INTEGRITY']);
    expect(existsSync(file())).toBe(false);
  });

  it('export download replaces no file without --force, follows no link, and checks before its request', async () => {
    writeFileSync(file(), 'mine');
    expect((await download()).code).toBe(2);
    expect(readFileSync(file(), 'utf8')).toBe('mine');
    expect(server.seen).toEqual([]);
    expect((await download(['--force'])).code).toBe(0);
    const target = join(folder, 'elsewhere');
    symlinkSync(target, join(folder, 'link.json'));
    symlinkSync(target, join(folder, `other.json.${exportId}.part`));
    for (const name of ['link.json', 'other.json']) {
      const { code, stderr } = await govHere(
        ['export', 'download', exportId, '-O', join(folder, name), '--force'],
        { env: env() },
      );
      expect(code).toBe(2);
      expect(stderr).toContain('symbolic link');
    }
    expect(existsSync(target)).toBe(false);
    mkdirSync(join(folder, 'dir'));
    const folderNamed = await govHere(['export', 'download', exportId, '-O', join(folder, 'dir')], {
      env: env(),
    });
    expect(folderNamed.code).toBe(2);
  });

  it('one of two downloads to the same file is refused', async () => {
    const both = await Promise.all([download(), download()]);
    const codes = both.map(({ code }) => code).sort();
    expect(codes[0]).toBe(0);
    expect([2, 6]).toContain(codes[1]);
    expect(readFileSync(file()).equals(artifact)).toBe(true);
    expect(files()).toEqual(['events.json']);
  });

  it('export download reports a full disk and keeps the received bytes', async () => {
    // as a full disk does, a limit of the size of files ends a write in the middle
    const limited = `ulimit -f 100; gov export download ${exportId} -O '${file()}' -o json`;
    const { code, stderr } = await shell(`trap '' XFSZ; ${limited}`, { env: env() });
    expect(code).toBe(1);
    expect(stderr).toContain('WRITE_FAILED');
    expect(files()).toEqual([partName]);
    expect((await download()).code).toBe(0);
    expect(readFileSync(file()).equals(artifact)).toBe(true);
  });

  it.each(['SIGINT', 'SIGKILL'] as const)(
    '%s leaves the received bytes, and the next download continues them',
    async (signal) => {
      const whole = server.handle;
      server.handle = (seen, response) => {
        if (!seen.url.includes('/download')) return whole(seen, response);
        response.writeHead(200, { etag: `"${sha256.slice(7)}"`, 'content-length': artifact.length });
        return void response.write(artifact.subarray(0, 100_000));
      };
      const child = spawn(process.execPath, [runner, 'export', 'download', exportId, '-O', file()], {
        env: cleanEnv(env()),
      });
      const end = ended(child);
      while (!existsSync(part()) || statSync(part()).size < 100_000) await new Promise(setImmediate);
      child.kill(signal);
      expect(await end).toMatchObject(signal === 'SIGINT' ? { code: 130 } : { signal });
      server.handle = whole;
      expect((await download()).code).toBe(0);
      expect(server.ranges).toEqual(['bytes=100000-']);
      expect(readFileSync(file()).equals(artifact)).toBe(true);
      expect(files()).toEqual(['events.json']);
    },
  );

  it('export download exits with 6 for an export that is not ready, and with 5 for an unknown one', async () => {
    for (const status of ['processing', 'failed', 'expired']) {
      server.metadata = { status, errorSummary: status === 'failed' ? 'no room' : null };
      const { code, stderr } = await download();
      expect(code).toBe(6);
      expect(stderr).toContain(status);
    }
    server.metadata = {};
    server.handle = (_seen, response) => {
      response.writeHead(404, { 'content-type': 'application/problem+json' });
      response.end('{"code":"NOT_FOUND","title":"Not found","status":404}');
    };
    expect((await download()).code).toBe(5);
    expect(files()).toEqual([]);
  });
});

describe('export download to a pipe', () => {
  it('export download to a pipe writes the bytes and nothing else', async () => {
    const { stdout } = await shell(`gov export download ${exportId} -O - | sha256sum`, { env: env() });
    expect(stdout).toContain(sha256.slice(7));
  });

  it('export download to a pipe ends quietly when its reader leaves', async () => {
    const line = `gov export download ${exportId} -O - | head -c 10; echo " \${PIPESTATUS[0]}"`;
    expect(await shell(line, { env: env() })).toMatchObject({ stdout: '{"schemaVe 0\n', stderr: '' });
  });

  it('export download --ndjson to a pipe writes one row on each line', async () => {
    const { stdout } = await shell(`gov export download ${exportId} --ndjson -O -`, { env: env() });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(404);
    expect(lines.map((line) => (JSON.parse(line) as { sequence: number }).sequence)[403]).toBe(405);
  });

  it('export download to a full device reports the full disk', async () => {
    const { code, stderr } = await shell(`gov export download ${exportId} -O - >/dev/full`, { env: env() });
    expect(code).toBe(1);
    expect(stderr).toContain('standard output: the disk is full');
  });

  it('export download to a pipe fails when the bytes do not match the hash', async () => {
    server.metadata = { sha256: `sha256:${'0'.repeat(64)}` };
    const { stdout } = await shell(`gov export download ${exportId} -O - >/dev/null 2>&1; echo $?`, {
      env: env(),
    });
    expect(stdout).toBe('10\n');
  });

  it('export download writes to a named pipe or a device without replacing it', async () => {
    execFileSync('mkfifo', [file()]);
    symlinkSync('/dev/null', join(folder, 'null'));
    symlinkSync('/dev/stdout', join(folder, 'stdout'));
    const read = ended(spawn('sh', ['-c', `sha256sum < ${file()}`]));
    expect((await download(['--force'])).code).toBe(0);
    expect(`sha256:${(await read).stdout.slice(0, 64)}`).toBe(sha256);
    expect(lstatSync(file()).isFIFO()).toBe(true);
    const to = (name: string, argv: readonly string[] = []) =>
      govHere(['export', 'download', exportId, '-O', join(folder, name), '--force', ...argv], { env: env() });
    expect(await to('null')).toMatchObject({ code: 0, stdout: '' });
    expect((await to('stdout')).stdout).toBe(artifact.toString());
    expect((await to('null', ['--verify', '--key', key])).code).toBe(2);
    expect(lstatSync(join(folder, 'null')).isSymbolicLink()).toBe(true);
    expect(files()).toEqual(['events.json', 'null', 'stdout']);
  });

  it('export download refuses to write to a terminal, and to verify a stream', async () => {
    const argv = ['export', 'download', exportId, '-O', '-'];
    expect((await govHere(argv, { env: env(), columns: 80 })).code).toBe(2);
    expect((await govHere([...argv, '--verify', '--key', key], { env: env() })).code).toBe(2);
  });
});

describe('export download --ndjson', () => {
  it('export download --ndjson writes only the rows', async () => {
    expect((await download(['--ndjson'])).code).toBe(0);
    const rows = readFileSync(file(), 'utf8').trimEnd().split('\n');
    const data = (JSON.parse(artifact.toString()) as { data: unknown[] }).data;
    expect(rows.map((row) => JSON.parse(row) as unknown)).toEqual(data);
    expect(files()).toEqual(['events.json']);
    server.metadata = { format: 'csv' };
    expect((await download(['--ndjson', '--force'])).code).toBe(2);
  });
});

describe('export download --verify', () => {
  it('export download --verify gives the file its name after the verification', async () => {
    const { code, stdout } = await download(['--verify', '--key', key, '-o', 'json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ verified: true, manifest: { rowCount: 404 } });
    expect(files()).toEqual(['events.json']);
  });

  it('export download --verify with exit code 3 makes no final file', async () => {
    server.artifact = Buffer.from(artifact.toString().replace('"cost":0.1', '"cost":0.2'));
    const { code } = await download(['--verify', '--key', key]);
    expect(code).toBe(3);
    expect(files()).toEqual([partName]);
  });

  it('export download --verify first requires a trusted key and an export with proof', async () => {
    const { code, stderr } = await download(['--verify']);
    expect(code).toBe(2);
    expect(stderr).toContain('--key VKEY or --trust FILE');
    expect(server.seen).toEqual([]);
    server.metadata = { includeProof: false };
    expect((await download(['--verify', '--key', key])).code).toBe(2);
    expect(server.ranges).toEqual([]);
  });
});

describe('export run', () => {
  it('export run creates an export, waits for it and downloads it', async () => {
    const argv = ['--resource', 'audit_events', '--run', 'r', '--since', '2026-01-01', '--proof'];
    const { code } = await govHere(['export', 'run', ...argv, '-O', file()], { env: env() });
    expect(code).toBe(0);
    expect(JSON.parse(server.seen[0]!.body)).toEqual({
      resource: 'audit_events',
      format: 'json',
      filters: { runId: 'r', startTime: '2026-01-01T00:00:00Z' },
      includeProof: true,
    });
    expect(readFileSync(file()).equals(artifact)).toBe(true);
  });

  it('export run prints the command that continues an interrupted download to the same file', async () => {
    const argv = ['export', 'run', '--resource', 'audit_events', '--proof', '-O'];
    const again = (to: string) => `after an interruption gov export download ${exportId} -O ${to}`;
    const cut = await govHere([...argv, file(), '--force'], { env: env() });
    expect(cut.stderr).toContain(`${again(file())} --force continues`);
    const quoted = await govHere([...argv, `${file()} 'x`], { env: env() });
    expect(quoted.stderr).toContain(`${again(`'${file()} '\\''x'`)} continues`);
    const piped = await govHere([...argv, '-', '--ndjson'], { env: env() });
    expect(piped.stderr).toContain(`${again('-')} --ndjson starts over`);
    const none = await govHere([...argv, ''], { env: env() });
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('got an empty text') });
  });

  it('export run continues an interrupted download, and creates a new export when that is impossible', async () => {
    const argv = ['export', 'run', '--resource', 'audit_events', '--proof', '-O', file()];
    writeFileSync(part(), artifact.subarray(0, 100_000), { mode: 0o600 });
    const { code, stderr } = await govHere(argv, { env: env() });
    expect([code, server.seen.map(({ method }) => method)]).toEqual([0, ['GET', 'GET', 'GET']]);
    expect(stderr).toContain(`continues ${exportId}`);
    expect(server.ranges).toEqual(['bytes=100000-']);
    expect(readFileSync(file()).equals(artifact)).toBe(true);
    for (const metadata of [{ status: 'expired' }, { filters: { runId: 'r' } }, { includeProof: false }]) {
      writeFileSync(part(), '', { mode: 0o600 });
      server.metadata = metadata;
      server.seen.length = 0;
      await govHere([...argv, '--force'], { env: env() });
      expect(server.seen.map(({ method }) => method).slice(0, 2)).toEqual(['GET', 'POST']);
    }
  });

  it('export run exits with 1 when the export failed, and with 8 when it is not complete in time', async () => {
    server.metadata = { status: 'failed', errorSummary: 'no room' };
    const argv = ['export', 'run', '--resource', 'jobs', '-O', file()];
    const failed = await govHere(argv, { env: env() });
    expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('no room') });
    server.metadata = { status: 'processing' };
    const late = await govHere([...argv, '--timeout', '300ms'], { env: env() });
    expect(late).toMatchObject({
      code: 8,
      stderr: expect.stringContaining(`gov export download ${exportId} -O ${file()}`),
    });
    expect(files()).toEqual([]);
  });
});
