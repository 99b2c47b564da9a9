/**
 * A report as PDF: tagged, built to PDF/A-3, fonts embedded, with its data attached. Pure: same input, same bytes on the
 * same versions of gov, ICU and zlib.
 */
import type { Report, ReportBranding } from '../model.ts';

export interface ReportFont {
  /** File name, for a verifier that needs the same font. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

export interface ReportFonts {
  readonly regular: ReportFont;
  readonly bold: ReportFont;
  readonly mono: ReportFont;
  /** For other scripts, in the order in which they are tried. */
  readonly others: readonly ReportFont[];
}

/** A file that `report.attachments` names with its SHA-256, such as a proof bundle. */
export interface ReportAttachment {
  /** `*.govproof.json` is verified as a proof bundle. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

export type Paper = 'A4' | 'Letter';

export interface PdfOptions {
  readonly paper: Paper;
  readonly fonts: ReportFonts;
}

/**
 * Returns the PDF. `attachments`: exactly the files that `report.attachments` names; throws where one is missing or has
 * another hash. Cost: about 1 ms a printed row, at most 1,000 rows, and deflating the attachments.
 */
export async function toPdf(
  report: Report,
  branding: ReportBranding,
  attachments: readonly ReportAttachment[],
  options: PdfOptions,
): Promise<Uint8Array> {
  throw new Error(
    `not written yet: ${report.title} ${branding.primaryColor} ${attachments.length} ${options.paper}`,
  );
}
