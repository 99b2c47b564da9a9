/**
 * Text of agents on its way to a receiver that writes it to files and screens. A line break would forge a record, a
 * bidi control would reorder what a reviewer reads, so such characters are spelled as `\u000a`. Proven by
 * `test/core/forward/json.test.ts` and `test/core/forward/syslog.test.ts`.
 */

/** C0, DEL, C1; bidi controls and marks; zero-width characters; separators; annotations; tag characters. */
const unsafe = new RegExp(
  '[\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb]' +
    '|\\udb40[\\udc00-\\udc7f]',
  'g',
);

/** `\u000a` for a line feed: each UTF-16 unit as JSON escapes it. */
const spelled = (found: string): string =>
  Array.from(
    { length: found.length },
    (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');

/** Returns the text without characters that act on a reader. */
export const visible = (text: string): string => text.toWellFormed().replace(unsafe, spelled);

/** Returns JSON on one line that no reader breaks: the same value, with those characters as escapes. */
export const jsonLine = (value: unknown): string => visible(JSON.stringify(value));

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
