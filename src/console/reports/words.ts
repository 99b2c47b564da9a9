import type { ReportExecution } from '../../contract/report-parts.ts';

/** Whether a report is made, or never will be. */
export const isOver = (status: ReportExecution['status']): boolean =>
  status !== 'queued' && status !== 'processing';
