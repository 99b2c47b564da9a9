/**
 * The form of an ID token: three base64url parts (JWS compact serialization, RFC 7515 section 7.1).
 * Tested by `test/cli/auth/id-token.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { usage } from '../program/exit.ts';

const shape = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/;

/** Returns the token without surrounding white space. Errors: exit 2, naming the source and never the text. */
export function checkIdToken(from: string, text: string): string {
  const token = text.trim();
  if (token.length <= limits.idTokenChars && shape.test(token)) return token;
  throw usage(
    `${from}: expected an ID token (a JWT of at most ${limits.idTokenChars} characters), got something else`,
  );
}

/** Returns whether a text is a token, rather than the name of a file. */
export const isIdToken = (text: string): boolean => shape.test(text);
