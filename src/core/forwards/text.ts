/**
 * Text of agents on its way to a receiver that writes it to files and screens. A line break would forge a record, a
 * bidi control would reorder what a reviewer reads, so `core/visible.ts` spells such characters as `\u000a`. Proven by
 * `test/core/forwards/json.test.ts` and `test/core/forwards/syslog.test.ts`.
 */

/** Returns the start of a text that has at most `most` bytes as UTF-8, and ends between two characters. */
export function clip(text: string, most: number): string {
  if (text.length * 3 <= most) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= most) return text;
  let end = most;
  // a byte 10xxxxxx continues a character
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}
