/** Records in the log who read a report. Proven by `test/service/reports/handlers.test.ts`. */
import type { ReportFormat } from '../../contract/report-parts.ts';
import type { Services } from '../port/services.ts';
import { append } from '../writes/append.ts';
import { reportDownloaded } from './events.ts';

/** One event for each reader and day. A full disk does not prevent the download. */
export async function recordDownload(
  services: Services,
  projectId: string,
  read: {
    readonly executionId: string;
    readonly format: ReportFormat;
    readonly by: { readonly id: string; readonly type: string };
  },
): Promise<void> {
  const { now, salt, log, fingerprint } = services;
  const { executionId, format, by } = read;
  const event = reportDownloaded({ executionId, format }, { nowMs: now(), salt, by });
  const fingerprints = new Map([[0, fingerprint(event.clientEventId ?? '')]]);
  try {
    await append(services, { projectId, leaves: [event], fingerprints });
  } catch (error) {
    log.warn({ err: error, executionId }, 'a download could not be recorded');
  }
}
