/** What a report says about itself. Proven by `test/console/reports/words.test.ts`. */
import type { ReportExecution } from '../../contract/report-parts.ts';

/** Whether a report is made, or never will be. */
export const isOver = (status: ReportExecution['status']): boolean =>
  status !== 'queued' && status !== 'processing';

const dayOf = (time: string): string => new Date(time).toISOString().slice(0, 10);

/** `2026-01-01 to 2026-03-31 UTC`. */
export const periodText = ({ startTime, endTime }: ReportExecution['parameters']): string =>
  `${dayOf(startTime)} to ${dayOf(endTime)} UTC`;
