/**
 * Candidate changes of a clause: for each path that it reads, a value to try, and the fact that the value makes true.
 * The evaluator decides whether the value works (`nearest.ts`), so a wrong guess costs an evaluation but is never reported.
 * Proven by `test/core/policies/explain/nearest.test.ts`.
 */
import type { Json } from '../../json/parse.ts';
import type { Node, Segment } from '../language/ast.ts';
import { readsOf } from '../evaluate/clause.ts';
import type { Call, Clause, Path } from '../evaluate/clause.ts';
import { compileValue, Indeterminate } from '../evaluate/compile.ts';
import type { PolicyInput, Truth } from '../evaluate/compile.ts';
import { echoJson, isMasked, maskedText, valueAt } from './echo.ts';
import type { Masks } from './echo.ts';
import { mirrored, opposite } from '../evaluate/operand.ts';
import { pathText } from '../language/text-print.ts';

/** One fact to change: `context.amount` `<=` `1000`. */
export interface Change {
  readonly path: string;
  /** An operator of conditions; `contains` is `in` with exchanged sides, `not …` is the negation. */
  readonly op: string;
  /** Null for `exists` and `missing`. */
  readonly value: Json;
}

/** A value to try at a path; undefined to remove it. */
export interface InputEdit {
  readonly path: readonly Segment[];
  readonly set: Json | undefined;
  readonly change: Change;
}

interface ExplainedInput {
  readonly input: PolicyInput;
  readonly masked: Masks;
}

/** Returns values that may change the result of a leaf; empty if it reads no path. */
export function movesOf(clause: Clause, truth: Truth, given: ExplainedInput): readonly InputEdit[] {
  const wanted = [true, false].filter((want) => truth !== String(want));
  return wanted.flatMap((want) => movesTo(clause.node, want, given));
}

function movesTo(node: Node, want: boolean, given: ExplainedInput): readonly InputEdit[] {
  if (node.kind === 'path') return node.scope === 'root' ? [fact(node, '===', want)] : [];
  if (node.kind !== 'call') return [];
  const [left, right] = node.args;
  if (node.op === 'exists' || node.op === 'missing') return presence(node, want);
  if (left === undefined || right === undefined || node.args.length > 2) return guesses(node);
  const sides = [...sidesOf(node, left, right, given), ...sidesOf(node, right, left, given)];
  const moves = sides.flatMap(({ path, value, shown, isRight }) =>
    aimed(node, path, value, { want, isRight, given }).map((move): InputEdit => ({
      ...move,
      change: { ...move.change, value: shown },
    })),
  );
  return moves.length > 0 ? moves : guesses(node);
}

function presence({ op, args }: Call, want: boolean): readonly InputEdit[] {
  const exists = (op === 'exists') === want;
  return args
    .filter((arg): arg is Path => arg.kind === 'path' && arg.scope === 'root')
    .map((path) => ({
      path: path.path,
      set: exists ? true : undefined,
      change: { path: pathText(path.path), op: exists ? 'exists' : 'missing', value: null },
    }));
}

interface Side {
  readonly path: Path;
  /** The value of the other side, and how it is shown: masked or cut if it comes from the policy input. */
  readonly value: Json;
  readonly shown: Json;
  readonly isRight: boolean;
}

function sidesOf(call: Call, path: Node, other: Node, { input, masked }: ExplainedInput): readonly Side[] {
  if (path.kind !== 'path' || path.scope !== 'root' || isIterator(call)) return [];
  const value = compileValue(other)(input);
  if (value instanceof Indeterminate) return [];
  const reads = readsOf(other);
  const isHidden = reads.some((read) => isMasked(read.path, masked));
  const shown = isHidden ? maskedText : reads.length > 0 ? echoJson(value) : value;
  return [{ path, value, shown, isRight: path === call.args[1] }];
}

const isIterator = ({ op }: Call): boolean => op === 'some' || op === 'all' || op === 'none';

interface Aim {
  readonly want: boolean;
  readonly isRight: boolean;
  readonly given: ExplainedInput;
}

/** Returns moves of one side of a call for a known value of the other side. */
function aimed({ op }: Call, path: Path, value: Json, aim: Aim): readonly InputEdit[] {
  const { want, isRight, given } = aim;
  switch (op) {
    case '==':
    case '===':
    case '!=':
    case '!==':
      return [equality(path, value, (op === '==' || op === '===') === want)];
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const faced = isRight ? mirrored[op] : op;
      return order(path, want ? faced : opposite[faced], value);
    }
    case 'in':
      return isRight ? holding(path, value, aim) : membership(path, value, want);
    case 'starts_with':
    case 'ends_with':
      if (isRight) return [];
      return [
        fact(
          path,
          want ? op : `not ${op}`,
          value,
          want ? value : otherThan(valueAt(path.path, given.input), value),
        ),
      ];
    default:
      return [];
  }
}

/** A fact about a path and a value, with the value to try for it. */
const fact = ({ path }: Path, op: string, value: Json, set: Json = value): InputEdit => ({
  path,
  set,
  change: { path: pathText(path), op, value },
});

const equality = (path: Path, value: Json, isEqual: boolean): InputEdit =>
  isEqual ? fact(path, '===', value) : fact(path, '!==', value, otherThan(value));

function order(path: Path, op: '<' | '<=' | '>' | '>=', value: Json): readonly InputEdit[] {
  if (op === '<=' || op === '>=') return [fact(path, op, value)];
  if (typeof value === 'number') {
    const step = Math.max(1, Math.abs(value) * 2 ** -50);
    return [fact(path, op, value, op === '<' ? value - step : value + step)];
  }
  return typeof value === 'string' ? [fact(path, op, value, op === '<' ? '' : `${value}0`)] : [];
}

/** Moves of a path that must be in a list, or of a text in a text. */
function membership(path: Path, value: Json, want: boolean): readonly InputEdit[] {
  if (!Array.isArray(value)) return typeof value === 'string' && want ? [fact(path, 'in', value)] : [];
  const [first] = value;
  if (!want) return [fact(path, 'not in', value, otherThan(...value))];
  return first === undefined ? [] : [fact(path, 'in', value, first)];
}

/** Moves of a list or text of the policy input that must contain a value, or must not. */
function holding(path: Path, value: Json, { want, given }: Aim): readonly InputEdit[] {
  const now = valueAt(path.path, given.input);
  const op = want ? 'contains' : 'not contains';
  if (typeof now === 'string' && typeof value === 'string') {
    return [fact(path, op, value, want ? now + value : now.replaceAll(value, ''))];
  }
  const items = Array.isArray(now) ? now : [];
  return [fact(path, op, value, want ? [...items, value] : items.filter((item) => item !== value))];
}

/** Returns a value of the type of the first that differs from all of them. */
function otherThan(...values: readonly Json[]): Json {
  const [first] = values;
  switch (typeof first) {
    case 'number':
      return 1 + Math.max(...values.filter((value) => typeof value === 'number'));
    case 'boolean':
      return !first;
    default:
      return `other${values.filter((value) => typeof value === 'string').reduce((most, { length }) => Math.max(most, length), 0)}`;
  }
}

/** Returns guesses for clauses that compute: their literals, and the neighbours of these. */
function guesses(node: Node): readonly InputEdit[] {
  const pool = [...new Set(literalsOf(node))].slice(0, 8).flatMap(neighbours);
  return readsOf(node).flatMap((path) =>
    [...new Set([...pool, true, false]), [] as Json[]].map((value) => fact(path, '===', value)),
  );
}

const neighbours = (value: Json): Json[] =>
  typeof value === 'number' ? [value, value + 1, value - 1] : [value, [value]];

function literalsOf(node: Node): readonly Json[] {
  switch (node.kind) {
    case 'literal':
      return node.value === null ? [] : [node.value];
    case 'list':
      return node.items.flatMap(literalsOf);
    case 'path':
      return node.fallback === undefined ? [] : literalsOf(node.fallback);
    case 'call':
      return node.args.flatMap(literalsOf);
  }
}
