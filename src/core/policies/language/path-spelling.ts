/**
 * JSON spellings of paths: `{"var": "a.b"}` with dots, `{"val": ["a", "b.c"]}` in segments, and arguments of `exists` and
 * `missing`. Outside of iterators a path that begins with neither `step` nor `context` is short for one below `context`.
 * Within `some`, `all` and `none` a path belongs to the item, as in JsonLogic; `{"val": [[2], …]}` leads out of one
 * iterator, `[[4], …]` out of two, to the root. Proven by `test/core/policies/language/parse.test.ts`.
 */
import type { Json } from '../../json/parse.ts';
import type { Node, Segment } from './ast.ts';
import { isIndex } from './path.ts';
import { below, refuse } from './refusal.ts';
import { isCount } from '../../count.ts';

type Path = Extract<Node, { kind: 'path' }>;

/** Returns a dotted path; digits between dots are an index. `iterators`: number of enclosing iterators. */
export function dottedPath(text: string, pointer: string, iterators: number): Path {
  const segments = text === '' ? [] : text.split('.');
  if (segments.includes('')) {
    refuse(pointer, 'NOT_ALLOWED', 'expected names between dots; {"val": ["a", "b.c"]} takes any name');
  }
  return scoped(
    segments.map((segment) => (isIndex(segment) ? Number(segment) : segment)),
    iterators,
  );
}

/** Returns the path of the first argument of `var`: dotted, an index, or the whole scope. */
export function varPath(value: Json | undefined, pointer: string, iterators: number): Path {
  if (typeof value === 'string') return dottedPath(value, pointer, iterators);
  if (value === null || value === undefined) return scoped([], iterators);
  if (isCount(value)) return scoped([value], iterators);
  return refuse(pointer, 'WRONG_TYPE', 'expected a path as text, such as "tool.name"; it cannot be computed');
}

/** Returns the path of `val` and `exists`: one segment or a list, whose first item may lead to the root. */
export function valPath(value: Json, pointer: string, iterators: number): Path {
  if (!Array.isArray(value)) return scoped([segmentOf(value, pointer)], iterators);
  const [first, ...rest] = value;
  if (!Array.isArray(first)) {
    return scoped(
      value.map((segment, at) => segmentOf(segment, below(pointer, at))),
      iterators,
    );
  }
  const levels = first.length === 1 && typeof first[0] === 'number' ? Math.abs(first[0]) : undefined;
  if (levels !== 2 * iterators) {
    refuse(below(pointer, 0), 'NOT_ALLOWED', `expected [${2 * iterators}], the way to the root from here`);
  }
  const path = rest.map((segment, at) => segmentOf(segment, below(pointer, at + 1)));
  return path.length === 0 ? { kind: 'path', scope: 'root', path } : scoped(path, 0);
}

function segmentOf(value: Json | undefined, pointer: string): Segment {
  if (typeof value === 'string' || isCount(value)) return value;
  return refuse(pointer, 'WRONG_TYPE', 'expected a name or an index from 0; it cannot be computed');
}

function scoped(path: readonly Segment[], iterators: number): Path {
  if (iterators > 0) return { kind: 'path', scope: 'item', path };
  const isRooted = path[0] === 'context' || path[0] === 'step';
  return { kind: 'path', scope: 'root', path: isRooted ? path : ['context', ...path] };
}
