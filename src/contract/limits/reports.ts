/** Limits: reports, their deliveries and share links. */
import { KiB, MiB } from './units.ts';

export const reports = {
  reportFormats: 3,
  reportPeriodDays: 366,
  reportTitleChars: 200,
  reportZoneChars: 64,
  reportLocaleChars: 35,
  reportDeliveries: 10,
  reportTargetChars: 2048,
  reportDataRows: 1000,
  reportsOpen: 20,
  reportsKept: 10_000,
  reportDays: 90,
  reportAttempts: 3,
  reportErrorChars: 1000,
  reportSignatureBytes: 64 * KiB,
  shareSecondsMin: 60,
  shareSeconds: 604_800,
  shareSecondsMax: 2_592_000,
  shareDownloadsMax: 1000,
  sharesKept: 10_000,
  brandingNameChars: 100,
  brandingFooterChars: 500,
  logoBytes: 1 * MiB,
  logoEnvelopeBytes: 4 * KiB,
  logoPixels: 2000,
} as const;
