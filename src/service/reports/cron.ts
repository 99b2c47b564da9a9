/** Handlers of the calls of a scheduler (contract L15). Proven by `test/service/reports/scheduler.test.ts`. */
import type { CronSummary } from '../../contract/cron.ts';
import type { Handlers } from '../port/handler.ts';
import type { ScheduledWork, Services } from '../port/services.ts';

const call =
  (name: ScheduledWork) =>
  async (_call: unknown, { runScheduled }: Services): Promise<{ status: 200; body: CronSummary }> => ({
    status: 200,
    body: await runScheduled(name),
  });

export const cron: Pick<
  Handlers,
  'runReportSchedules' | 'runReportExecutions' | 'runReportDeliveries' | 'runReportCleanup'
> = {
  runReportSchedules: call('schedules'),
  runReportExecutions: call('executions'),
  runReportDeliveries: call('deliveries'),
  runReportCleanup: call('cleanup'),
};
