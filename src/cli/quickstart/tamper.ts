/**
 * Changes one recorded value in a bundle, as a dishonest keeper might.
 * Tested by `test/cli/commands/quickstart/run.test.ts`.
 */
import { parseDisclosure } from '../../core/events/disclosure.ts';
import { parseJson, type Json } from '../../core/json/parse.ts';
import { isObject } from '../../core/json/object.ts';

export interface TamperedFile {
  readonly bytes: Uint8Array;
  /** Describes the change for people. */
  readonly change: string;
}

/** Edits of one disclosed value, the most tempting first. Each returns null if it does not apply. */
const edits: readonly ((pointer: string, value: string) => string | null)[] = [
  (_pointer, value) => (/"amount":\d/.test(value) ? value.replace(/"amount":(\d+)/, '"amount":$10') : null),
  (pointer, value) => (pointer === '/action' ? `${value.slice(0, -1)} (edited)"` : null),
];

/** Returns a copy of the bundle with one disclosed value changed; null if it discloses nothing. */
export function tamper(bundle: Uint8Array): TamperedFile | null {
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

/** Replaces the first disclosure that `edit` applies to. Describes the change. */
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
