/** What each report says of its period, whatever its template. */
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { reportTemplateIds } from '../../../../src/contract/report-words.ts';
import { startService, type TestService } from '../../../support/hosted.ts';
import { fill, holdClock, type Filled } from './filled.ts';
import { built, checksOf } from './world.ts';

let service: TestService;
let known: Filled;
beforeAll(async () => {
  holdClock();
  service = await startService();
  known = await fill(await service.signUp('ada'));
});
afterAll(async () => {
  vi.restoreAllMocks();
  await service.end();
});

it.each(reportTemplateIds)('%s says that a period is not over where entries can still follow', async (id) => {
  const { projectId, startMs, endMs } = known;
  const runId = id === 'run-evidence' ? 'r1' : null;
  const endingAt = async (ms: number) =>
    checksOf(await built(service.services, [projectId, id], { startMs, endMs: ms, runId }));
  expect(await endingAt(Date.parse('2100-01-01T00:00:00Z'))).toMatchObject({
    'The period is over': 'not_shown',
  });
  expect(await endingAt(endMs)).not.toHaveProperty(['The period is over']);
});
