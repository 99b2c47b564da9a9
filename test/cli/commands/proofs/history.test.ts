/** Verifiers that remember: `gov proofs verify A B`, `--kept`, `gov heads` and `gov evidence verify`. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { bundleText } from '../../../../src/core/proofs/bundle.ts';
import { formatTrust } from '../../../../src/core/note/trust.ts';
import { event, startPlane, type TestPlane } from '../../../support/serving.ts';
import { ProofLog, recordSampleRun, trust } from '../../../core/proofs/log.ts';
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
const mine = proofOf('mine', 0);
const theirs = proofOf('theirs', 1);
const trustFile = file('trust', formatTrust(trust));

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
    const recorded = async (n: number): Promise<void> => {
      const events = Array.from({ length: n }, () => event());
      expect((await plane.call('POST', '/events/batch', { body: { events } })).status).toBe(201);
    };
    for (const n of [3, 300, 1]) {
      await recorded(n);
      const answer = await fetch(`${plane.baseUrl}/log/checkpoint`, {
        headers: { authorization: `Bearer ${plane.key}` },
      });
      const path = file(`checkpoint-${n}`, await answer.text());
      expect((await gov('heads', 'import', path, '--trust', keys)).code).toBe(0);
    }
    await recorded(20);
    const { code, stdout } = await gov('heads', 'check', '--trust', keys, '-o', 'json');
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { result: 'extends', detail: null }]);
  });
});
