/**
 * System events of reports (contract O8): who asked for which data, what was made of it, and who got it. Proven by
 * `test/service/reports/handlers.test.ts`.
 */
import type { ReportFormat, ReportSummary } from '../../contract/report-parts.ts';
import type { EventDraft } from '../../core/events/record.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { systemEvent } from '../writes/system.ts';
import type { StoredReport } from './stored.ts';

interface Context {
  readonly nowMs: number;
  readonly salt: () => string;
}

interface By {
  readonly id: string;
  readonly type: string;
}

const service: By = { id: 'gov', type: 'service' };

/** A report was requested. */
export const reportCreated = (
  { executionId, stored }: { readonly executionId: string; readonly stored: StoredReport },
  { by, ...context }: Context & { readonly by: By },
): EventDraft => {
  const { reportTemplateId, parameters, formats, scheduleId } = stored;
  return systemEvent(
    {
      eventType: 'report.created',
      action: 'create',
      actor: by,
      resource: { id: executionId, type: 'report' },
      // parameters are JSON
      metadata: {
        reportTemplateId,
        parameters: parameters as unknown as JsonObject,
        formats: [...formats],
        ...(scheduleId === null ? {} : { scheduleId }),
      },
    },
    context,
  );
};

/** A report is complete. `hashes`: SHA-256 of each artifact, hex. */
export const reportCompleted = (
  made: {
    readonly executionId: string;
    readonly stored: StoredReport;
    readonly summary: ReportSummary;
    readonly hashes: Readonly<Record<string, string>>;
  },
  context: Context,
): EventDraft => {
  const { executionId, stored, summary, hashes } = made;
  const { reportTemplateId, scheduleId } = stored;
  const { dataHash, rowCount, log } = summary;
  return systemEvent(
    {
      eventType: 'report.completed',
      action: 'complete',
      actor: service,
      resource: { id: executionId, type: 'report' },
      metadata: {
        reportTemplateId,
        dataHash,
        rowCount,
        treeSize: log.treeSize,
        rootHash: log.rootHash,
        artifacts: hashes,
        ...(scheduleId === null ? {} : { scheduleId }),
      },
    },
    context,
  );
};

/** A report failed for good. */
export const reportFailed = (
  failed: {
    readonly executionId: string;
    readonly reportTemplateId: string;
    readonly errorSummary: string;
  },
  context: Context,
): EventDraft => {
  const { executionId, reportTemplateId, errorSummary } = failed;
  return systemEvent(
    {
      eventType: 'report.failed',
      action: 'fail',
      actor: service,
      resource: { id: executionId, type: 'report' },
      metadata: { reportTemplateId, errorSummary },
    },
    context,
  );
};

/**
 * An artifact was downloaded, whole or in part: one event for each report, format, caller and day (UTC). A client's own
 * id contains no `/` (contract A2), so these ids never collide with one.
 */
export const reportDownloaded = (
  { executionId, format }: { readonly executionId: string; readonly format: ReportFormat },
  { by, ...context }: Context & { readonly by: By },
): EventDraft => {
  const day = new Date(context.nowMs).toISOString().slice(0, 10);
  return systemEvent(
    {
      eventType: 'report.downloaded',
      action: 'download',
      actor: { id: by.id, type: by.type },
      resource: { id: executionId, type: 'report' },
      metadata: { format },
      clientEventId: `report/${executionId}/${format}/downloaded/${by.id}/${day}`,
    },
    context,
  );
};

/** A share link was created or revoked. */
export const reportShared = (
  shared: {
    readonly executionId: string;
    readonly shareId: string;
    readonly format: ReportFormat;
    readonly isRevoked: boolean;
  },
  { by, ...context }: Context & { readonly by: By },
): EventDraft => {
  const { executionId, shareId, format, isRevoked } = shared;
  return systemEvent(
    {
      eventType: isRevoked ? 'report.unshared' : 'report.shared',
      action: isRevoked ? 'unshare' : 'share',
      actor: { id: by.id, type: by.type },
      resource: { id: executionId, type: 'report' },
      metadata: { shareId, format },
    },
    context,
  );
};
