/**
 * What a delivery says about its report: the text of a mail, the body of a webhook, the name of a file. The same on each
 * attempt. Proven by `test/service/reports/deliveries/due.test.ts`.
 */
import type { ReportFormat, ReportSignature } from '../../../contract/report-parts.ts';
import { formatter } from '../../../core/reports/format.ts';
import type { ReportFigure } from '../../../core/reports/model.ts';
import { signatureNameOf } from '../../../core/reports/artifacts.ts';
import { formatTimestamp, parseTimestamp } from '../../../core/time.ts';
import { visibleLine } from '../../../core/visible.ts';
import { filledName } from './file-name.ts';
import type { MadeArtifact, StoredReport } from '../stored.ts';

export interface DeliveryContent {
  readonly deliveryId: string;
  readonly executionId: string;
  readonly report: StoredReport;
  readonly format: ReportFormat;
  readonly made: MadeArtifact & { readonly artifactId: string };
}

export const mediaTypes: Readonly<Record<ReportFormat, string>> = {
  pdf: 'application/pdf',
  csv: 'text/csv',
  json: 'application/json',
};

/** The signature that goes with the report; null for a format that contains or has none, and for an older report. */
export const signatureOf = ({ report, format }: DeliveryContent): string | null =>
  format === 'json' ? (report.signature ?? null) : null;

/** Template and id are ours: letters, digits, hyphens and underscores. */
export const filenameOf = ({ report, executionId, format }: DeliveryContent): string =>
  `${report.reportTemplateId}-${executionId}.${format}`;

/** The period in the time zone of the report, such as `2026-03-01 to 2026-03-31 (Europe/Zurich)`. */
function periodOf({ parameters, timezone }: StoredReport): string {
  // the form of en-CA is that of ISO 8601
  const day = new Intl.DateTimeFormat('en-CA', { timeZone: timezone, dateStyle: 'short' });
  const [start, end] = [parameters.startTime, parameters.endTime].map((time) =>
    day.format(parseTimestamp(time) ?? 0),
  );
  return `${start === end ? start : `${start} to ${end}`} (${timezone})`;
}

const mostFigures = 20;

export function mailOf(delivered: DeliveryContent): { readonly subject: string; readonly text: string } {
  const { report, executionId, made } = delivered;
  const words = formatter(report.locale, report.timezone);
  const { summary, title } = report;
  const failed = summary?.checks.filter(({ status }) => status === 'fail') ?? [];
  const isSigned = signatureOf(delivered) !== null;
  const lines = [
    title,
    periodOf(report),
    '',
    ...(failed.length === 0
      ? []
      : ['Checks that failed:', ...failed.map(({ name, detail }) => `- ${name}: ${detail}`), '']),
    ...(summary?.figures
      .slice(0, mostFigures)
      .map(({ label, value, kind }) => `${label}: ${words.cell(value, kind as ReportFigure['kind'])}`) ?? []),
    '',
    `Attached: ${filenameOf(delivered)}, ${made.sizeBytes} bytes`,
    `SHA-256: ${made.sha256}`,
    ...(isSigned ? [`Signature: ${signatureNameOf(filenameOf(delivered))}`] : []),
    `Report: ${executionId}`,
    ...(delivered.format === 'pdf' || isSigned
      ? ['', 'Check it without the sender: gov report verify FILE']
      : []),
  ];
  return {
    subject: visibleLine(`${title}, ${periodOf(report)}`),
    text: `${lines.map(visibleLine).join('\n')}\n`,
  };
}

/**
 * The body of a webhook. `content`: the artifact in base64, or null where it is too large; the receiver downloads it.
 * `signature`: the DSSE envelope of a JSON report, else null.
 */
export function webhookBody(delivered: DeliveryContent, content: string | null): Uint8Array {
  const { deliveryId, executionId, report, format, made } = delivered;
  const { reportTemplateId, title, parameters, completedMs, summary } = report;
  const signature = signatureOf(delivered);
  const data = {
    deliveryId,
    executionId,
    reportTemplateId,
    title,
    startTime: parameters.startTime,
    endTime: parameters.endTime,
    dataHash: summary?.dataHash ?? null,
    format,
    mediaType: mediaTypes[format],
    filename: filenameOf(delivered),
    sizeBytes: made.sizeBytes,
    sha256: made.sha256,
    content,
    signature: signature === null ? null : (JSON.parse(signature) as ReportSignature), // this service wrote it
  };
  return Buffer.from(
    JSON.stringify({ type: 'report.delivered', timestamp: formatTimestamp(completedMs ?? 0), data }),
  );
}

/** The name of a file with its placeholders replaced. `{date}` is the last day of the period. */
export function fileNameOf(target: string, { executionId, report, format }: DeliveryContent): string {
  const day = new Intl.DateTimeFormat('en-CA', { timeZone: report.timezone, dateStyle: 'short' });
  const date = day.format(parseTimestamp(report.parameters.endTime) ?? 0);
  return filledName(target, { executionId, format, date, template: report.reportTemplateId });
}
