/**
 * Finds a report and its artifacts, and answers with an artifact as a file (contract L6). Proven by
 * `test/service/reports/handlers.test.ts`.
 */
import type { ReportFormat } from '../../contract/report-parts.ts';
import { GovError } from '../../contract/problems.ts';
import type { StoredDocument } from '../../store/port/store.ts';
import { notFound, type StreamResponse } from '../call/answer.ts';
import type { Conditions } from '../port/handler.ts';
import type { Services } from '../port/services.ts';
import type { ArtifactOf, ByteRange } from '../hosting/artifacts.ts';
import { rangedAnswer } from '../exports/ranged.ts';
import { statusOf } from './body.ts';
import { dataOf, reportKind, type MadeArtifact, type StoredReport } from './stored.ts';

export interface FoundReport {
  readonly document: StoredDocument;
  readonly stored: StoredReport;
}

/** NOT_FOUND. */
export async function findReport(
  { store }: Pick<Services, 'store'>,
  projectId: string,
  executionId: string,
): Promise<FoundReport> {
  const document = await store.document(projectId, reportKind, executionId);
  if (document === null) throw notFound('report');
  return { document, stored: dataOf(document) };
}

export const isExpired = ({ document, stored }: FoundReport, nowMs: number): boolean =>
  statusOf(document, stored, nowMs) === 'expired';

export const gone = (detail: string): GovError => new GovError('GONE', detail);

interface Complete {
  readonly artifactId: string;
  readonly made: MadeArtifact;
}

/** NOT_FOUND where the report has no completed artifact of the format (contract L6). */
export function completeArtifact(found: FoundReport, format: ReportFormat, nowMs: number): Complete {
  const { document, stored } = found;
  const status = statusOf(document, stored, nowMs);
  const artifact = stored.artifacts.find((each) => each.format === format);
  const refuse = (detail: string): GovError => new GovError('NOT_FOUND', detail);
  if (artifact === undefined) {
    throw refuse(`the report has no ${format}: expected one of ${stored.formats.join(', ')}`);
  }
  if (status === 'expired') throw refuse(`the ${format} of the report has expired; create it again`);
  if (status === 'failed') throw refuse(`the report failed: ${stored.errorSummary ?? 'no reason was kept'}`);
  if (artifact.made === null || status !== 'completed')
    throw refuse(`format not completed: the report is ${status}; wait until it is completed`);
  return { artifactId: artifact.artifactId, made: artifact.made };
}

const mediaTypes: Readonly<Record<ReportFormat, string>> = {
  pdf: 'application/pdf',
  csv: 'text/csv; charset=utf-8; header=present',
  json: 'application/json',
};

/** PRECONDITION_FAILED, RANGE_NOT_SATISFIABLE, NOT_FOUND for a lost artifact, and errors of `begin` and `first`. */
export function artifactAnswer(
  services: Services,
  of: {
    readonly found: FoundReport;
    readonly format: ReportFormat;
    readonly complete: Complete;
    readonly conditions: Conditions | null;
    readonly headers?: Readonly<Record<string, string>>;
    readonly begin?: () => Promise<void>;
    /** Called before the first byte is read. */
    readonly first?: () => Promise<void>;
    readonly still: () => Promise<void>;
  },
): Promise<StreamResponse> {
  const { found, format, complete, conditions, headers = {}, first = async () => {} } = of;
  const { projectId, documentId: executionId } = found.document;
  const { artifactId, made } = complete;
  const place = { projectId, exportId: artifactId };
  const file = {
    digest: Buffer.from(made.sha256, 'hex'),
    sizeBytes: made.sizeBytes,
    contentType: mediaTypes[format],
    // template and id are ours: letters, digits, hyphens and underscores
    filename: `${found.stored.reportTemplateId}-${executionId}.${format}`,
    headers,
    begin: of.begin ?? (async () => {}),
    still: of.still,
    read: (range: ByteRange) => readAfter(services, { place, made, range, first }),
  };
  return rangedAnswer(file, conditions);
}

/** Reads an artifact. The operator sees why one cannot be read, and the caller that it is lost. */
async function* readAfter(
  { exports, log }: Services,
  of: {
    readonly place: ArtifactOf;
    readonly made: MadeArtifact;
    readonly range: ByteRange;
    readonly first: () => Promise<void>;
  },
): AsyncGenerator<Uint8Array, void, undefined> {
  const { place, made, range, first } = of;
  await first();
  try {
    yield* exports.artifacts.read(place, made, range);
  } catch (error) {
    log.error({ err: error, artifactId: place.exportId }, 'the artifact of a report cannot be read');
    if (!(error instanceof GovError) || error.code !== 'EXPORT_FAILED') throw error;
    const detail = 'the artifact of the report is lost; create the report again';
    throw new GovError('NOT_FOUND', detail, { cause: error });
  }
}
