/** Verifiers that remember: `gov proofs verify A B`, `--kept`, `gov heads` and `gov evidence verify`. */
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { bundleText } from '../../../../src/core/proofs/bundle.ts';
import { formatTrust } from '../../../../src/core/note/trust.ts';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';
import { ProofLog, recordSampleRun, trust } from '../../../core/proofs/log.ts';
import {
  parseCheckpoint,
  parseTrust,
  signCheckpoint,
  type Trust,
} from '../../../../src/core/note/checkpoint.ts';
import { splitNote } from '../../../../src/core/note/signed.ts';
import { toJson } from '../../../../src/core/reports/artifacts.ts';
import { readKeys } from '../../../../src/host/keys/disk.ts';
import { sampleReport, signatureOf } from '../../../core/reports/sample.ts';
import { emptyDirectory, govHere } from '../../support/tool.ts';

const folder = emptyDirectory();
const file = (name: string, content: string): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};

/** A proof of run-1 in a log with some runs before and after it. */
function proofOf(name: string, before: number): string {
  const log = new ProofLog();
  for (let n = 0; n < before; n++) log.record({ runId: `earlier-${n}` });
  recordSampleRun(log);
  return file(`${name}.govproof.json`, bundleText(log.prove('run-1')));
}
const trustOf = (path: string): Trust => parseTrust(readFileSync(path, 'utf8'));
const mine = proofOf('mine', 0);
const theirs = proofOf('theirs', 1);
const trustFile = file('trust', formatTrust(trust));

const checkpointOf = async ({ baseUrl, key }: TestPlane): Promise<string> =>
  (await fetch(`${baseUrl}/log/checkpoint`, { headers: { authorization: `Bearer ${key}` } })).text();

/** Runs the tool with a memory of its own. */
function machine() {
  const env = { GOV_CONFIG_DIR: emptyDirectory() };
  const cwd = emptyDirectory();
  return {
    cwd,
    gov: (...argv: string[]) => govHere([...argv, '--trust', trustFile], { env, cwd }),
  };
}

describe('two proofs of two histories of one log', () => {
  it('two files are compared, and the evidence verifies elsewhere with the keys of the log alone', async () => {
    const { gov, cwd } = machine();
    const { code, stdout } = await gov('proofs', 'verify', mine, theirs);
    expect(code).toBe(3);
    expect(stdout).toContain('SPLIT_VIEW');
    const name = /split-view-[0-9a-f]{8}\.govevidence\.json/.exec(stdout)?.[0] ?? '';
    const evidence = file(name, readFileSync(join(cwd, name), 'utf8'));
    const verdict = await machine().gov('evidence', 'verify', evidence, '-o', 'json');
    expect([verdict.code, JSON.parse(verdict.stdout)]).toMatchObject([
      0,
      { verified: true, shows: 'split_view', origin: trust.origin },
    ]);
    expect((await machine().gov('evidence', 'verify', mine)).code).toBe(2);
  });

  it('a file is compared with the heads of a day before, and with --kept', async () => {
    const first = machine();
    expect(JSON.parse((await first.gov('proofs', 'verify', mine, '-o', 'json')).stdout)).toMatchObject({
      verified: true,
      history: { result: 'first' },
    });
    expect(JSON.parse((await first.gov('proofs', 'verify', mine, '-o', 'json')).stdout)).toMatchObject({
      history: { result: 'extends' },
    });
    for (const [gov, more] of [
      [first.gov, []],
      [machine().gov, ['--kept', mine]],
    ] as const) {
      const { code, stdout } = await gov('proofs', 'verify', theirs, ...more, '-o', 'json');
      expect([code, JSON.parse(stdout)]).toMatchObject([
        3,
        { verified: false, code: 'SPLIT_VIEW', history: { result: 'split' } },
      ]);
    }
  });

  it('a kept file that is a device or damaged is refused with what to do, and never read without end', async () => {
    const env = { GOV_CONFIG_DIR: emptyDirectory() };
    const verify = () => govHere(['proofs', 'verify', mine, '--trust', trustFile], { env });
    await verify();
    const [name = ''] = readdirSync(join(env.GOV_CONFIG_DIR, 'heads'));
    const path = join(env.GOV_CONFIG_DIR, 'heads', name);
    writeFileSync(path, '{');
    expect(await verify()).toMatchObject({ code: 2, stderr: expect.stringContaining('remove it') });
    rmSync(path);
    symlinkSync('/dev/zero', path);
    expect(await verify()).toMatchObject({ code: 2, stderr: expect.stringContaining('a device') });
  });

  it('with --no-remember nothing is kept', async () => {
    const { gov } = machine();
    await gov('proofs', 'verify', mine, '--no-remember');
    expect((await gov('heads', 'list')).stdout).toBe('');
    expect((await gov('proofs', 'verify', theirs)).code).toBe(0);
  });

  it('the heads of another verifier show a split view that neither saw alone', async () => {
    const [one, other] = [machine(), machine()];
    await one.gov('proofs', 'verify', mine);
    await other.gov('proofs', 'verify', theirs);
    const heads = join(folder, 'mine.govheads.json');
    expect((await one.gov('heads', 'export', '-O', heads)).code).toBe(0);
    const { code, stdout } = await other.gov('heads', 'import', heads, '-o', 'json');
    const { result, evidence } = JSON.parse(stdout) as { result: string; evidence: string };
    expect([code, result, existsSync(evidence)]).toEqual([3, 'split', true]);
    expect((await one.gov('heads', 'import', heads)).code).toBe(0);
    expect((await machine().gov('heads', 'export')).code).toBe(5);
  });
});

describe('a report', () => {
  it('a report is compared with the kept heads too', async () => {
    const { gov } = machine();
    const report = file('report.json', toJson(sampleReport({ rows: 1 })).toString());
    file('report.dsse.json', signatureOf(sampleReport({ rows: 1 })).toString());
    const verify = async (...argv: string[]) => {
      const { code, stdout } = await gov('report', 'verify', report, '--data-only', ...argv, '-o', 'json');
      return [code, (JSON.parse(stdout) as { history: { result: string } }).history.result];
    };
    expect((await verify())[1]).toBe('first');
    expect((await verify())[1]).toBe('extends');
    const log = new ProofLog();
    for (let n = 0; n < sampleReport().log.treeSize; n++) log.record({ runId: 'other' });
    const kept = file('kept', log.checkpoint(sampleReport().log.treeSize));
    expect(await verify('--kept', kept)).toEqual([3, 'split']);
  });
});

describe('a log that answers', () => {
  let plane: TestPlane;
  beforeAll(async () => {
    plane = await startPlane();
  });
  afterAll(() => plane.end());

  it('gov heads check shows that the log still begins with a kept head', async () => {
    const env = { GOV_CONFIG_DIR: emptyDirectory(), GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key };
    const keys = join(folder, 'plane.trust');
    const gov = (...argv: string[]) => govHere(argv, { env, cwd: folder });
    expect((await gov('trust', 'fetch', '-O', keys)).code).toBe(0);
    let total = 0;
    /** Records events, and returns the checkpoint that covers them. */
    const recorded = async (n: number): Promise<string> => {
      const events = Array.from({ length: n }, () => event());
      expect((await plane.call('POST', '/events/batch', { body: { events } })).status).toBe(201);
      total += n;
      return vi.waitFor(async () => {
        const note = await checkpointOf(plane);
        expect(parseCheckpoint(splitNote(note).text).size).toBeGreaterThan(total);
        return note;
      }, 20_000);
    };
    for (const n of [3, 300, 1]) {
      const path = file(`checkpoint-${n}`, await recorded(n));
      expect((await gov('heads', 'import', path, '--trust', keys)).code).toBe(0);
    }
    await recorded(20);
    const { code, stdout } = await gov('heads', 'check', '--trust', keys, '-o', 'json');
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { result: 'extends', detail: null }]);

    // the holder of the key shows somebody else another history, of 5 leaves
    const { origin } = trustOf(keys);
    const signers = readKeys(plane.dataDir).signers(origin);
    const checkpoint = { origin, size: 5, root: Buffer.alloc(32, 7), extensions: [] };
    const other = file('other-history', signCheckpoint(checkpoint, signers, { timestampSeconds: 1 }));
    const auditor = { GOV_CONFIG_DIR: emptyDirectory() };
    const imported = await govHere(['heads', 'import', other, '--trust', keys], {
      env: auditor,
      cwd: folder,
    });
    expect(imported.code).toBe(0);
    const shown = await govHere(['heads', 'check', '--trust', keys, '-o', 'json'], {
      env: { ...env, ...auditor },
      cwd: folder,
    });
    const { result, evidence } = JSON.parse(shown.stdout) as { result: string; evidence: string };
    expect([shown.code, result]).toEqual([3, 'split']);
    expect((await gov('evidence', 'verify', evidence, '--trust', keys)).code).toBe(0);
    await gov('heads', 'import', other, '--trust', keys);
  });

  it('gov trust fetch refuses a log that shows fewer leaves with another root than a kept head', async () => {
    const keys = join(folder, 'plane.trust');
    const { origin } = trustOf(keys);
    const signers = readKeys(plane.dataDir).signers(origin);
    const note = await checkpointOf(plane);
    const { size } = parseCheckpoint(splitNote(note).text);
    const checkpoint = { origin, size, root: Buffer.alloc(32, 7), extensions: [] };
    const env = { GOV_CONFIG_DIR: emptyDirectory(), GOV_BASE_URL: plane.baseUrl, GOV_API_KEY: plane.key };
    const other = file('same-size', signCheckpoint(checkpoint, signers, { timestampSeconds: 1 }));
    const cwd = emptyDirectory();
    expect((await govHere(['heads', 'import', other, '--trust', keys], { env, cwd })).code).toBe(0);
    const fetched = await govHere(['trust', 'fetch', '-O', 'new.trust'], { env, cwd });
    expect(fetched.code).toBe(3);
    expect(fetched.stderr).toContain('two histories');
    expect(existsSync(join(cwd, 'new.trust'))).toBe(false);
  });
});
