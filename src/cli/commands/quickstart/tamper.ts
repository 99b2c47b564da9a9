/** What a dishonest keeper of a bundle might try: change one recorded value and leave everything else. */
import { parseDisclosure } from '../../../core/event/disclosure.ts';
import { parseJson, type Json, type JsonObject } from '../../../core/json/parse.ts';

export interface Tampered {
  readonly bytes: Uint8Array;
  /** What was changed, for people. */
  readonly change: string;
}

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Ways to change one disclosed value, the most tempting first; each gives null where it finds nothing. */
const edits: readonly ((pointer: string, value: string) => string | null)[] = [
  (_pointer, value) => (/"amount":\d/.test(value) ? value.replace(/"amount":(\d+)/, '"amount":$10') : null),
  (pointer, value) => (pointer === '/action' ? `${value.slice(0, -1)} (edited)"` : null),
];

/** A copy of a bundle with one disclosed value changed; null where nothing is disclosed. */
export function tamper(bundle: Uint8Array): Tampered | null {
  const value = parseJson(bundle, {
    depth: 64,
    values: Infinity,
    nameChars: Infinity,
    stringBytes: Infinity,
  });
  const events = isObject(value) && Array.isArray(value['events']) ? value['events'] : [];
  for (const edit of edits) {
    for (const event of events.toReversed()) {
      if (!isObject(event) || !Array.isArray(event['disclosures'])) continue;
      const change = changeOne(event['disclosures'], edit);
      if (change === null) continue;
      const bytes = Buffer.from(JSON.stringify(value));
      return { bytes, change: `event #${String(event['index'])}: ${change}` };
    }
  }
  return null;
}

/** Puts a changed disclosure in the place of the first one that `edit` takes; says what was changed. */
function changeOne(disclosures: Json[], edit: (typeof edits)[number]): string | null {
  for (const [at, text] of disclosures.entries()) {
    const parsed = typeof text === 'string' ? parseDisclosure(text) : null;
    if (parsed === null) continue;
    const [salt, pointer, value] = parsed;
    const before = JSON.stringify(value);
    const after = edit(pointer, before);
    if (after === null) continue;
    const changed = `[${JSON.stringify(salt)},${JSON.stringify(pointer)},${after}]`;
    disclosures[at] = Buffer.from(changed).toString('base64url');
    const [from = before, to = after] = [before, after].map(
      (each) => /"amount":[\d.]+/.exec(each)?.[0] ?? each,
    );
    return `${pointer} ${from} → ${to}`;
  }
  return null;
}
