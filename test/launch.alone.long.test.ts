/** How long the tool takes to start. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { projectRoot } from './paths.ts';

const entry = join(projectRoot, 'dist/gov.cjs');
const home = mkdtempSync(join(tmpdir(), 'gov-launch-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

it('--version takes no longer than bare Node, and a command starts in twice that time', () => {
  const env = { HOME: home };
  const cases = { bare: ['-e', '0'], version: [entry, '--version'], command: [entry, 'context', 'list'] };
  const least = { bare: Infinity, version: Infinity, command: Infinity };
  const names = ['bare', 'version', 'command'] as const;
  for (let round = 0; round < 20; round++) {
    for (const name of names) {
      const before = performance.now();
      spawnSync(process.execPath, cases[name], { env });
      least[name] = Math.min(least[name], performance.now() - before);
    }
  }
  // measured where bare Node takes 21 to 24 ms: at most 10 and 25 ms more; slower machines get in proportion
  expect(least.version).toBeLessThan(least.bare * 1.4);
  expect(least.command).toBeLessThan(least.bare * 2.3);
});
