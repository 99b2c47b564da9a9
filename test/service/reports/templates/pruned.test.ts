/** Reports over a log whose older events are in an archive: they fail nowhere, show what is left, and say what is not. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { reportTemplateIds } from '../../../../src/contract/report-words.ts';
import { pruneLog } from '../../../../src/host/data/prune.ts';
import { startService, type TestService } from '../../../support/hosted.ts';
import { fill, holdClock, later, type Filled } from './filled.ts';
import { built, checksOf, figuresOf, rowsOf, tableOf } from './world.ts';

let service: TestService;
let known: Filled;
let folder: string;
beforeAll(async () => {
  holdClock();
  folder = mkdtempSync(join(tmpdir(), 'gov-pruned-'));
  service = await startService();
  known = await fill(await service.signUp('ada'));
  later(200 * 86_400_000); // production keeps events for 183 days
  // everything up to the end of the period, so that both runs of it are gone
  const { projectId, endMs } = known;
  const archive = join(folder, 'a.gz');
  await pruneLog(service.services, { projectId, beforeMs: endMs, archive, dryRun: false });
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.end();
  rmSync(folder, { recursive: true, force: true });
});

it.each(reportTemplateIds)('%s is built, and says that events were pruned', async (id) => {
  const { projectId, startMs, endMs } = known;
  const runId = id === 'run-evidence' ? 'r1' : null;
  const made = await built(service.services, [projectId, id], { startMs, endMs, runId });
  expect(JSON.stringify(made.contents.sections)).toContain('were pruned and are in an archive');
  expect(JSON.stringify(made.contents)).not.toMatch(/NaN|Infinity|undefined/);
});

it('decisions and changes of the period are still listed, by their own times', async () => {
  const { projectId, startMs, endMs } = known;
  const of = { startMs, endMs };
  const decisions = await built(service.services, [projectId, 'decisions-exceptions'], of);
  expect(rowsOf(decisions, 'decisions', 'decision')).toEqual([
    { decision: 'deny' },
    { decision: 'escalate' },
    { decision: 'allow' },
  ]);
  expect(tableOf(decisions, 'decisions').completeness).toEqual({
    status: 'not_shown',
    detail: 'Part of the period was pruned, so its entries are not counted by time.',
  });
  const changes = await built(service.services, [projectId, 'policy-changes'], of);
  expect(tableOf(changes, 'policy-changes').population).toBe(3);
});

it('the evidence of a pruned run is not shown to be whole', async () => {
  const of = { startMs: known.startMs, endMs: known.endMs, runId: 'r1' };
  const made = await built(service.services, [known.projectId, 'run-evidence'], of);
  expect(figuresOf(made)).toMatchObject({ record: 'not shown to be whole', events: 0, compliance: 'no' });
  expect(checksOf(made)).toMatchObject({
    'The index of the log has no further event of the run': 'not_shown',
  });
  expect(tableOf(made, 'events').completeness.detail).toContain('were pruned');
});

it('the pruning is certified by the root that the stored tree still has', async () => {
  const made = await built(service.services, [known.projectId, 'retention-deletion']);
  expect(rowsOf(made, 'prunings', 'status')).toEqual([{ status: 'root confirmed' }]);
  expect(checksOf(made)).toMatchObject({ 'Prunings left the hashes of the log as they were': 'pass' });
});
