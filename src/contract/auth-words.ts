/** The words of accounts (contract A15, A17, B14), apart from their schemas, which a client need not load. */

/** The header by which a person names the project of a call (contract A15). */
export const projectHeader = 'gov-project';
export const sessionCookie = '__Host-gov_session';
/** The headers that sign messages of data planes (contract B10-B12); required where a row is `signed`. */
export const telemetryHeaders = {
  signature: 'x-telemetry-signature',
  timestamp: 'x-telemetry-timestamp',
} as const;

export const environments = ['production', 'sandbox'] as const;
export type Environment = (typeof environments)[number];
