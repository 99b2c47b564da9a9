/**
 * A report as data. The JSON artifact is this object, its canonical form (RFC 8785) is what `dataHash` hashes, and the
 * PDF and the CSV artifact are functions of it. With the JSON, a reader can make both again and compare them.
 */

/** Shown as it is; numbers are right-aligned and formatted in the locale of the report. */
export type ReportCell = string | number | boolean | null;

export interface ReportColumn {
  /** The member's name in the CSV header. */
  readonly name: string;
  readonly title: string;
  /** `time`: RFC 3339 in UTC, printed in the report's time zone. `duration`: milliseconds. `hash`: hex or base64. */
  readonly kind: 'text' | 'number' | 'time' | 'duration' | 'hash' | 'status';
}

export interface ReportTable {
  /** Lower case with hyphens; names the attached file. */
  readonly id: string;
  readonly title: string;
  readonly columns: readonly ReportColumn[];
  /** Rows that match, including those that `omitted` names. */
  readonly population: number;
  /** Says in words which rows of the log it lists, and why others are left out. */
  readonly scope: string;
  /** How many rows are missing, and why; null where all are here. */
  readonly omitted: string | null;
  /** The first rows, as many as this, are exceptions and are all printed. */
  readonly exceptions: number;
  readonly rows: readonly (readonly ReportCell[])[];
  /** Whether the attached proof shows that no row is missing; the reason where it does not. */
  readonly completeness: { readonly status: 'proven' | 'not_shown'; readonly detail: string };
}

export interface ReportCheck {
  readonly name: string;
  readonly status: 'pass' | 'fail' | 'not_shown';
  readonly detail: string;
}

export interface ReportFigure {
  readonly name: string;
  readonly label: string;
  readonly value: ReportCell;
  readonly kind: ReportColumn['kind'];
}

export interface ReportChart {
  readonly kind: 'bars' | 'line';
  readonly title: string;
  /** What the chart shows, in words, for a reader who does not see it. */
  readonly text: string;
  readonly labels: readonly string[];
  readonly series: readonly { readonly name: string; readonly values: readonly number[] }[];
}

export type ReportBlock =
  | { readonly text: string }
  | {
      readonly facts: readonly {
        readonly label: string;
        readonly value: ReportCell;
        readonly kind: ReportColumn['kind'];
      }[];
    }
  | { readonly chart: ReportChart }
  /** The id of a table of the report. */
  | { readonly table: string };

export interface ReportSection {
  readonly title: string;
  readonly blocks: readonly ReportBlock[];
}

/** What a template builds. */
interface ReportContents {
  readonly checks: readonly ReportCheck[];
  /** For the summary page, and for `summary` of the execution. */
  readonly figures: readonly ReportFigure[];
  readonly sections: readonly ReportSection[];
  /** The first table is the CSV artifact. */
  readonly tables: readonly ReportTable[];
}

/** The contents, and the files to attach beside the tables: proof bundles and answers of the log, by file name. */
export interface BuiltReport {
  readonly contents: ReportContents;
  readonly attachments: ReadonlyMap<string, Uint8Array>;
}

/** A copy of the custom template, made when the report was requested. `template-hash.ts` hashes it. */
export interface ReportTemplate {
  /** 1 for a new template; each change adds 1. */
  readonly version: number;
  readonly name: string;
  readonly title: string;
  readonly introduction: string | null;
  /** `TEMPLATE/SECTION` of the built-in templates, in the order of the report. */
  readonly sections: readonly string[];
}

export interface Report extends ReportContents {
  readonly schemaVersion: '1.0';
  readonly reportTemplateId: string;
  /** Absent for a built-in template. */
  readonly template?: ReportTemplate;
  readonly title: string;
  readonly organization: string | null;
  readonly project: { readonly projectId: string; readonly name: string | null };
  readonly parameters: {
    readonly startTime: string;
    readonly endTime: string;
    readonly runId?: string;
    readonly projectIds?: readonly string[];
  };
  /** IANA name. */
  readonly timezone: string;
  /** BCP 47. */
  readonly locale: string;
  readonly generatedAt: string;
  /** The signed checkpoint of the log that every row lies below. */
  readonly log: {
    readonly origin: string;
    readonly treeSize: number;
    /** RFC 6962 root, base64. */
    readonly rootHash: string;
    /** The signed note (C2SP). */
    readonly checkpoint: string;
  };
  /** SHA-256 of each attached file beside the tables, hex, by file name. */
  readonly attachments: Readonly<Record<string, string>>;
}

export interface ReportBranding {
  readonly companyName: string | null;
  /** `#rrggbb`. */
  readonly primaryColor: string;
  readonly accentColor: string;
  readonly footerText: string | null;
  /** PNG or JPEG bytes, re-encoded by us; null without one. */
  readonly logo: { readonly mediaType: 'image/png' | 'image/jpeg'; readonly bytes: Uint8Array } | null;
}
