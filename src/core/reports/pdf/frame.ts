/** What every part of a PDF report knows of it. */
import type { Report, ReportBranding, ReportCheck, ReportTable } from '../model.ts';
import type { PrintedRows } from '../printed-rows.ts';
import type { Colors } from './colors.ts';

/** A file that is attached to the PDF. */
export interface AttachedFile {
  readonly name: string;
  readonly bytes: Uint8Array;
  /** Hex. */
  readonly sha256: string;
  readonly mediaType: string;
  readonly description: string;
  /** ISO 19005-3: what the file is to the pages. */
  readonly relationship: 'Source' | 'Data' | 'Supplement';
}

export interface Subject {
  readonly report: Report;
  readonly branding: ReportBranding;
  /** `sha256:…` */
  readonly hash: string;
  readonly files: readonly AttachedFile[];
  /** By table, in the order of `report.tables`. */
  readonly printed: readonly PrintedRows[];
}

export const printedOf = ({ report, printed }: Subject, table: ReportTable): PrintedRows =>
  printed[report.tables.indexOf(table)] ?? { exceptions: [], others: [], isSample: false };

export const checkWords: Readonly<Record<ReportCheck['status'], string>> = {
  pass: 'PASS',
  fail: 'FAIL',
  not_shown: 'NOT SHOWN',
};

export const checkColor = (status: ReportCheck['status'], colors: Colors): string =>
  status === 'pass' ? colors.pass : status === 'fail' ? colors.fail : colors.unknown;

const good = new Set(['pass', 'passed', 'ok', 'proven', 'allow', 'allowed', 'approved', 'verified', 'yes']);
const bad = new Set([
  'fail',
  'failed',
  'deny',
  'denied',
  'error',
  'no',
  'missing',
  'gap',
  'broken',
  'overdue',
  'expired',
  'drift',
]);
const open = new Set(['not_shown', 'escalate', 'escalated', 'pending', 'silent', 'unknown']);

/** The colour of a status word; the word itself says the same. */
export const statusColor = (status: string, colors: Colors): string | undefined =>
  good.has(status)
    ? colors.pass
    : bad.has(status)
      ? colors.fail
      : open.has(status)
        ? colors.unknown
        : undefined;
