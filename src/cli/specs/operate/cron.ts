/** Commands of the noun cron, as data. Tested by `test/cli/commands/cron/run.test.ts`. */
import { command, flag } from '../../program/spec.ts';

export const cronRun = command({
  name: 'cron run',
  prints: 'data[] =runReportSchedules work',
  summary: 'Do the scheduled work of reports now, as a scheduler does',
  changes: true,
  details: [
    'WORK is schedules (create reports that are due), executions (build them), deliveries (send them), cleanup (remove expired files), or all: one after the other, until nothing is due.',
    'The secret is that of the server: GOV_CRON_SECRET, GOV_CRON_SECRET_FILE, or --secret-file. Two calls at once are safe. A server whose setting scheduler is timer needs no such calls.',
  ],
  args: [
    {
      name: 'work',
      description: 'schedules, executions, deliveries, cleanup or all',
      choices: ['schedules', 'executions', 'deliveries', 'cleanup', 'all'],
    },
  ],
  flags: {
    secretFile: flag.text(
      'FILE',
      'File with the secret; - reads standard input. Default: GOV_CRON_SECRET or GOV_CRON_SECRET_FILE',
    ),
  },
  examples: [
    'gov cron run all --secret-file cron.secret',
    'GOV_CRON_SECRET_FILE=cron.secret gov cron run deliveries -o json',
  ],
  exitCodes: { 1: 'something failed for good; gov report list and gov report deliveries list say what' },
});
