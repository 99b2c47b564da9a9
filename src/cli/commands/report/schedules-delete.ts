/** `gov report schedules delete ID`. Tested by `test/cli/commands/report/schedules.test.ts`. */
import { confirm } from '../../terminal/ask.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { reportSchedulesDelete as spec } from '../../specs/prove/report-schedules.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, out, session } = call;
  await confirm(`this deletes the schedule ${args.scheduleId}; its reports stay`, '--yes', call);
  const client = await session.client();
  await client.deleteReportSchedule({ params: args });
  await out.note(safe`deleted ${args.scheduleId}`);
};
