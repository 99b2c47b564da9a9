/** Base64 of RFC 4648 §4, read strictly: one spelling per value, as signatures need. Test: `test/core/json/base64.test.ts`. */

/** The bytes, or null where padding, alphabet or trailing bits are not canonical. An attacker may control it. */
export function decodeBase64(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}

export const encodeBase64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
