/**
 * The nearest change: one or two facts that, if they were different, would change the outcome.
 * The search evaluates the condition on each changed policy input, so a returned change really changes the outcome. It
 * stops after `limits.nearestEvaluations` and `limits.nearestUnits`.
 * Proven by `test/core/policies/explain/nearest.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Json, JsonObject } from '../../json/parse.ts';
import type { Segment } from '../language/ast.ts';
import { addWork, workDone } from '../evaluate/budget.ts';
import type { PolicyInput, Truth } from '../evaluate/compile.ts';
import type { Masks } from './echo.ts';
import { movesOf } from './move.ts';
import type { Change, InputEdit } from './move.ts';
import { pathText } from '../language/text-print.ts';
import type { ClauseResult } from './decisive-clauses.ts';
import { isObject } from '../../json/object.ts';

export type { Change } from './move.ts';

/**
 * Returns the changes, sorted by path; an empty array if the search found none. A true condition becomes false, a false
 * one true. An indeterminate condition becomes true or false: the nearer one, and false if both need as many changes.
 */
export function nearest(root: ClauseResult, input: PolicyInput, masked: Masks = []): readonly Change[] {
  const search = new Search(root, input);
  const moves = candidates(root, input, masked);
  const found = search.among(moves.map((move) => [move])) ?? search.among(pairs(moves));
  if (found === undefined) return [];
  return found.map(({ change }) => change).sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/** Returns moves of all leaves, those of decisive clauses first, each once. */
function candidates(root: ClauseResult, input: PolicyInput, masked: Masks): readonly InputEdit[] {
  const leaves: ClauseResult[] = [];
  const walk = (judged: ClauseResult): void => {
    if (judged.parts.length === 0) leaves.push(judged);
    for (const part of judged.parts) walk(part);
  };
  walk(root);
  const moves = new Map<string, InputEdit>();
  for (const { clause, truth } of new Set([...root.deciders, ...leaves])) {
    for (const move of movesOf(clause, truth, { input, masked })) {
      const key = JSON.stringify([move.path, move.set ?? null]);
      if (!moves.has(key)) moves.set(key, move);
      // Most of the evaluations are reserved for pairs.
      if (moves.size >= limits.nearestEvaluations / 4) return [...moves.values()];
    }
  }
  return [...moves.values()];
}

function* pairs(moves: readonly InputEdit[]): Iterable<readonly InputEdit[]> {
  for (const [at, second] of moves.entries()) {
    for (const first of moves.slice(0, at)) {
      if (pathText(first.path) !== pathText(second.path)) yield [first, second];
    }
  }
}

/** Work units of changing a large policy input and evaluating a condition of many clauses: 30 µs. */
const triedUnits = 300;

class Search {
  readonly #root: ClauseResult;
  readonly #input: PolicyInput;
  #left: number = limits.nearestEvaluations;
  readonly #begun = workDone();

  constructor(root: ClauseResult, input: PolicyInput) {
    this.#root = root;
    this.#input = input;
  }

  /** Returns the first moves that make the condition false, else the first that make it true, if it was not so. */
  among(tries: Iterable<readonly InputEdit[]>): readonly InputEdit[] | undefined {
    let second: readonly InputEdit[] | undefined;
    for (const moves of tries) {
      if (this.#left === 0 || workDone() - this.#begun > limits.nearestUnits) break;
      const truth = this.#after(moves);
      if (truth === undefined || truth === 'indeterminate' || truth === this.#root.truth) continue;
      if (truth === 'false' || this.#root.truth === 'false') return moves;
      second ??= moves;
    }
    return second;
  }

  #after(moves: readonly InputEdit[]): Truth | undefined {
    let changed: PolicyInput | undefined = this.#input;
    for (const { path, set } of moves) changed = changed && withValue(changed, path, set);
    if (changed === undefined) return undefined;
    this.#left--;
    addWork(triedUnits);
    return this.#root.clause.condition.evaluate(changed);
  }
}

/**
 * Returns a copy of a policy input with another value at a path, or without it if the value is undefined; undefined if the
 * path cannot be set. Values off the path are shared.
 */
export function withValue(
  input: PolicyInput,
  [first, ...rest]: readonly Segment[],
  set: Json | undefined,
): PolicyInput | undefined {
  const { step, context } = input;
  if (first === 'step' && rest.length === 0) {
    if (set === undefined) return { context };
    return typeof set === 'number' ? { step: set, context } : undefined;
  }
  if (first !== 'context' || rest.length === 0) return undefined;
  const changed = changedAt(context, rest, set);
  if (!isObject(changed)) return undefined;
  return step === undefined ? { context: changed } : { step, context: changed };
}

/** Returns undefined if a scalar blocks the path, the index is beyond the list, or there is nothing to remove. */
function changedAt(
  value: Json | undefined,
  path: readonly Segment[],
  set: Json | undefined,
): Json | undefined {
  const [first, ...rest] = path;
  if (first === undefined) return set;
  if (set === undefined && (value ?? null) === null) return undefined;
  const container = value ?? (typeof first === 'number' ? [] : {});
  if (typeof container !== 'object') return undefined;
  const isLeftOut = set === undefined && rest.length === 0;
  if (Array.isArray(container)) {
    const index = Number(first);
    if (!(index <= container.length)) return undefined;
    const item = isLeftOut ? null : changedAt(container[index], rest, set);
    return item === undefined ? undefined : container.toSpliced(index, 1, item);
  }
  const name = String(first);
  const own = Object.hasOwn(container, name) ? container[name] : undefined;
  const member = isLeftOut ? undefined : changedAt(own, rest, set);
  if (isLeftOut ? own === undefined : member === undefined) return undefined;
  const copy = Object.assign(Object.create(null) as JsonObject, container);
  if (member === undefined) delete copy[name];
  else copy[name] = member;
  return copy;
}
