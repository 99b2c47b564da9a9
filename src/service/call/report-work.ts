/** The task of a report: its input and output, and the parts of its thread. Proven by `test/service/reports/worker.test.ts`. */
import type {
  ReportFormat,
  ReportPaper,
  ReportParameters,
  ReportSummary,
} from '../../contract/report-parts.ts';
import type { ReportTemplateId } from '../../contract/report-words.ts';
import type { PictureKind } from '../../core/picture.ts';
import type { ReportBranding, ReportTemplate } from '../../core/reports/model.ts';
import type { ReportFonts } from '../../core/reports/inputs.ts';
import type { StoredSettings } from './settings.ts';

/** What a template reads (`src/service/reports/templates/source.ts`). Crosses a thread boundary by structured clone. */
export interface ReportInput {
  readonly reportTemplateId: ReportTemplateId;
  readonly projectId: string;
  /** Unix milliseconds, both included. They select by the time at which the log recorded an entry. */
  readonly startMs: number;
  readonly endMs: number;
  readonly runId: string | null;
  /** Size of the tree of `checkpoint`: only leaves below it are read. */
  readonly treeSize: number;
  /** The signed note. */
  readonly checkpoint: string;
  /** IANA name. */
  readonly timezone: string;
  readonly installation: 'plane' | 'service';
  /** The settings of the project when the report was requested. */
  readonly settings: Pick<StoredSettings, 'retentionDays' | 'legalHold' | 'contentCapture'>;
  /** Verifier keys of the log. */
  readonly keys: readonly string[];
  /** Verifier keys of the configured witnesses, and how many of them must cosign. */
  readonly witnesses: { readonly keys: readonly string[]; readonly quorum: number };
}

/** With how its report is shown. */
export interface ReportTaskInput extends Omit<ReportInput, 'reportTemplateId'> {
  readonly reportTemplateId: string;
  /** Null for a built-in template. */
  readonly template: ReportTemplate | null;
  readonly executionId: string;
  readonly title: string;
  readonly organization: string | null;
  readonly projectName: string | null;
  readonly parameters: ReportParameters;
  readonly locale: string;
  readonly generatedAt: string;
  readonly formats: readonly ReportFormat[];
  readonly branding: ReportBranding;
  readonly paper: ReportPaper;
}

export interface ReportOutput {
  readonly summary: ReportSummary;
  /** The text of the file `report.dsse.json`. */
  readonly signature: string;
}

/** Parts of a worker thread that only the host has. */
export interface LocalParts {
  fonts(): Promise<ReportFonts>;
  /** Decodes a picture and encodes it again. Throws for a damaged one. */
  asPng(kind: PictureKind, bytes: Uint8Array): Promise<Uint8Array>;
}
