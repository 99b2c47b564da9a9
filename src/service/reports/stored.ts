/**
 * Reports, share links, branding and logos as documents (`src/store/port/documents.ts`). Proven by
 * `test/service/reports/handlers.test.ts`.
 */
import type {
  ReportFormat,
  ReportPaper,
  ReportParameters,
  ReportSummary,
} from '../../contract/report-parts.ts';
import type { ReportTemplate } from '../../core/reports/model.ts';
import type { StoredDocument } from '../../store/port/store.ts';

/**
 * A report. Its status is `ReportStatus` of the contract. Its key names the request that may create it once: a schedule with its due
 * time, or a client's idempotency key. It is due when a worker shall build it, record its end, or remove its artifacts.
 */
export const reportKind = 'report';

export interface StoredReport {
  readonly reportTemplateId: string;
  /** A copy of the custom template, made when the report was requested; absent for a built-in one. */
  readonly template?: ReportTemplate;
  readonly title: string;
  readonly parameters: ReportParameters;
  readonly formats: readonly ReportFormat[];
  readonly timezone: string;
  readonly locale: string;
  readonly scheduleId: string | null;
  /** Key, user or schedule. */
  readonly requestedBy: { readonly id: string; readonly type: string };
  readonly attempts: number;
  readonly startedMs: number | null;
  readonly completedMs: number | null;
  readonly expiresMs: number | null;
  readonly errorSummary: string | null;
  readonly summary: ReportSummary | null;
  /** The text of the file `report.dsse.json`; earlier versions signed no report. */
  readonly signature?: string;
  /** One for each format. */
  readonly artifacts: readonly StoredArtifact[];
  /** The first rows, as `ReportData`. */
  readonly preview: Omit<StoredArtifact, 'format'>;
}

interface StoredArtifact {
  readonly artifactId: string;
  readonly format: ReportFormat;
  /** Null until the report is complete. */
  readonly made: MadeArtifact | null;
}

/** A finished artifact in the storage of `src/service/hosting/artifacts.ts`. */
export interface MadeArtifact {
  /** Its name there. */
  readonly artifact: string;
  readonly sizeBytes: number;
  /** SHA-256, hex. */
  readonly sha256: string;
}

/** A share link. Its parent is the report, its key the SHA-256 of its token, its status `active` or `revoked`. */
export const shareKind = 'report_share';

export interface StoredShare {
  readonly format: ReportFormat;
  readonly expiresMs: number;
  readonly maxDownloads: number | null;
  readonly downloadCount: number;
  readonly createdBy: string;
  readonly revokedMs: number | null;
}

/** The branding of a project: one document, whose id is its kind. */
export const brandingKind = 'report_branding';

export interface StoredBranding {
  readonly companyName: string | null;
  readonly primaryColor: string;
  readonly accentColor: string;
  readonly footerText: string | null;
  /** Absent in documents of earlier versions. */
  readonly paper?: ReportPaper;
  readonly logoId: string | null;
  readonly logoUrl: string | null;
  readonly updatedMs: number;
}

/** A logo. Its id is also its key, because it is read without a project. */
export const logoKind = 'report_logo';

export interface StoredLogo extends MadeArtifact {
  readonly mediaType: 'image/png' | 'image/jpeg';
}

export interface ReportDocumentOf<Data> {
  readonly document: StoredDocument;
  readonly stored: Data;
}

/** The data of a document of these kinds; this service wrote it. */
export const dataOf = <Data>({ data }: Pick<StoredDocument, 'data'>): Data => JSON.parse(data) as Data;
