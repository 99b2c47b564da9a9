/** The words of accounts (decisions A15, A17, B14), apart from their schemas, which a client need not load. */

/** By which a person names the project of a call (decision A15). */
export const projectHeader = 'gov-project';
export const sessionCookie = '__Host-gov_session';

export const environments = ['production', 'sandbox'] as const;
export type Environment = (typeof environments)[number];
