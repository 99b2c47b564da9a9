/** Limits: exports and jobs. */
import { KiB, MiB } from './units.ts';

export const exporting = {
  exportHours: 168,
  exportHoursMax: 2160,
  exportsOpen: 20,
  exportsOpenMax: 1000,
  exportsKept: 200,
  exportsKeptMax: 10_000,
  exportMebibytes: 20_480,
  exportMebibytesMax: 1_048_576,
  exportHeaderBytes: 1 * KiB,
  exportSpareBytes: 256 * MiB,
  exportNeededBytes: 128 * MiB,
  exportMattersBytes: 1 * MiB,
  downloadRecheckSeconds: 2,
  jobAttempts: 3,
  jobLeaseSeconds: 60,
  jobLeaseRenewSeconds: 15,
  jobErrorChars: 1000,
  jobRequestDays: 30,
  jobRequestBytes: 1 * MiB,
  documentBytes: 512 * KiB,
} as const;
