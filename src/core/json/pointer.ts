/** Reference tokens of JSON pointers (RFC 6901 §3, §4). Proven by `test/core/json/pointer.test.ts`. */

/** Escapes one member name. */
export const pointerToken = (name: string): string =>
  name.includes('~') || name.includes('/') ? name.replaceAll('~', '~0').replaceAll('/', '~1') : name;

/** Returns the member name of a token: the reverse of `pointerToken`. */
export const memberName = (token: string): string =>
  token.includes('~') ? token.replaceAll('~1', '/').replaceAll('~0', '~') : token;
