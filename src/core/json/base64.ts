/** Strict base64 (RFC 4648 §4): one spelling per value, as signatures need. Proven by `test/core/json/base64.test.ts`. */

/** Returns the bytes; null if padding, alphabet or trailing bits are not canonical. Attacker controlled. */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

export const encodeBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
