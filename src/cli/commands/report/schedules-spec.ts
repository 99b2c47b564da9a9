/** Commands of gov report schedules, as data. Tested by `test/cli/commands/report/schedules.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { reportWindows } from '../../../contract/report-schedules.ts';
import { reportFormats } from '../../../contract/report-parts.ts';
import { command } from '../../program/spec.ts';

const scheduleId = { name: 'scheduleId', description: 'Schedule, such as sch_…' } as const;

const when = {
  cron: {
    type: 'string',
    value: 'CRON',
    maxLength: limits.scheduleCronChars,
    description: 'When it is due: minute, hour, day, month, day of the week, such as "0 6 * * MON"',
  },
  window: {
    type: 'string',
    choices: reportWindows,
    value: 'WINDOW',
    description: 'The period of each report, before the day when it is due',
  },
} as const;

const what = {
  timezone: {
    type: 'string',
    value: 'ZONE',
    description: 'IANA name, such as Europe/Zurich, of CRON and WINDOW; default: UTC',
  },
  format: {
    type: 'strings',
    separator: ',',
    choices: reportFormats,
    value: 'A,B',
    description: 'Formats; default: those of the template, which is pdf for a built-in one',
  },
  title: { type: 'string', value: 'TEXT', description: 'Title; default: that of the template' },
  locale: {
    type: 'string',
    value: 'TAG',
    description: 'Language of numbers and dates, such as de-CH; default: en',
  },
  run: { type: 'string', value: 'RUN', description: 'Only this run, for templates about one run' },
} as const;

const where = {
  email: { type: 'strings', value: 'ADDRESS', description: 'Send each format to this address; repeatable' },
  webhook: { type: 'strings', value: 'URL', description: 'POST each format to this https URL; repeatable' },
  secretFile: {
    type: 'string',
    value: 'FILE',
    description:
      'Secret that signs the webhooks: whsec_ and 24 to 64 bytes in base64; - reads standard input',
  },
  file: {
    type: 'strings',
    value: 'NAME',
    description:
      'Write each format to a file of the plane; NAME contains {executionId} or {date}; repeatable',
  },
} as const;

const channels =
  'Each target gets each format. Mail needs smtp, and files need deliveryDir in the configuration of the server.';

export const reportSchedulesCreate = command({
  name: 'report schedules create',
  prints: '=createReportSchedule',
  summary: 'Create a schedule, which makes a report each time that it is due',
  changes: true,
  details: [channels],
  args: [
    { name: 'template', description: 'Template; gov report templates lists them' },
    { name: 'name', description: 'What people call the schedule' },
  ],
  flags: {
    cron: { ...when.cron, required: true },
    window: { ...when.window, required: true },
    ...what,
    ...where,
    backfill: {
      type: 'boolean',
      description: `Make up for every time that was missed in the last ${limits.scheduleBackfillDays} days; default: the newest only`,
    },
    disabled: { type: 'boolean', description: 'Create it without making reports yet' },
  },
  examples: [
    'gov report schedules create decisions-exceptions "Weekly decisions" --cron "0 6 * * MON" --window previous_week --timezone Europe/Zurich --email audit@example.com',
    'gov report schedules create tool-access "Tools, daily" --cron "30 5 * * *" --window previous_day --format csv,json --file "tools/{date}.{format}"',
    'gov report schedules create executive-summary "Board" --cron "0 7 1 1,4,7,10 *" --window previous_quarter --webhook https://hooks.example.com/gov --secret-file hook.secret',
  ],
});

export const reportSchedulesUpdate = command({
  name: 'report schedules update',
  prints: '=updateReportSchedule',
  summary: 'Change a schedule; what you do not name stays',
  changes: true,
  details: [channels, 'A target replaces all targets of the schedule.'],
  args: [scheduleId],
  flags: {
    name: { type: 'string', value: 'NAME', maxLength: limits.scheduleNameChars, description: 'New name' },
    ...when,
    ...what,
    ...where,
    withoutDeliveries: { type: 'boolean', description: 'Send its reports nowhere' },
    enable: { type: 'boolean', description: 'Make reports again, from now on' },
    disable: { type: 'boolean', description: 'Make no reports until --enable' },
  },
  examples: [
    'gov report schedules update sch_01jq3v5k8hf7wb3c9x2m4n6p8r --disable',
    'gov report schedules update sch_01jq3v5k8hf7wb3c9x2m4n6p8r --cron "0 7 * * MON-FRI" --email audit@example.com',
  ],
});

export const reportSchedulesDelete = command({
  name: 'report schedules delete',
  prints: 'none',
  summary: 'Delete a schedule; its reports stay',
  changes: true,
  args: [scheduleId],
  examples: ['gov report schedules delete sch_01jq3v5k8hf7wb3c9x2m4n6p8r --yes'],
});
