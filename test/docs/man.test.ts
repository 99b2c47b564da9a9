/** Manual pages: one for each noun, accepted by mandoc without a remark, and readable on 80 columns. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { manPages } from '../../scripts/man.ts';
import { nouns } from '../../src/cli/specs/nouns.ts';
import { manifest } from '../../src/cli/commands/commands/run.ts';

const pages = manPages(Date.UTC(2026, 0, 31));
const folder = mkdtempSync(join(tmpdir(), 'gov-man-'));
for (const [name, text] of pages) writeFileSync(join(folder, name), text);
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const mandoc = (...args: string[]) =>
  spawnSync('mandoc', args, { cwd: folder, encoding: 'utf8', maxBuffer: 2 ** 26 });
/** A page as a terminal of 80 columns shows it, without overstriking. */
const shown = (name: string): string =>
  mandoc('-Tutf8', '-Owidth=78', name)
    .stdout.split('\b')
    .map((part, at, parts) => (at < parts.length - 1 ? part.slice(0, -1) : part))
    .join('');
const hasMandoc = mandoc('-Tlint').error === undefined;

describe('the manual pages', () => {
  it('there is one of the tool, and one of each noun with each of its commands', () => {
    const named = nouns.map(([, noun]) => `gov-${noun}.1`);
    expect([...pages.keys()].toSorted()).toEqual(['gov.1', ...named].toSorted());
    for (const { name } of manifest().commands) {
      const escaped = name.replaceAll('-', '\\-');
      const page = pages.get(`gov-${name.split(' ')[0]}.1`);
      expect(page).toContain(`\n.Ss gov ${escaped}\n`);
    }
    for (const text of pages.values()) expect(text).toMatch(/^[\n -~]+$/);
  });

  it.skipIf(!hasMandoc)('mandoc finds nothing to remark', () => {
    const { stdout, stderr, status } = mandoc('-Tlint', ...pages.keys());
    expect([stdout, stderr, status]).toEqual(['', '', 0]);
  });

  it.skipIf(!hasMandoc)('they fit 80 columns, but for what cannot be broken', () => {
    for (const name of pages.keys()) {
      const long = shown(name)
        .split('\n')
        .filter((line) => line.length > 80 && !/\S{30}/.test(line));
      expect(long, name).toEqual([]);
    }
    const jobs = shown('gov-jobs.1');
    expect(jobs).toContain('gov jobs wait job_01jq3v5k8hf7wb3c9x2m4n6p8r --timeout 2m');
    expect(jobs).toMatch(/--status STATUS\n +One of pending, processing, completed, failed, cancelled\./);
  });
});
