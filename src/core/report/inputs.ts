/** What the renderer of PDFs gets beside a report: paper, fonts, and files to attach. */

export type Paper = 'A4' | 'Letter';

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
