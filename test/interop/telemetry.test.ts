/**
 * Usage reports and answers to challenges, as a plane sent them to a real service, checked without our software: by the
 * commands of docs/telemetry.md, by docs/checktelemetry.py (Python's standard library and openssl) and by Go programs, one
 * of them with golang.org/x/mod/sumdb. Every change of them is refused.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { projectRoot } from '../shared.ts';
import { goPrograms } from './goprograms.ts';
import { has } from './exported.ts';
import { changed, changes, reportToService, type Reported } from './reported.ts';

let reported: Reported;
let genuine = '';
beforeAll(async () => {
  reported = await reportToService();
  genuine = reported.write('telemetry.ndjson', reported.lines);
});
afterAll(async () => {
  await reported.end();
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
  name: 'docs/checktelemetry.py',
  skip: has('python3') && has('openssl') ? null : 'no python3 or openssl',
  check: (file) => {
    const script = join(projectRoot, 'docs/checktelemetry.py');
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

    it('accepts what a plane sent', () => {
      const { reports, answers } = counts();
      expect(reports).toBeGreaterThan(3);
      expect(answers).toBeGreaterThan(1);
      expect(check(genuine).at(-1)).toBe(`ok: ${reports} reports, ${answers} attestations`);
    });

    it.each(changes)('sees a change of $name', (change) => {
      const file = reported.write('changed.ndjson', changed(reported, change));
      const said = check(file).at(-1);
      expect(said).toMatch(/^refused: /);
      if (!change.path.includes('signature')) expect(said).not.toContain('signed for another answer');
    });

    it('sees that a report is missing', () => {
      const places = reported.lines.flatMap((line, at) => (line.includes('"gov.usage/1"') ? [at] : []));
      const lines = reported.lines.toSpliced(places[2] ?? 0, (places[3] ?? 0) - (places[2] ?? 0));
      expect(check(reported.write('changed.ndjson', lines)).at(-1)).toMatch(
        /^refused: .*reports are missing/,
      );
    });
  });
}
