/** A sample of `gov top` in which everything is there. */
import type { TopSample } from '../../../../src/cli/screens/top/sample.ts';

const time = '2026-03-01T12:00:00.000Z';

export const sample: TopSample = {
  time,
  address: 'http://127.0.0.1:7460/api/v1',
  context: 'plane',
  status: 'ok',
  reasons: [],
  version: '0.1.0',
  answerMs: 3,
  ingest: { leaves: 18_402_117, leavesPerSecond: 1243, p99Ms: 5, queue: 7, failed: 0 },
  checkpoint: { size: 18_402_000, signedAt: time, ageSeconds: 12, witnesses: 2 },
  integrity: {
    scrub: null,
    fsck: null,
    backup: null,
    disk: { freeBytes: 2 ** 35, databaseBytes: 2 ** 30, exportBytes: 0, bytesPerDay: 2 ** 20, daysLeft: 900 },
  },
  jobs: {
    pending: { count: 1, isCut: false },
    processing: { count: 3, isCut: false },
    failed: { count: 100, isCut: true },
    shown: [
      {
        jobId: 'job_1',
        type: 'proof',
        runId: '退款-42\u001b[2J',
        status: 'failed',
        createdAt: '2026-03-01T11:58:00.000Z',
        errorSummary: 'no space left',
      },
      {
        jobId: 'job_2',
        type: 'replay',
        runId: 'checkout-42',
        status: 'processing',
        createdAt: '2026-03-01T11:59:30.000Z',
        errorSummary: null,
      },
    ],
  },
  sources: {
    known: { count: 2, isCut: false },
    silent: 1,
    missing: 0,
    rejected: 0,
    shown: [
      {
        service: 'planner',
        instance: null,
        lastSeenAt: '2026-03-01T08:00:00.000Z',
        silent: true,
        missing: 0,
        rejected: 0,
      },
    ],
  },
  approvals: { waiting: { count: 0, isCut: false }, shown: [] },
  unread: [],
};

export const sampledMs = Date.parse(time);
