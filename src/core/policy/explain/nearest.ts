/**
 * The nearest change: the fewest facts, one or two, that would have to be otherwise for the outcome to be
 * another. Each answer was tried: the condition was evaluated with the changed checkpoint, so what is named
 * does change the outcome. None is named where none was found within `limits.nearestEvaluations` and the units of
 * `limits.nearestUnits`.
 * Proven by `test/core/policy/explain/nearest.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Json, JsonObject } from '../../json/parse.ts';
import type { Segment } from '../language/ast.ts';
import { addWork, workDone } from '../evaluate/budget.ts';
import type { PolicyInput, Truth } from '../evaluate/compile.ts';
import type { Masks } from './echo.ts';
import { movesOf } from './move.ts';
import type { Change, Move } from './move.ts';
import { pathText } from '../language/text-print.ts';
import type { Judged } from './decisive-clauses.ts';

export type { Change } from './move.ts';

/**
 * The changes, sorted by path, empty where none were found. A condition that was true is made false and the
 * other way round; one that was indeterminate is decided, as false where both ways are as near.
 */
export function nearest(root: Judged, input: PolicyInput, masked: Masks = []): readonly Change[] {
  const search = new Search(root, input);
  const moves = candidates(root, input, masked);
  const found = search.among(moves.map((move) => [move])) ?? search.among(pairs(moves));
  if (found === undefined) return [];
  return found.map(({ change }) => change).sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}

/** Moves of the clauses that decided first, each once. */
function candidates(root: Judged, input: PolicyInput, masked: Masks): readonly Move[] {
  const leaves: Judged[] = [];
  const walk = (judged: Judged): void => {
    if (judged.parts.length === 0) leaves.push(judged);
    for (const part of judged.parts) walk(part);
  };
  walk(root);
  const moves = new Map<string, Move>();
  for (const { clause, truth } of new Set([...root.deciders, ...leaves])) {
    for (const move of movesOf(clause, truth, { input, masked })) {
      const key = JSON.stringify([move.path, move.set ?? null]);
      if (!moves.has(key)) moves.set(key, move);
      // the greater part of the evaluations is left for pairs
      if (moves.size >= limits.nearestEvaluations / 4) return [...moves.values()];
    }
  }
  return [...moves.values()];
}

function* pairs(moves: readonly Move[]): Iterable<readonly Move[]> {
  for (const [at, second] of moves.entries()) {
    for (const first of moves.slice(0, at)) {
      if (pathText(first.path) !== pathText(second.path)) yield [first, second];
    }
  }
}

/** Of changing a large checkpoint and evaluating a condition of many clauses: 30 µs. */
const triedUnits = 300;

class Search {
  private readonly root: Judged;
  private readonly input: PolicyInput;
  private left: number = limits.nearestEvaluations;
  private readonly begun = workDone();

  constructor(root: Judged, input: PolicyInput) {
    this.root = root;
    this.input = input;
  }

  /** The first that makes it false, or else true, whichever it was not. */
  among(tries: Iterable<readonly Move[]>): readonly Move[] | undefined {
    let second: readonly Move[] | undefined;
    for (const moves of tries) {
      if (this.left === 0 || workDone() - this.begun > limits.nearestUnits) break;
      const truth = this.after(moves);
      if (truth === undefined || truth === 'indeterminate' || truth === this.root.truth) continue;
      if (truth === 'false' || this.root.truth === 'false') return moves;
      second ??= moves;
    }
    return second;
  }

  private after(moves: readonly Move[]): Truth | undefined {
    let changed: PolicyInput | undefined = this.input;
    for (const { path, set } of moves) changed = changed && withValue(changed, path, set);
    if (changed === undefined) return undefined;
    this.left--;
    addWork(triedUnits);
    return this.root.clause.condition.evaluate(changed);
  }
}

/**
 * A copy of a checkpoint with another value at a path, or none for undefined; undefined where there is no place
 * for it. What is not on the path is shared.
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

/** Undefined where a scalar stands in the way, the list ends before the index, or there is nothing to leave out. */
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

const isObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
