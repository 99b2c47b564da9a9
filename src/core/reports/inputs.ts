/** What the renderer of PDFs gets beside a report: fonts, and files to attach. */

/** Ends of the names of attached proof bundles, answers of the log, and proofs of units, which a verifier checks. */
export const proofEnd = '.govproof.json';
export const answerEnd = '.govanswer.json';
export const unitsEnd = '.govunits.json';

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
  /** `*.govproof.json`, `*.govanswer.json` and `*.govunits.json` are verified as what they are. */
  readonly name: string;
  readonly bytes: Uint8Array;
}
