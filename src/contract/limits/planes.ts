/** Limits: data planes and their reports. */
import { KiB, MiB } from './units.ts';

export const planes = {
  usageReportBytes: 64 * KiB,
  attestationBytes: 1 * MiB,
  importMessages: 200,
  importTelemetryBytes: 8 * MiB,
  planesPerProject: 20_000,
  planeNameChars: 100,
  /** Pairs of earlier keys of one data plane, and so the number of its enrolments with new keys. */
  planeFormerKeys: 100,
  /** Length of an origin, a verifier key, a signed note in a report, a record of the metering log. */
  originChars: 255,
  verifierKeyChars: 512,
  checkpointNoteChars: 16 * KiB,
  meterRecordChars: 1024,
  /** Audit leaves that one metering leaf covers: the leaves of one request. */
  meterLeafCount: 1_000_000,
  versionChars: 64,
  tokenChars: 128,
  signatureHeaderChars: 256,
  signatureValues: 3,
  telemetrySkewSeconds: 300,
  enrolmentHours: 24,
  /** Base64 text of the sealed hybrid key and signing secret; 184 today. */
  sealedCredentialsChars: 512,
  planeOverlapSeconds: 24 * 3600,
  /** The service draws a challenge for the first report of an epoch, and for one in this many reports after it. */
  attestationOneIn: 20,
  attestationHours: 24,
  /** Time to answer a challenge that reaches a data plane by file. */
  attestationFileHours: 30 * 24,
  /** Expired challenges that one pass over all projects records. */
  expiredAtOnce: 100,
  attestationSamples: 64,
  attestationCrossSamples: 8,
  attestationConsistencySizes: 8,
  /** Invalid reports and answers that the log of a project records per minute. */
  telemetryFaultsPerMinute: 10,
  /** Age at which the service reads the usage of data planes again when it answers a report. */
  planeUsageSeconds: 10,
  /** Reports linked to a predecessor that arrived later, for each new report. */
  reportsLinked: 8,
  /** Newest unlinked reports of an epoch among which the service searches for linkable ones. */
  reportsUnlinkedSeen: 1000,
  /** Months of the reports of one epoch: a hundred years from 1970, where a clock that was never set begins. */
  epochMonths: 1200,
  /**
   * Units of one type that an epoch of a data plane reports for a month: 100,000 a second all month. The sums of
   * millions of epochs fit, so that one epoch cannot exclude another.
   */
  epochMonthUnits: 2 ** 38,
  /** Time between the end of a month and its bill; the service records a report that arrives later. */
  lateReportHours: 24,
  reportIntervalSeconds: 3600,
  reportIntervalLeastSeconds: 60,
} as const;
