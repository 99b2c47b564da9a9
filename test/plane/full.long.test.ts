/** The disk below a serving plane fills up: `test/faults/full.ts` does it, for longer, by hand. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { fillDisk, mountSmall } from '../faults/full.ts';

const mayMount = process.getuid?.() === 0 && process.platform === 'linux';
const undo: (() => void)[] = [];
afterEach(() => {
  for (const each of undo.splice(0).reverse()) each();
});

it.skipIf(!mayMount)(
  'a full disk refuses writes alone, quietly, and heals by itself (skipped where not root on Linux: needs a tmpfs)',
  async (test) => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-full-'));
    undo.push(() => rmSync(folder, { recursive: true, force: true }));
    const unmount = mountSmall(folder, 240);
    if (unmount === null) return test.skip('root may not mount here');
    undo.push(unmount);
    const report = await fillDisk(folder, { seconds: 2, takeAll: false });
    expect(report).toMatchObject({ failedReads: 0, lost: 0, exit: 0, fsckProblems: 0 });
    expect(report.acknowledged).toBeGreaterThan(0);
    expect(report.answers).toMatchObject({
      'POST /events/batch 503 STORAGE_FULL': expect.any(Number),
      'POST /proofs 503 STORAGE_FULL': expect.any(Number),
      'POST /proofs async 503 STORAGE_FULL': expect.any(Number),
    });
    expect(report.logLinesPerSecond).toBeLessThan(2);
    expect(report.idleCpu).toBeLessThan(0.5);
  },
);
