/** Commands of gov report schedules, as data. Tested by `test/cli/commands/report/schedules.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { reportWindows } from '../../../contract/report-schedules.ts';
import { reportFormats } from '../../../contract/report-parts.ts';
import { command, flag } from '../../program/spec.ts';

const scheduleId = { name: 'scheduleId', description: 'Schedule, such as sch_…' } as const;

const when = {
  cron: flag.text(
    'CRON',
    'When it is due: minute, hour, day, month, day of the week, such as "0 6 * * MON"',
    { maxLength: limits.scheduleCronChars },
  ),
  window: flag.text('WINDOW', 'The period of each report, before the day when it is due', {
    choices: reportWindows,
  }),
} as const;

const what = {
  timezone: flag.text('ZONE', 'IANA name, such as Europe/Zurich, of CRON and WINDOW; default: UTC'),
  format: flag.list('A,B', 'Formats; default: those of the template, which is pdf for a built-in one', {
    separator: ',',
    choices: reportFormats,
  }),
  title: flag.text('TEXT', 'Title; default: that of the template'),
  locale: flag.text('TAG', 'Language of numbers and dates, such as de-CH; default: en'),
  run: flag.text('RUN', 'Only this run, for templates about one run'),
} as const;

const where = {
  email: flag.list('ADDRESS', 'Send each format to this address; repeatable'),
  webhook: flag.list('URL', 'POST each format to this https URL; repeatable'),
  secretFile: flag.text(
    'FILE',
    'Secret that signs the webhooks: whsec_ and 24 to 64 bytes in base64; - reads standard input',
  ),
  file: flag.list(
    'NAME',
    'Write each format to a file of the plane; NAME contains {executionId} or {date}; repeatable',
  ),
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
    backfill: flag.on(
      `Make up for every time that was missed in the last ${limits.scheduleBackfillDays} days; default: the newest only`,
    ),
    disabled: flag.on('Create it without making reports yet'),
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
    name: flag.text('NAME', 'New name', { maxLength: limits.scheduleNameChars }),
    ...when,
    ...what,
    ...where,
    withoutDeliveries: flag.on('Send its reports nowhere'),
    enable: flag.on('Make reports again, from now on'),
    disable: flag.on('Make no reports until --enable'),
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
