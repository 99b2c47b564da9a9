/** Work that a killed process had: the next process on the directory has it at once. */
import { expect, it } from 'vitest';
import type { NewJob } from '../../../../src/store/port/store.ts';
import { openStore } from '../../../../src/store/sqlite/store.ts';
import {
  dropFolder,
  genesis,
  HandClock,
  newFolder,
  projectOf,
  seededBytes,
  startMs,
} from '../../support/fixture.ts';
import { unmetered } from '../../support/governance.ts';

const leaseMs = 60_000;

it('jobs and documents that a former process had in work are due when the next one opens the directory', async () => {
  const dataDir = newFolder();
  const open = () =>
    openStore({ dataDir, clock: new HandClock(), randomBytes: seededBytes('leases'), reserveBytes: 0 });
  const first = open();
  await first.createProject(projectOf('a'), genesis('a'));
  const job = (jobId: string): NewJob => ({
    jobId,
    type: 'proof',
    runId: 'r1',
    request: '{}',
    createdMs: startMs,
  });
  const effects = ['taken', 'waiting'].map((id) => ({ kind: 'enqueueJob', job: job(id) }) as const);
  await first.append(unmetered([], effects));
  const document = (documentId: string, dueMs: number) => ({
    save: {
      kind: 'report',
      documentId,
      key: null,
      parentId: null,
      status: 'queued',
      createdMs: startMs,
      dueMs,
      version: 0,
      data: '{}',
    },
  });
  await first.saveDocuments('prj_a', [document('taken', startMs), document('later', startMs + leaseMs)]);
  const claim = { kind: 'report', statuses: ['queued', 'processing'], leaseMs, becomes: 'processing' };
  const claimed = [
    (await first.claimJob(startMs, leaseMs))?.jobId,
    (await first.claimDocument({ ...claim, nowMs: startMs }))?.documentId,
  ];
  expect(claimed).toEqual(['taken', 'taken']);
  await first.close();

  const next = open();
  const nowMs = startMs + 1;
  const again = await next.claimDocument({ ...claim, nowMs });
  expect([again?.documentId, again?.status, again?.version]).toEqual(['taken', 'processing', 3]);
  expect(await next.claimDocument({ ...claim, nowMs })).toBeNull();
  expect(await next.claimJob(nowMs, leaseMs)).toMatchObject({ jobId: 'taken', attempt: 2 });
  expect((await next.claimJob(nowMs, leaseMs))?.jobId).toBe('waiting');
  await next.close();
  dropFolder(dataDir);
});
