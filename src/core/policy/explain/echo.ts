/**
 * Values of a checkpoint as explanations show them: cut to `limits.echoChars`, with control and direction
 * characters escaped, and not at all where a mask covers their path. Lists and objects are named by their size,
 * so what is shown of a masked member is never its content. Proven by `test/core/policy/explain/reasoning.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Json } from '../../json/parse.ts';
import type { Segment } from '../language/ast.ts';
import { compileValue, Indeterminate } from '../evaluate/compile.ts';
import type { PolicyInput } from '../evaluate/compile.ts';
import { spelled } from '../language/lexer.ts';

/** Paths whose values must not be shown, from the root: `['context', 'user', 'email']`; all below is covered. */
export type Masks = readonly (readonly Segment[])[];

export const maskedText = '‹masked›';

/** Whether a path is covered by a mask, or holds what one covers. */
export const isMasked = (path: readonly Segment[], masks: Masks): boolean =>
  masks.some((mask) => {
    const shared = Math.min(mask.length, path.length);
    for (let at = 0; at < shared; at++) if (String(mask[at]) !== String(path[at])) return false;
    return true;
  });

/** What a path of the checkpoint holds; null where it is absent. */
export function valueAt(path: readonly Segment[], input: PolicyInput): Json {
  const value = compileValue({ kind: 'path', scope: 'root', path })(input);
  return value instanceof Indeterminate ? null : value;
}

/** A value in one line. */
export function echo(value: Json): string {
  if (typeof value === 'string') return echoString(value);
  if (typeof value !== 'object' || value === null) return value === null ? 'absent' : String(value);
  return sizeOf(value);
}

/** A value for the trace: scalars as they are, strings cut, lists and objects named by their size. */
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

/** The start of a text of at most so many UTF-16 units, with whole characters. */
export function cut(text: string, units: number): string {
  const start = text.slice(0, units);
  return /[\ud800-\udbff]$/.test(start) && units < text.length ? start.slice(0, -1) : start;
}

/** A text that is cut where it is longer, and says so. */
export const cutText = (text: string, units: number): string =>
  text.length <= units ? text : `${cut(text, units - 1)}…`;
