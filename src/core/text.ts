/**
 * Text files that a person may edit. Editors on Windows put a byte order mark before UTF-8 and end lines with CR LF; both
 * mean nothing. Tested by `test/core/text.test.ts`.
 */

/** Returns a text without a byte order mark, with lines that end in LF. */
export const editedText = (text: string): string =>
  (text.startsWith('\ufeff') ? text.slice(1) : text).replaceAll('\r\n', '\n');

/** Returns the bytes of a text without a byte order mark, with lines that end in LF unless the text is JSON. */
export function editedBytes(bytes: Uint8Array): Uint8Array {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  const rest = isMarked ? bytes.subarray(3) : bytes;
  // JSON takes both, and files of JSON are large
  const isJson = rest[0] === 0x7b || rest[0] === 0x5b;
  if (isJson || !rest.includes(0x0d)) return rest;
  return Buffer.from(Buffer.from(rest).toString('latin1').replaceAll('\r\n', '\n'), 'latin1');
}
