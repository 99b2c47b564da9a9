/**
 * Names of a plane's session cookie (contract B14). Browsers send the cookies of a host to all its ports, so
 * over plain HTTP the name contains an id of the plane: planes on one machine keep their sessions. Proven by
 * `test/http/console-sessions.test.ts`.
 */
import { plainSessionCookie, sessionCookie } from '../../contract/auth-words.ts';
import type { Services } from '../port/services.ts';

/** `gov_session_` and 8 hex digits, the same after a restart. */
export const plainCookieName = ({ fingerprint }: Pick<Services, 'fingerprint'>): string =>
  `${plainSessionCookie}_${fingerprint('gov.console-cookie/1').slice(0, 8)}`;

/** The names that a plane reads. Over TLS it reads no cookie that a page without TLS could set. */
export const cookieNames = (
  services: Pick<Services, 'fingerprint'>,
  { isTls }: { readonly isTls: boolean },
): readonly string[] => (isTls ? [sessionCookie] : [sessionCookie, plainCookieName(services)]);
