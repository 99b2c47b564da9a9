/** `gov report schedules create TEMPLATE NAME`. Tested by `test/cli/commands/report/schedules.test.ts`. */
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { deliveriesOf, membersOf } from '../../schedules/input.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { safe } from '../../terminal/safe.ts';
import type { reportSchedulesCreate as spec } from '../../specs/prove/report-schedules.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session, settings } = call;
  const { cron, window, backfill, disabled } = flags;
  const members = membersOf(flags);
  const client = await session.client();
  const { template } = args;
  // a custom template has its own formats
  const formats = template.startsWith('tpl_')
    ? (await client.getReportTemplate({ params: { reportTemplateId: template } })).body.formats
    : (['pdf'] as const);
  const deliveries = await deliveriesOf(flags, members.formats ?? formats, call);
  const { body } = await client.createReportSchedule({
    body: {
      name: args.name,
      reportTemplateId: template,
      cron,
      // the parser accepts only these words
      window: window as 'previous_day',
      ...members,
      ...(deliveries === null ? {} : { deliveries }),
      ...(backfill ? { backfill } : {}),
      ...(disabled ? { enabled: false } : {}),
    },
    idempotencyKey: settings.idempotencyKey,
  });
  await out.one(body, viewOf('createReportSchedule'));
  if (out.isHuman && body.nextRunAt !== null)
    await out.note(
      safe`its first report is due at ${body.nextRunAt}; see it: gov report schedules get ${shellWord(body.scheduleId)}`,
    );
};
