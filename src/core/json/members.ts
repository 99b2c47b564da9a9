/**
 * Where the members of a JSON object are in its text, for a reader that forwards or edits the text and must keep every other
 * byte. Attacker controlled. Tested by `test/core/json/members.test.ts`.
 */
import { scan, type JsonBounds, type VisitName } from './scan.ts';
import { afterSpace, closingQuote, malformed, quoted, stringBetween } from './token.ts';

/** Offsets in the text. The member is [nameAt, end), its value [valueAt, end). */
export interface Member {
  readonly nameAt: number;
  readonly valueAt: number;
  readonly end: number;
}

/**
 * Returns the members of the one object that the text is. Throws GovError: INVALID_JSON for another text and for a repeated
 * name at the top, JSON_TOO_COMPLEX beyond `depth` levels. Cost: one pass. Checks the grammar alone (RFC 8259), not UTF-8.
 */
export function membersOf(bytes: Uint8Array, depth: number): Map<string, Member> {
  if (bytes[afterSpace(bytes, 0)] !== 0x7b) malformed(0, 'one JSON object', 'another value');
  const starts: { name: string; nameAt: number; valueAt: number }[] = [];
  const visit: VisitName = (at, level) => {
    if (level !== 1 || bytes[at] !== 0x22) return; // the scan refuses a name without its quote
    const close = closingQuote(bytes, at + 1, 'json');
    const colon = afterSpace(bytes, close + 1);
    const valueAt = afterSpace(bytes, colon + 1);
    starts.push({ name: stringBetween(bytes, at, close), nameAt: at, valueAt });
  };
  scan(bytes, grammar(depth), visit);
  const members = new Map<string, Member>();
  for (const [index, { name, nameAt, valueAt }] of starts.entries()) {
    if (members.has(name)) malformed(nameAt, 'each member name once', `a second ${quoted(name)}`);
    const next = starts[index + 1]?.nameAt ?? bytes.lastIndexOf(0x7d);
    members.set(name, { nameAt, valueAt, end: endBefore(bytes, valueAt, next) });
  }
  return members;
}

const grammar = (depth: number): JsonBounds => ({
  depth,
  values: Infinity,
  nameChars: Infinity,
  stringBytes: Infinity,
  profile: 'json',
});

/** The end of the value before `next`: spaces and at most one comma lie between them. */
function endBefore(bytes: Uint8Array, from: number, next: number): number {
  let end = next;
  let hasComma = false;
  while (end > from) {
    const byte = bytes[end - 1] ?? 0;
    const isSpace = byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
    if (!isSpace && (byte !== 0x2c || hasComma)) break;
    hasComma ||= byte === 0x2c;
    end--;
  }
  return end;
}
