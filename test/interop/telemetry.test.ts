/**
 * Usage reports and answers to challenges, as a plane sent them to a real service, checked without our software: by the
 * commands of docs/how-to/check-a-usage-report.md, by docs/how-to/check-telemetry.py (Python's standard library and openssl) and by Go programs, one
 * of them with golang.org/x/mod/sumdb. Every change of them is refused.
 */
import { spawn, spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ended } from '../cli/support/tool.ts';
import { blocks, page } from '../docs/pages.ts';
import { projectRoot } from '../paths.ts';
import { goPrograms } from './support/go-programs.ts';
import { has } from './support/exported.ts';
import { changed, changes, reportToService, type Reported } from './support/reported.ts';

let reported: Reported;
let genuine = '';
beforeAll(async () => {
  reported = await reportToService();
  genuine = reported.write('telemetry.ndjson', reported.lines);
});
afterAll(async () => {
  await reported?.end();
  vi.useRealTimers();
});

const counts = () => {
  const of = (schema: string): number => reported.lines.filter((line) => line.includes(schema)).length;
  return { reports: of('"schemaVersion":"gov.usage/1"'), answers: of('"schemaVersion":"gov.attest/1"') };
};

interface Checker {
  readonly name: string;
  /** Why it cannot run here. */
  readonly skip: string | null;
  readonly prepare?: () => void;
  /** Lines that it prints about a file. */
  check(file: string): string[];
}

const python: Checker = {
  name: 'docs/how-to/check-telemetry.py',
  skip: has('python3') && has('openssl') ? null : 'no python3 or openssl',
  check: (file) => {
    const script = join(projectRoot, 'docs/how-to/check-telemetry.py');
    const words = [script, join(reported.dataDir, 'trust'), file, reported.serviceKey];
    const { stdout, stderr } = spawnSync('python3', words, { encoding: 'utf8' });
    expect(stderr).toBe('');
    return stdout.trimEnd().split('\n');
  },
};

const go: readonly Checker[] = goPrograms.map(({ name, skip, build }) => {
  let program = '';
  return {
    name,
    skip,
    prepare: () => (program = build(reported.dataDir)),
    check: (file) => {
      const words = ['-telemetry', reported.auditKey, file];
      const { stdout, stderr } = spawnSync(program, words, { encoding: 'utf8' });
      expect(stderr).toBe('');
      return stdout.trimEnd().split('\n');
    },
  };
});

for (const { name, skip, prepare, check } of [python, ...go]) {
  describe.skipIf(skip !== null)(`${name}${skip === null ? '' : ` (skipped: ${skip})`}`, () => {
    beforeAll(() => prepare?.(), 180_000);

    it('the program accepts the usage reports and attestations that a plane sent', () => {
      const { reports, answers } = counts();
      expect(reports).toBeGreaterThan(3);
      expect(answers).toBeGreaterThan(1);
      expect(check(genuine).at(-1)).toBe(`ok: ${reports} reports, ${answers} attestations`);
    });

    it.each(changes)('the program refuses a usage report with a change of $name', (change) => {
      const file = reported.write('changed.ndjson', changed(reported, change));
      const said = check(file).at(-1);
      expect(said).toMatch(/^refused: /);
      if (!change.path.includes('signature')) expect(said).not.toContain('signed for another answer');
    });

    it('the program notices that a usage report is missing', () => {
      const places = reported.lines.flatMap((line, at) => (line.includes('"gov.usage/1"') ? [at] : []));
      const lines = reported.lines.toSpliced(places[2] ?? 0, (places[3] ?? 0) - (places[2] ?? 0));
      expect(check(reported.write('changed.ndjson', lines)).at(-1)).toMatch(
        /^refused: .*reports are missing/,
      );
    });
  });
}

const needed = ['jq', 'openssl', 'basenc', 'sha256sum', 'awk', 'sed', 'grep'].filter((name) => !has(name));
const told = needed.length === 0 ? '' : ` (skipped: no ${needed.join(', ')})`;
describe.skipIf(needed.length > 0)(`docs/how-to/check-a-usage-report.md${told}`, () => {
  const [, ...commands] = blocks(page('docs/how-to/check-a-usage-report.md'), 'sh');
  const byPython = commands.pop() ?? '';
  const follow = (script: string, lines: readonly string[]) => {
    const folder = dirname(reported.dataDir); // the plane is in `plane` below it
    reported.write('../telemetry.ndjson', lines);
    const { status, stdout } = spawnSync('sh', ['-e'], { cwd: folder, input: script, encoding: 'utf8' });
    return { status, said: stdout.trimEnd().split('\n') };
  };
  /** Where a line asks the service, which is in this process. */
  const followServed = async (script: string, lines: readonly string[]) => {
    const folder = dirname(reported.dataDir);
    reported.write('../telemetry.ndjson', lines);
    const here = script
      .replace('docs/', join(projectRoot, 'docs/'))
      .replace('https://gov.example.com', reported.service);
    const child = spawn('sh', ['-e'], { cwd: folder });
    child.stdin.end(here);
    const { code, stdout } = await ended(child);
    return { status: code, said: stdout.trimEnd().split('\n') };
  };
  /** Pairs of lines that have to be equal, and what openssl says. */
  const pairs = ({ said }: ReturnType<typeof follow>) => {
    const [totals, ofLeaf, hash = '', named = '', signature, root, ofNote] = said;
    return [
      [totals, ofLeaf],
      [`sha256:${hash.slice(0, 64)}`, named],
      [signature, 'Signature Verified Successfully'],
      [root, ofNote],
    ];
  };

  it('the commands of check-a-usage-report.md confirm a genuine report', () => {
    const followed = follow(commands.join(''), reported.lines);
    expect([followed.status, followed.said.length]).toEqual([0, 7]);
    for (const [computed, written] of pairs(followed)) expect(computed).toBe(written);
  });

  it.each([
    ['a total', { of: 'report', nth: 4, path: ['totals', 'audit_event'], to: (n: number) => n + 1 }],
    ['the report', { of: 'report', nth: 4, path: ['unmetered'], to: (n: number) => n + 1 }],
    ['the leaf', { of: 'report', nth: 4, path: ['lastLeaf', 'index'], to: (n: number) => n - 1 }],
  ] as const)('the commands of check-a-usage-report.md reveal a change of %s', (name, change) => {
    const followed = follow(commands.join(''), changed(reported, { name, ...change }));
    expect(pairs(followed).every(([computed, written]) => computed === written)).toBe(false);
  });

  it.skipIf(python.skip !== null || !has('curl'))(
    'check-a-usage-report.md ends with a program that checks the whole report',
    async () => {
      const { status, said } = await followServed(byPython, reported.lines);
      expect([status, said.at(-1)]).toEqual([
        0,
        `ok: ${counts().reports} reports, ${counts().answers} attestations`,
      ]);
      expect(said.join('\n')).toContain('cosigned by');
    },
  );
});
