/**
 * Whether one object of a recording may be a copy of another: two calls of one id that ask for the same, or a message that
 * is the beginning of another. Another input is another call, whatever its id. Tested by `test/core/intake/balance.test.ts`.
 */
import { isObject } from '../json/object.ts';
import { readArguments } from './conversation.ts';
import { parseLoose } from './source.ts';

/** Whether two objects of one id ask for the same. A stream writes the beginning of an input first. */
export function isSameCall(one: Uint8Array, other: Uint8Array): boolean {
  const asked = [one, other].map((bytes) => askedIn(parseLoose(Buffer.from(bytes).toString())));
  // a program may write an input as JSON in one place and as its text in another
  return [asked, asked.map(readArguments)].some(
    ([left, right]) => begins(left, right) || begins(right, left),
  );
}

/** Whether a value is another one, or what a stream may have written of it before. */
function begins(part: unknown, whole: unknown): boolean {
  if (typeof part === 'string' && typeof whole === 'string') return whole.startsWith(part);
  if (Array.isArray(part) && Array.isArray(whole))
    return part.length <= whole.length && part.every((each, at) => begins(each, whole[at]));
  if (!isObject(part) || !isObject(whole)) return part === whole;
  return Object.entries(part).every(
    ([name, each]) => Object.hasOwn(whole, name) && begins(each, whole[name]),
  );
}

const inputMembers = ['input', 'arguments', 'args', 'parameters'];

/** Returns the input of an object, or of one in it, whatever its program calls it. */
function askedIn(value: unknown): unknown {
  if (!isObject(value)) return undefined;
  const own = inputMembers.find((name) => (value[name] ?? null) !== null);
  if (own !== undefined) return value[own];
  return Object.values(value)
    .map(askedIn)
    .find((each) => each !== undefined);
}

/** Whether the text of a message is the beginning of another's. */
export function isBeginning(message: Uint8Array, other: Uint8Array): boolean {
  const [text, whole] = [message, other].map((bytes) => wordsIn(parseLoose(Buffer.from(bytes).toString())));
  return text !== undefined && whole !== undefined && whole.length > text.length && whole.startsWith(text);
}

function wordsIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(wordsIn).find((each) => each !== undefined);
  return isObject(value) ? wordsIn(value['content'] ?? value['parts'] ?? value['text']) : undefined;
}
