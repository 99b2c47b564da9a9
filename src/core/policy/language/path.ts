/**
 * Paths of conditions: how they are read from a checkpoint and how they are named in messages. Only own members
 * of objects and items of arrays are read, never a prototype, the length of an array or a character of a string.
 * Proven by `test/core/policy/evaluate/compile.test.ts` and `test/core/policy/condition-limits.test.ts`.
 */
import type { Json } from '../../json/parse.ts';
import type { Segment } from './ast.ts';

/** What a place of a value holds; null where it is absent. */
export type Read = (from: Json | undefined) => Json | null;

/** Reads what stands below a value at the given segments. */
export function reader(segments: readonly Segment[]): Read {
  const [first, second, third] = segments.map(stepOf);
  if (first === undefined) return (from) => from ?? null;
  if (second === undefined) return first;
  if (third === undefined) return (from) => second(first(from));
  if (segments.length === 3) return (from) => third(second(first(from)));
  const rest = reader(segments.slice(3));
  return (from) => rest(third(second(first(from))));
}

/** One member of an object by name, or one item of an array by index. */
function stepOf(segment: Segment): Read {
  const name = String(segment);
  const index = indexOf(segment);
  return (from) => {
    if (typeof from !== 'object' || from === null) return null;
    if (Array.isArray(from)) return from[index] ?? null;
    return Object.hasOwn(from, name) ? (from[name] ?? null) : null;
  };
}

/** Tells whether there is a member or an item at the given segments; null is one. */
export function presence(segments: readonly Segment[]): (from: Json | undefined) => boolean {
  const last = segments.at(-1);
  if (last === undefined) return (from) => from !== undefined;
  const parent = reader(segments.slice(0, -1));
  const name = String(last);
  const index = indexOf(last);
  return (from) => {
    const value = parent(from);
    if (typeof value !== 'object' || value === null) return false;
    return Array.isArray(value) ? value[index] !== undefined : Object.hasOwn(value, name);
  };
}

/** The index that a segment stands for in an array; -1, which no array has, where it is none. */
function indexOf(segment: Segment): number {
  if (typeof segment === 'number') return segment;
  return isIndex(segment) ? Number(segment) : -1;
}

/** Whether a text is the spelling of an index: digits without a leading zero. */
export const isIndex = (text: string): boolean => /^(?:0|[1-9]\d{0,8})$/.test(text);

/** A path as messages name it: `context.tool.name`, `context["a.b"]`, `context.list[0]`. */
export const spellPath = (base: string, segments: readonly Segment[]): string =>
  segments.reduce<string>((text, segment) => {
    if (typeof segment === 'number') return `${text}[${segment}]`;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(segment)) return `${text}[${JSON.stringify(segment)}]`;
    return text === '' ? segment : `${text}.${segment}`;
  }, base);
