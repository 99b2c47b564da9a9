/** The task of a report: its input and output, and the parts of its thread. Proven by `test/service/reports/worker.test.ts`. */
import type { ReportFormat, ReportParameters, ReportSummary } from '../../contract/report-parts.ts';
import type { ReportTemplateId } from '../../contract/report-words.ts';
import type { PictureKind } from '../../core/picture.ts';
import type { ReportBranding } from '../../core/report/model.ts';
import type { ReportFonts } from '../../core/report/inputs.ts';
import type { StoredSettings } from './settings.ts';

/** What a template reads (`src/service/reports/templates/source.ts`), and how its report is shown. */
export interface ReportTaskInput {
  readonly reportTemplateId: ReportTemplateId;
  readonly projectId: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly runId: string | null;
  readonly treeSize: number;
  readonly checkpoint: string;
  readonly timezone: string;
  readonly installation: 'plane' | 'service';
  readonly settings: Pick<StoredSettings, 'retentionDays' | 'legalHold' | 'contentCapture'>;
  /** Verifier keys of the log. */
  readonly keys: readonly string[];
  readonly witnesses: { readonly keys: readonly string[]; readonly quorum: number };
  readonly executionId: string;
  readonly title: string;
  readonly organization: string | null;
  readonly projectName: string | null;
  readonly parameters: ReportParameters;
  readonly locale: string;
  readonly generatedAt: string;
  readonly formats: readonly ReportFormat[];
  readonly branding: ReportBranding;
}

export interface ReportOutput {
  readonly summary: ReportSummary;
}

/** Parts of a worker thread that only the host has. */
export interface LocalParts {
  fonts(): Promise<ReportFonts>;
  /** Decodes a picture and encodes it again. Throws for a damaged one. */
  asPng(kind: PictureKind, bytes: Uint8Array): Promise<Uint8Array>;
}
