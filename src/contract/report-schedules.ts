/** Schedules of reports (contract L8): which report is made when, about which period, and where it goes. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import {
  DeliveryInput,
  deliveryChannels,
  executionId,
  formatList,
  reportFormats,
  reportLocale,
  reportTitle,
  reportZone,
  templateId,
} from './report-parts.ts';
import { resource } from './resource.ts';
import { clientId, exact, nullable, oneOf, readOnly, serviceId, timestamp } from './shapes.ts';
import { namePattern } from './text-patterns.ts';

export const reportWindows = ['previous_day', 'previous_week', 'previous_month', 'previous_quarter'] as const;

const name = Type.String({
  minLength: 1,
  maxLength: limits.scheduleNameChars,
  pattern: namePattern,
  description: 'What people call it',
});
const window = oneOf(reportWindows);
const cron = Type.String({
  minLength: 1,
  maxLength: limits.scheduleCronChars,
  description:
    'When it is due, in its time zone: minute, hour, day of the month, month, day of the week, such as 0 6 * * MON. ' +
    'Names, L (last), W (nearest weekday) and # (nth) are allowed',
});
const zone = Type.String({
  ...reportZone,
  description: 'IANA name of the time zone of cron and window, in which times are printed; default UTC',
});
const runId = clientId('Only this run; required by templates about one run');
const enabled = Type.Boolean({ description: 'Whether it makes reports; default true' });
const backfill = Type.Boolean({
  description:
    `Whether it makes up for every time it missed in the last ${limits.scheduleBackfillDays} days; default false: ` +
    'for the newest one only',
});
const deliveries = Type.Array(DeliveryInput, {
  maxItems: limits.reportDeliveries,
  description: 'Where each report goes; default: nowhere',
});

const Input = exact({
  name,
  reportTemplateId: templateId,
  window,
  cron,
  timezone: Type.Optional(zone),
  formats: Type.Optional(formatList),
  title: Type.Optional(nullable(reportTitle)),
  locale: Type.Optional(reportLocale),
  runId: Type.Optional(nullable(runId)),
  deliveries: Type.Optional(deliveries),
  enabled: Type.Optional(enabled),
  backfill: Type.Optional(backfill),
});
export type ScheduleInput = Static<typeof Input>;

const Target = Type.Object({
  channel: oneOf(deliveryChannels),
  target: Type.String({ description: 'Masked' }),
  format: oneOf(reportFormats),
  disabledAt: nullable(timestamp('When the receiver answered 410 Gone; PUT deliveries to use it again')),
});

const scheduleId = serviceId('sch');
const Schedule = Type.Object({
  scheduleId,
  name,
  reportTemplateId: Type.String(),
  window,
  cron: Type.String(),
  timezone: Type.String(),
  formats: Type.Array(oneOf(reportFormats)),
  title: nullable(Type.String()),
  locale: Type.String(),
  runId: nullable(Type.String()),
  deliveries: Type.Array(Target),
  enabled,
  backfill,
  nextRunAt: nullable(timestamp('When it is due; null while it is not enabled')),
  lastRunAt: nullable(timestamp('When it was due last')),
  lastExecutionId: nullable(executionId),
  errorSummary: nullable(Type.String({ description: 'Why the newest report could not be queued' })),
  createdAt: timestamp('When it was created'),
  updatedAt: timestamp('When somebody last changed it'),
});
export type ReportSchedule = Static<typeof Schedule>;

const Update = exact({
  ...Type.Partial(Input).properties,
  deliveries: Type.Optional(
    Type.Array(exact({ ...DeliveryInput.properties, disabledAt: readOnly }), {
      maxItems: limits.reportDeliveries,
      description:
        'Where each report goes. The list as the service returned it changes nothing; an item of another list has its ' +
        'whole target and no disabledAt',
    }),
  ),
  scheduleId: readOnly,
  nextRunAt: readOnly,
  lastRunAt: readOnly,
  lastExecutionId: readOnly,
  errorSummary: readOnly,
  createdAt: readOnly,
  updatedAt: readOnly,
});
export type ScheduleUpdate = Partial<ScheduleInput>;

const params = exact({ scheduleId });
const schedule = resource({
  tag: 'Reporting',
  stability: 'beta',
  origin: 'extension',
  path: '/reporting/schedules',
  params,
  item: Schedule,
  reads: 'reporting:read',
  writes: 'reporting:write',
});

export const reportSchedules = {
  createReportSchedule: schedule.create({
    summary: 'Create a schedule, which makes a report each time that it is due',
    body: Input,
    statuses: [400, 401, 402, 403, 404, 409, 500],
  }),
  listReportSchedules: schedule.list({
    command: 'report schedules list',
    summary: 'List schedules, newest first',
    statuses: [400, 401, 402, 403, 500],
  }),
  getReportSchedule: schedule.get({
    command: 'report schedules get',
    summary: 'Get a schedule: when it is due, and its last report',
    tagged: true,
    statuses: [401, 402, 403, 404, 500],
  }),
  updateReportSchedule: schedule.update({
    summary: 'Change members of a schedule; the others stay',
    body: Update,
    statuses: [400, 401, 402, 403, 404, 409, 500],
  }),
  deleteReportSchedule: schedule.delete({
    summary: 'Delete a schedule; its reports stay',
    ifMatch: true,
    statuses: [401, 402, 403, 404, 409, 500],
  }),
} as const;
