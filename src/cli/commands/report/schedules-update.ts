/** `gov report schedules update ID`. Tested by `test/cli/commands/report/schedules.test.ts`. */
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { deliveriesOf, membersOf } from '../../schedules/input.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import type { reportSchedulesUpdate as spec } from '../../specs/prove/report-schedules.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session } = call;
  const { name, cron, window, withoutDeliveries, enable, disable } = flags;
  if (enable && disable) throw usage('expected one of --enable and --disable, got both');
  const client = await session.client();
  const members = membersOf(flags);
  const hasTargets = flags.email.length + flags.webhook.length + flags.file.length > 0;
  if (hasTargets && withoutDeliveries) throw usage('expected targets or --without-deliveries, got both');
  const formats = async () =>
    members.formats ?? (await client.getReportSchedule({ params: args })).body.formats;
  const deliveries = hasTargets ? await deliveriesOf(flags, await formats(), call) : null;
  const body = {
    ...(name === undefined ? {} : { name }),
    ...(cron === undefined ? {} : { cron }),
    ...(window === undefined ? {} : { window: window as 'previous_day' }), // the parser accepts only these words
    ...members,
    ...(deliveries === null ? {} : { deliveries }),
    ...(withoutDeliveries ? { deliveries: [] } : {}),
    ...(enable || disable ? { enabled: enable } : {}),
  };
  if (Object.keys(body).length === 0) throw usage('expected a change, such as --cron CRON or --disable');
  const { body: schedule } = await client.updateReportSchedule({ params: args, body });
  await out.one(schedule, viewOf('updateReportSchedule'));
};
