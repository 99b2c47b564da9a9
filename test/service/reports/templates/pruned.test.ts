/** Reports over a log whose older events are in an archive: they fail nowhere, show what is left, and say what is not. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { reportTemplateIds } from '../../../../src/contract/report-words.ts';
import { pruneLog } from '../../../../src/host/data/prune.ts';
import { startService, type TestService } from '../../../support/hosted.ts';
import { checks, readsEvents } from '../../../../src/service/reports/checks/names.ts';
import { event } from '../../../support/serving.ts';
import { fill, holdClock, later, type Filled } from './filled.ts';
import { built, checksOf, figuresOf, rowsOf, tableOf } from './world.ts';

let service: TestService;
let known: Filled;
let folder: string;
beforeAll(async () => {
  holdClock();
  folder = mkdtempSync(join(tmpdir(), 'gov-pruned-'));
  service = await startService();
  const tenant = await service.signUp('ada');
  const say = (runId: string) => tenant.call('POST', '/events', { body: event({ runId }) });
  await say('halved');
  known = await fill(tenant);
  await say('halved');
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

it.each(reportTemplateIds)('%s passes no check that reads events of which a part was pruned', async (id) => {
  const runId = id === 'run-evidence' ? 'after' : null;
  const of = { startMs: known.startMs, endMs: Date.now(), runId };
  const made = await built(service.services, [known.projectId, id], of);
  const names = new Set<string>([...readsEvents].map((each) => checks[each]));
  const own = made.contents.checks.filter(({ name }) => names.has(name));
  // the run began after the pruning
  const passed = id === 'run-evidence' ? [checks.fieldsKept] : [];
  expect(own.filter(({ status }) => status === 'pass').map(({ name }) => name)).toEqual(passed);
  for (const { name, status, detail } of own)
    if (runId === null && status === 'not_shown')
      expect([name, detail]).toEqual([name, expect.stringContaining('pruned')]);
});

it('a topic of the summary is not in order where a part of its events was pruned', async () => {
  const of = { startMs: known.startMs, endMs: Date.now() };
  const made = await built(service.services, [known.projectId, 'executive-summary'], of);
  const topics = rowsOf(made, 'attention', 'topic', 'status');
  // nothing of what is left was blocked
  const topic = 'Tool calls that were blocked or denied';
  expect(topics).toContainEqual({ topic, status: 'not shown' });
  const incident = await built(service.services, [known.projectId, 'incident-bundle'], {
    startMs: known.endMs + 1,
    endMs: Date.now(),
  });
  expect(JSON.stringify(incident.contents.sections)).not.toContain('The log has no failure');
});

it('a run whose first events were pruned has no check that all its fields are kept', async () => {
  const { projectId } = known;
  const made = await built(service.services, [projectId, 'run-evidence'], { runId: 'halved' });
  expect(checksOf(made)).toMatchObject({ 'All fields of the events are kept': 'not_shown' });
  const gone = await built(service.services, [projectId, 'run-evidence'], { runId: 'r1' });
  const kept = gone.contents.checks.find(({ name }) => name === checks.fieldsKept);
  expect(kept).toMatchObject({ status: 'not_shown', detail: expect.stringContaining('pruned') });
});

it('the pruning is certified by the root that the stored tree still has', async () => {
  const made = await built(service.services, [known.projectId, 'retention-deletion']);
  expect(rowsOf(made, 'prunings', 'status')).toEqual([{ status: 'root confirmed' }]);
  expect(checksOf(made)).toMatchObject({ 'Prunings left the hashes of the log as they were': 'pass' });
});
