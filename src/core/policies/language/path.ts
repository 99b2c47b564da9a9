/**
 * Paths of conditions: reading them from a value, and their names in messages. Only own members of objects and items of
 * arrays are read, never a prototype, the length of an array or a character of a string.
 * Proven by `test/core/policies/evaluate/compile.test.ts` and `test/core/policies/condition-limits.test.ts`.
 */
import type { Json } from '../../json/parse.ts';
import type { Segment } from './ast.ts';

/** Reads a value below another; null if it is absent. */
export type PathReader = (from: Json | undefined) => Json | null;

/** Returns a reader of the value at the given segments. */
export function reader(segments: readonly Segment[]): PathReader {
  const [first, second, third] = segments.map(stepOf);
  if (first === undefined) return (from) => from ?? null;
  if (second === undefined) return first;
  if (third === undefined) return (from) => second(first(from));
  if (segments.length === 3) return (from) => third(second(first(from)));
  const rest = reader(segments.slice(3));
  return (from) => rest(third(second(first(from))));
}

/** Returns a reader of one member by name, or of one item by index. */
function stepOf(segment: Segment): PathReader {
  const name = String(segment);
  const index = indexOf(segment);
  return (from) => {
    if (typeof from !== 'object' || from === null) return null;
    if (Array.isArray(from)) return from[index] ?? null;
    return Object.hasOwn(from, name) ? (from[name] ?? null) : null;
  };
}

/** Returns a test for a member or item at the given segments; null counts as present. */
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

/** Returns the array index of a segment; -1, which no array has, for another segment. */
function indexOf(segment: Segment): number {
  if (typeof segment === 'number') return segment;
  return isIndex(segment) ? Number(segment) : -1;
}

/** Returns whether a text is an index: digits without a leading zero. */
export const isIndex = (text: string): boolean => /^(?:0|[1-9]\d{0,8})$/.test(text);

/** Returns a path for messages: `context.tool.name`, `context["a.b"]`, `context.list[0]`. */
export const spellPath = (base: string, segments: readonly Segment[]): string =>
  segments.reduce<string>((text, segment) => {
    if (typeof segment === 'number') return `${text}[${segment}]`;
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(segment)) return `${text}[${JSON.stringify(segment)}]`;
    return text === '' ? segment : `${text}.${segment}`;
  }, base);
