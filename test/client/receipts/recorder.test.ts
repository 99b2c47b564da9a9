import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventRecorder } from '../../../src/client/index.ts';
import type { RecorderProblem } from '../../../src/client/recorder-options.ts';
import { Folder } from '../../cli/push/harness.ts';
import { RestoredPlane, sentEvent } from '../support/held.ts';

let folder: Folder;
let plane: RestoredPlane;
beforeEach(async () => {
  folder = new Folder();
  plane = await RestoredPlane.start();
});
afterEach(async () => {
  await plane.end();
  folder.remove();
});

describe('a recorder with a spool', () => {
  it('a recorder keeps the receipt of each answer until the log has proven it, and only the tree after close', async () => {
    const spool = join(folder.path, 'spool');
    const problems: RecorderProblem[] = [];
    const recorder = await EventRecorder.open(plane.client(), {
      spool,
      batchSize: 3,
      onProblem: (problem) => problems.push(problem),
    });
    for (let n = 0; n < 10; n++) recorder.record(sentEvent(n));
    await recorder.flush();
    expect((await recorder.close()).sent).toBe(10);
    expect(problems).toEqual([]);
    expect(readdirSync(spool)).toEqual(['kept.json']);
  });
});
