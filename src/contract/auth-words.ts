/** Header names and environments of authentication, without schemas, so that a client loads no typebox. */

/** The header in which a person names the project of a call (contract A15). */
export const projectHeader = 'gov-project';
export const sessionCookie = '__Host-gov_session';
/** Of a browser on its way to the identity provider and back (contract B19). */
export const signInCookie = '__Host-gov_sign_in';
/** Where the provider returns to, below `/console/`. */
export const callbackFile = 'callback';
/** On a plane over plain HTTP, where browsers refuse the prefix (contract B14). */
export const plainSessionCookie = 'gov_session';
/** The headers that sign messages of data planes; a row with `signed` requires them (contract B10-B12). */
export const telemetryHeaders = {
  signature: 'x-telemetry-signature',
  timestamp: 'x-telemetry-timestamp',
} as const;

/** The header that authenticates a scheduler instead of a user (contract B17). */
export const cronHeader = 'x-cron-secret';

export const environments = ['production', 'sandbox'] as const;
export type Environment = (typeof environments)[number];
