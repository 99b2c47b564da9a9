/** Jobs: proofs and replays that the service makes after the response (contract H1-H8). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { clientId, exact, nullable, page, paging, serviceId, timestamp } from './shapes.ts';

const type = Type.Union([Type.Literal('proof'), Type.Literal('replay')]);
const status = Type.Union([
  Type.Literal('pending'),
  Type.Literal('processing'),
  Type.Literal('completed'),
  Type.Literal('failed'),
  Type.Literal('cancelled'),
]);
const created = { createdAt: timestamp('When it was accepted') };
const completed = { completedAt: nullable(timestamp('When it completed, failed or was cancelled')) };
const failure = {
  errorSummary: nullable(
    Type.String({
      maxLength: limits.jobErrorChars,
      description: 'Why the job failed, or why its last attempt did; null once it is completed',
    }),
  ),
};

const Job = Type.Object({
  jobId: serviceId('job'),
  type,
  runId: Type.String(),
  status,
  result: Type.Optional(Type.Unknown()),
  ...created,
  ...completed,
  ...failure,
});
const ListedJob = Type.Object({
  jobId: serviceId('job'),
  type,
  runId: Type.String(),
  status,
  ...created,
  ...completed,
  durationMs: nullable(Type.Integer()),
  ...failure,
  request: Type.Unknown(),
});
export type ListedJob = Static<typeof ListedJob>;

const params = exact({ jobId: serviceId('job') });

export const jobs = {
  getJob: operation({
    method: 'GET',
    path: '/jobs/{jobId}',
    tag: 'Jobs',
    stability: 'stable',
    origin: 'specification',
    scope: 'jobs:read',
    command: 'jobs get',
    summary: 'Get one job and, once completed, its result',
    params,
    success: { 200: Job },
    statuses: [401, 404, 500],
  }),
  listJobs: operation({
    method: 'GET',
    path: '/jobs',
    tag: 'Jobs',
    stability: 'stable',
    origin: 'specification',
    scope: 'jobs:read',
    command: 'jobs list',
    summary: 'List jobs, newest first',
    query: exact({
      type: Type.Optional(type),
      status: Type.Optional(status),
      runId: Type.Optional(clientId('Run')),
      startTime: Type.Optional(timestamp('Inclusive lower bound on createdAt, to the millisecond')),
      endTime: Type.Optional(timestamp('Inclusive upper bound on createdAt, to the millisecond')),
      ...paging,
    }),
    success: { 200: page(ListedJob) },
    statuses: [400, 401, 500],
  }),
  retryJob: operation({
    method: 'POST',
    path: '/jobs/{jobId}/retry',
    tag: 'Jobs',
    stability: 'stable',
    origin: 'specification',
    scope: 'jobs:retry',
    command: 'jobs retry',
    summary: 'Run a failed or cancelled job again under the same id',
    params,
    success: {
      202: Type.Object({
        jobId: serviceId('job'),
        type,
        status,
        runId: Type.String(),
        attempt: Type.Integer({ minimum: 1 }),
        ...created,
        retriedAt: timestamp('When the retry was accepted'),
      }),
    },
    statuses: [401, 404, 409, 429, 500],
  }),
  cancelJob: operation({
    method: 'POST',
    path: '/jobs/{jobId}/cancel',
    tag: 'Jobs',
    stability: 'beta',
    origin: 'extension',
    scope: 'jobs:cancel',
    command: 'jobs cancel',
    summary: 'Cancel a job that has not ended; a running one stops and stores nothing',
    params,
    success: { 200: Job },
    statuses: [401, 403, 404, 409, 500],
  }),
} as const;
