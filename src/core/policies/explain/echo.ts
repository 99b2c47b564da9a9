/**
 * Values of a policy input in explanations: cut to `limits.echoChars`, with control and direction characters escaped, and
 * hidden if a mask covers their path. Lists and objects are shown by size, so the text never contains a masked member.
 * Proven by `test/core/policies/explain/reasoning.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Json } from '../../json/parse.ts';
import type { Segment } from '../language/ast.ts';
import { compileValue, Indeterminate } from '../evaluate/compile.ts';
import type { PolicyInput } from '../evaluate/compile.ts';
import { spelled } from '../language/lexer.ts';

/** Paths whose values are hidden, from the root: `['context', 'user', 'email']`; a mask covers everything below. */
export type Masks = readonly (readonly Segment[])[];

export const maskedText = '‹masked›';

/** Returns whether a mask covers a path or a part of its value. */
export const isMasked = (path: readonly Segment[], masks: Masks): boolean =>
  masks.some((mask) => {
    const shared = Math.min(mask.length, path.length);
    for (let at = 0; at < shared; at++) if (String(mask[at]) !== String(path[at])) return false;
    return true;
  });

/** Returns the value at a path of the policy input; null if it is absent. */
export function valueAt(path: readonly Segment[], input: PolicyInput): Json {
  const value = compileValue({ kind: 'path', scope: 'root', path })(input);
  return value instanceof Indeterminate ? null : value;
}

/** Returns a value on one line. */
export function echo(value: Json): string {
  if (typeof value === 'string') return echoString(value);
  if (typeof value !== 'object' || value === null) return value === null ? 'absent' : String(value);
  return sizeOf(value);
}

/** Returns a value for the trace: scalars unchanged, strings cut, lists and objects by size. */
export function echoJson(value: Json): Json {
  if (typeof value === 'string') {
    return value.length <= limits.echoChars ? value : `${cut(value, limits.echoChars - 1)}…`;
  }
  return typeof value === 'object' && value !== null ? sizeOf(value) : value;
}

const sizeOf = (value: Json[] | { [name: string]: Json }): string =>
  Array.isArray(value) ? `list of ${value.length}` : `object of ${Object.keys(value).length}`;

function echoString(text: string): string {
  const most = limits.echoChars;
  const whole = text.length <= most ? spelled(text) : '';
  if (whole !== '' && whole.length <= most + 2) return whole;
  let shown = '';
  for (const character of cut(text, most)) {
    const next = spelled(character).slice(1, -1);
    if (shown.length + next.length >= most) break;
    shown += next;
  }
  return `"${shown}…"`;
}

/** Returns the start of a text of at most so many UTF-16 units, with whole characters. */
function cut(text: string, units: number): string {
  const start = text.slice(0, units);
  return /[\ud800-\udbff]$/.test(start) && units < text.length ? start.slice(0, -1) : start;
}

/** Returns a text, cut with an ellipsis if it is longer. */
export const cutText = (text: string, units: number): string =>
  text.length <= units ? text : `${cut(text, units - 1)}…`;
