/**
 * The calls of a scheduler (contract L15): they have no user credential, but the header `x-cron-secret`. Each is safe at
 * any time, also twice at once, and ends within `limits.cronSeconds`.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { nullable, timestamp } from './shapes.ts';

const Summary = Type.Object({
  processed: Type.Integer({ minimum: 0, description: 'All that this call took up' }),
  succeeded: Type.Integer({ minimum: 0 }),
  failed: Type.Integer({ minimum: 0 }),
  skipped: Type.Integer({ minimum: 0, description: 'Tried again later, or done by another process' }),
  createdIds: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: limits.cronCreatedIds,
      description: `The first ${limits.cronCreatedIds} reports that schedules created`,
    }),
  ),
  durationMs: Type.Integer({ minimum: 0 }),
  nextDueAt: nullable(timestamp('When the next one is due; a time in the past: call again')),
});
export type CronSummary = Static<typeof Summary>;

const called = {
  method: 'POST',
  tag: 'Reporting',
  stability: 'beta',
  origin: 'specification',
  scope: null,
  access: 'cron',
  success: { 200: Summary },
  statuses: [401, 429, 500],
} as const;

export const cron = {
  runReportSchedules: operation({
    ...called,
    path: '/cron/reporting/schedules',
    summary: 'Create queued reports for due schedules',
  }),
  runReportExecutions: operation({
    ...called,
    path: '/cron/reporting/executions',
    summary: 'Build queued reports',
  }),
  runReportDeliveries: operation({
    ...called,
    path: '/cron/reporting/deliveries',
    summary: 'Send due deliveries, and repeat failed ones',
  }),
  runReportCleanup: operation({
    ...called,
    path: '/cron/reporting/cleanup',
    summary: 'Remove expired artifacts and old share links',
  }),
} as const;
