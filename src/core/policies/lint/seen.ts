/**
 * The paths of recorded policy inputs, to report paths that no input has.
 * Proven by `test/core/policies/lint/check.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Json } from '../../json/parse.ts';
import type { Segment } from '../language/ast.ts';
import type { PolicyInput } from '../evaluate/compile.ts';
import { pathText } from '../language/text-print.ts';

/** Returns every path of the inputs that a condition can read; items of a list share one path. */
export function seenPaths(inputs: Iterable<PolicyInput>): ReadonlySet<string> {
  const seen = new Set<string>();
  for (const { step, context } of inputs) {
    if (step !== undefined) seen.add('step');
    collect(context, ['context'], seen);
  }
  return seen;
}

/** Returns a path in the spelling of `seenPaths`. */
export const seenText = (path: readonly Segment[]): string =>
  pathText(path.map((segment) => (typeof segment === 'number' ? 0 : segment)));

function collect(value: Json, path: readonly Segment[], seen: Set<string>): void {
  if (value === null || path.length > limits.conditionPath) return;
  seen.add(seenText(path));
  if (typeof value !== 'object') return;
  if (Array.isArray(value)) for (const item of value) collect(item, [...path, 0], seen);
  else for (const name of Object.keys(value)) collect(value[name] ?? null, [...path, name], seen);
}
