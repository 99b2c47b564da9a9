/** Bundles of 40 MB: memory does not grow with them, and nothing is left of one that breaks off. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { number } from '../../../../src/cli/terminal/numbers.ts';
import { bundleText } from '../../../../src/core/proofs/bundle.ts';
import { problem, startServer, type TestServer } from '../../../client/server.ts';
import { logSigner, ProofLog, recordSampleRun } from '../../../core/proofs/log.ts';
import { cleanEnv, emptyDirectory, ended, gov, runner, shell } from '../../support/tool.ts';

const folder = emptyDirectory();
const key = logSigner.verifierKey;
const proofId = 'prf_01jq3v5k8hf7wb3c9x2m4n6p8r';
const file = join(folder, 'large.govproof.json');
const small = join(folder, 'small.govproof.json');

const bundleOf = (fields: number): string => {
  const log = new ProofLog();
  recordSampleRun(log);
  for (let at = 0; at < fields; at++) {
    log.record({ runId: 'run-1', metadata: { text: `${at} ${'x'.repeat(240_000)}` } });
  }
  return bundleText(log.prove('run-1', { disclose: () => true }));
};
let text: string;
beforeAll(() => {
  text = bundleOf(125);
  writeFileSync(file, text);
  writeFileSync(small, bundleOf(0));
});

/** Runs the tool, which says how much memory it had at most. */
async function measured(argv: readonly string[]): Promise<{ code: number | null; mb: number }> {
  const say = `process.on('exit',()=>process.stderr.write('peak '+process.resourceUsage().maxRSS+'\\n'))`;
  const child = spawn(process.execPath, ['--import', `data:text/javascript,${say}`, runner, ...argv], {
    env: cleanEnv(),
    cwd: folder,
  });
  const { code, stderr } = await ended(child);
  return { code, mb: Number(/peak (\d+)/.exec(stderr)?.[1]) / 1024 };
}

describe('the verification of a large bundle', () => {
  it('the memory of a verification does not grow with the bundle', { timeout: 120_000 }, async () => {
    expect(text.length).toBeGreaterThan(40e6);
    const argv = (path: string) => ['proofs', 'verify', path, '--key', key, '-o', 'id'];
    const [little, much] = [await measured(argv(small)), await measured(argv(file))];
    expect([little.code, much.code]).toEqual([0, 0]);
    expect(much.mb - little.mb).toBeLessThan(100);
  });

  it(
    'a large bundle is verified from standard input and from a pipe, and leaves no copy',
    { timeout: 120_000 },
    async () => {
      const temporary = mkdtempSync(join(folder, 'tmp-'));
      const env = { TMPDIR: temporary };
      const argv = (word: string) => `gov proofs verify ${word} --key '${key}' -o json`;
      for (const line of [`cat '${file}' | ${argv('-')}`, argv(`<(cat '${file}')`)]) {
        const { code, stdout } = await shell(line, { env });
        expect([code, JSON.parse(stdout).verified]).toEqual([0, true]);
        expect(readdirSync(temporary)).toEqual([]);
      }
      const cut = await shell(`head -c 30000000 '${file}' | ${argv('-')}`, { env });
      expect([cut.code, JSON.parse(cut.stdout).code]).toEqual([2, 'MALFORMED_BUNDLE']);
      const nowhere = await shell(`cat '${file}' | ${argv('-')}`, { env: { TMPDIR: join(folder, 'none') } });
      expect([nowhere.code, nowhere.stdout]).toEqual([1, '']);
      expect(nowhere.stderr).toContain('set TMPDIR to a folder with room');
    },
  );

  it('the texts of a large bundle are explained', { timeout: 60_000 }, async () => {
    const { code, stdout } = await gov(['proofs', 'verify', file, '--key', key, '--explain']);
    expect(code).toBe(0);
    expect(stdout).toContain('sha256sum');
  });
});

describe('a large bundle that is fetched', () => {
  let server: TestServer;
  let env: Record<string, string>;
  /** Bytes after which the server stops sending; it then waits, or breaks the connection. */
  let stop: { after: number; how: 'wait' | 'break' } | null;
  beforeAll(async () => {
    const proof = JSON.parse(readFileSync(small, 'utf8')).proof;
    server = await startServer(({ method, url }, response) => {
      if (method === 'POST') {
        response.writeHead(201, { 'content-type': 'application/json; charset=utf-8' });
        response.end(JSON.stringify({ ...proof, proofId }));
      } else if (!url.includes('/bundle')) problem(response, 'NOT_FOUND', 404);
      else {
        response.writeHead(200, {
          'content-type': 'application/json; charset=utf-8',
          'content-length': String(Buffer.byteLength(text)),
        });
        if (stop === null) response.end(text);
        else {
          response.write(text.slice(0, stop.after), () => {
            if (stop?.how === 'break') response.destroy();
          });
        }
      }
    });
    env = { GOV_BASE_URL: server.baseUrl, GOV_API_KEY: 'gov_pk_live_x' };
  });
  afterAll(() => server.close());

  const target = (): string => {
    const path = join(folder, `out-${Math.random()}`);
    mkdirSync(path);
    return path;
  };

  it(
    'a large bundle is written as it came, and its size and hash are printed',
    { timeout: 60_000 },
    async () => {
      stop = null;
      const path = target();
      const argv = ['proofs', 'get', proofId, '--events', 'disclosed', '--out', join(path, 'b.json')];
      const { code, stderr } = await gov(argv, { env });
      expect([code, readFileSync(join(path, 'b.json'), 'utf8') === text]).toEqual([0, true]);
      expect(stderr).toContain(`(${number(Buffer.byteLength(text))} bytes, sha256 `);
      expect(server.seen.at(-1)?.url).toContain('events=disclosed');
      const piped = await shell(`gov proofs get ${proofId} --bundle | cmp - '${file}'`, { env });
      expect(piped).toMatchObject({ code: 0, stdout: '' });
    },
  );

  it(
    'nothing is left of a bundle that breaks off, and an older file stays',
    { timeout: 60_000 },
    async () => {
      stop = { after: 20_000_000, how: 'break' };
      const path = target();
      const argv = ['proofs', 'get', proofId, '--out', join(path, 'b.json')];
      expect((await gov(argv, { env })).code).toBe(10);
      expect(readdirSync(path)).toEqual([]);
      writeFileSync(join(path, 'b.json'), 'older');
      expect((await gov([...argv, '--force'], { env })).code).toBe(10);
      expect(readdirSync(path)).toEqual(['b.json']);
      expect(readFileSync(join(path, 'b.json'), 'utf8')).toBe('older');
    },
  );

  it('nothing is left of a bundle after Ctrl-C in the middle', { timeout: 60_000 }, async () => {
    stop = { after: 20_000_000, how: 'wait' };
    const path = target();
    const argv = [runner, 'proofs', 'get', proofId, '--out', join(path, 'b.json')];
    const child = spawn(process.execPath, argv, { env: cleanEnv(env), cwd: folder });
    const end = once(child, 'close');
    await expect.poll(() => existsSync(join(path, 'b.json.part'))).toBe(true);
    child.kill('SIGINT');
    expect((await end)[0]).toBe(130);
    expect(readdirSync(path)).toEqual([]);
  });

  it('a reader that closes the pipe ends the transfer', { timeout: 60_000 }, async () => {
    stop = null;
    const line = `gov proofs get ${proofId} --bundle | head -c 10 >/dev/null; echo \${PIPESTATUS[0]}`;
    const { stdout, stderr } = await shell(line, { env });
    expect([stdout.trim(), stderr]).toEqual(['0', '']);
  });

  it.skipIf(!existsSync('/dev/full'))(
    'a bundle that could not be saved after its proof was created is named with the command that gets it',
    { timeout: 60_000 },
    async () => {
      stop = null;
      const { code, stderr } = await gov(['proofs', 'create', '--run', 'r', '--out', '/dev/full'], { env });
      expect(code).toBe(1);
      expect(stderr).toContain(`the proof ${proofId} was created, but its bundle was not saved`);
      expect(stderr).toContain('the disk is full');
      expect(stderr).toContain(`gov proofs get ${proofId} --bundle --out FILE`);
      const calls = server.seen.length;
      const folderless = ['proofs', 'create', '--run', 'r', '--out', join(folder, 'nowhere', 'b.json')];
      expect((await gov(folderless, { env })).code).toBe(1);
      // a place that takes no bytes is refused before the proof is created
      expect(server.seen).toHaveLength(calls);
    },
  );
});
