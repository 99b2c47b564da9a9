/**
 * A second evaluator of conditions, written from the specification and not from `src/core/policies/evaluate/compile.ts`: a
 * plain recursive interpreter, slow and without any trick. What both say must be equal.
 */
import type { Json } from '../../../src/core/json/parse.ts';
import type { Node, Segment } from '../../../src/core/policies/language/ast.ts';

type Reason = 'absent' | 'type' | 'arith' | 'budget';
type Answer = { readonly value: Json } | { readonly unknown: Reason };

interface Scope {
  readonly root: Json;
  readonly item: Json | undefined;
  /** Whether only the truth of the node counts. */
  readonly truth: boolean;
  readonly budget: { left: number };
}

const maxTextBytes = 4096;
const maxItems = 10_000;

/** true, false, or why it is neither. */
export function referenceTruth(node: Node, context: Json, step?: number): boolean | Reason {
  const root = step === undefined ? { context } : { context, step };
  const answer = evaluate(node, { root, item: undefined, truth: true, budget: { left: maxItems } });
  return truth(answer);
}

const unknown = (reason: Reason): Answer => ({ unknown: reason });
const known = (value: Json): Answer => ({ value });

function truth(answer: Answer): boolean | Reason {
  if ('unknown' in answer) return answer.unknown;
  const { value } = answer;
  if (Array.isArray(value)) return value.length > 0;
  return value !== false && value !== 0 && value !== '';
}

/** A member or an item; undefined where there is none. */
function step(from: Json | undefined, segment: Segment): Json | undefined {
  if (Array.isArray(from)) return /^\d+$/.test(`${segment}`) ? from[Number(segment)] : undefined;
  if (from === null || typeof from !== 'object') return undefined;
  return Object.entries(from).find(([name]) => name === `${segment}`)?.[1];
}

function lookUp(path: Extract<Node, { kind: 'path' }>, scope: Scope): Json | undefined {
  return path.path.reduce(step, path.scope === 'root' ? scope.root : scope.item);
}

/** Only false, or true: then an operand that decides may stand in for one that is unknown. */
function onlyBoolean(node: Node): boolean {
  if (node.kind === 'literal') return node.value === true || node.value === false;
  if (node.kind !== 'call') return false;
  if (node.op === 'and' || node.op === 'or') return node.args.every(onlyBoolean);
  return !['missing', 'if', '+', '-', '*', '/', '%', 'min', 'max', 'cat', 'substr', 'length'].includes(
    node.op,
  );
}

function evaluate(node: Node, scope: Scope): Answer {
  if (node.kind === 'literal') return node.value === null ? unknown('absent') : known(node.value);
  if (node.kind === 'list') {
    const items = node.items.map((item) => evaluate(item, { ...scope, truth: false }));
    return known(items.map((item) => ('value' in item ? item.value : null)));
  }
  if (node.kind === 'path') {
    const value = lookUp(node, scope);
    if (value !== undefined && value !== null) return known(value);
    return node.fallback === undefined ? unknown('absent') : evaluate(node.fallback, scope);
  }
  const { op, args } = node;
  const paths = args.filter((arg) => arg.kind === 'path');
  if (op === 'exists') return known(lookUp(paths[0]!, scope) !== undefined);
  if (op === 'missing') {
    const gone = paths.filter((path) => (lookUp(path, scope) ?? null) === null);
    return known(
      gone.map(({ path }) => (path.length > 1 && path[0] === 'context' ? path.slice(1) : path).join('.')),
    );
  }
  if (op === '!' || op === '!!') {
    const answer = truth(evaluate(args[0]!, { ...scope, truth: true }));
    return typeof answer === 'string' ? unknown(answer) : known(answer === (op === '!!'));
  }
  if (op === 'and' || op === 'or') return connective(op === 'or', args, scope);
  if (op === 'if') return choose(args, scope);
  if (op === 'some' || op === 'all' || op === 'none') return iterate(op, args, scope);
  if (op === 'in' && args[1]!.kind === 'list') {
    const needle = evaluate(args[0]!, { ...scope, truth: false });
    if ('unknown' in needle) return needle;
    return among(
      needle.value,
      args[1]!.items.map((item) => evaluate(item, { ...scope, truth: false })),
    );
  }
  const answers = args.map((arg) => evaluate(arg, { ...scope, truth: false }));
  if (['==', '===', '!=', '!==', '<', '<=', '>', '>='].includes(op)) return compareAll(op, answers);
  return operation(op, answers, scope);
}

function connective(decides: boolean, args: readonly Node[], scope: Scope): Answer {
  const mayAbsorb = scope.truth || args.every(onlyBoolean);
  const before: Reason[] = [];
  let last: Answer = known(!decides);
  for (const arg of args) {
    last = evaluate(arg, scope);
    const answer = truth(last);
    if (answer === decides) return last;
    if (typeof answer === 'string') {
      if (!mayAbsorb) return last;
      before.push(answer);
    }
  }
  return before.length > 0 ? unknown(before[0]!) : last;
}

function choose(args: readonly Node[], scope: Scope): Answer {
  const [test, then, ...rest] = args;
  if (test === undefined) return unknown('absent');
  if (then === undefined) return evaluate(test, scope);
  const answer = truth(evaluate(test, { ...scope, truth: true }));
  if (typeof answer === 'string') return unknown(answer);
  return answer ? evaluate(then, scope) : choose(rest, scope);
}

function iterate(op: 'some' | 'all' | 'none', [list, predicate]: readonly Node[], scope: Scope): Answer {
  const items = evaluate(list!, { ...scope, truth: false });
  if ('unknown' in items) return items;
  if (!Array.isArray(items.value)) return unknown('type');
  if (items.value.length === 0) return known(op === 'none');
  const cost = items.value.length * Math.max(1, costOf(predicate!));
  if (cost > scope.budget.left) return unknown('budget');
  scope.budget.left -= cost;
  const decides = op !== 'all';
  const reasons: Reason[] = [];
  for (const item of items.value) {
    const answer = truth(evaluate(predicate!, { ...scope, item, truth: true }));
    if (answer === decides) return known(op === 'some');
    if (typeof answer === 'string') reasons.push(answer);
  }
  return reasons.length > 0 ? unknown(reasons[0]!) : known(op !== 'some');
}

/** What a predicate costs for one item: a unit for each comparison, computation or path that stands as a clause. */
function costOf(node: Node, asClause = true): number {
  const all = (nodes: readonly Node[], clauses: boolean): number =>
    nodes.map((each) => costOf(each, clauses)).reduce((sum, cost) => sum + cost, 0);
  if (node.kind === 'path') {
    const instead = node.fallback === undefined ? 0 : 1 + costOf(node.fallback, false);
    return (asClause ? 1 : 0) + instead;
  }
  if (node.kind === 'literal') return asClause ? 1 : 0;
  if (node.kind === 'list') {
    const written = node.items.every((item) => item.kind === 'literal');
    return written ? (asClause ? 1 : 0) : all(node.items, true);
  }
  const { op, args } = node;
  if (op === 'missing') return args.length;
  if (['and', 'or', '!', '!!', 'if'].includes(op)) return all(args, true) + (args.length > 1 ? 0 : 1);
  if (['some', 'all', 'none'].includes(op)) return 1 + costOf(args[0]!, false);
  return Math.max(1, args.length - 1) + all(args, false);
}

const kind = (value: Json): string =>
  Array.isArray(value) ? 'list' : value === null ? 'null' : typeof value;

/** `===`: what cannot be told is null. */
function identical(a: Json, b: Json): boolean | null {
  if (kind(a) !== kind(b)) return false;
  return kind(a) === 'list' || kind(a) === 'object' ? null : a === b;
}

function among(needle: Json, items: readonly Answer[]): Answer {
  const answers = items.map((item): boolean | Reason => {
    if ('unknown' in item) return item.unknown;
    return kind(needle) === kind(item.value) ? (identical(needle, item.value) ?? 'type') : 'type';
  });
  if (answers.includes(true)) return known(true);
  const reason = answers.find((answer) => typeof answer === 'string');
  return reason === undefined ? known(false) : unknown(reason);
}

function compareAll(op: string, answers: readonly Answer[]): Answer {
  const pairs = answers.slice(1).map((right, at) => compare(op, answers[at]!, right));
  const failed = pairs.find((pair) => 'value' in pair && pair.value === false);
  return failed ?? pairs.find((pair) => 'unknown' in pair) ?? known(true);
}

function compare(op: string, left: Answer, right: Answer): Answer {
  if ('unknown' in left) return left;
  if ('unknown' in right) return right;
  const [a, b] = [left.value, right.value];
  const equal = identical(a, b);
  if (equal === null) return unknown('type');
  if (op === '===') return known(equal);
  if (op === '!==') return known(!equal);
  if (kind(a) !== kind(b)) return unknown('type');
  const [x, y] = [a as number, b as number];
  const results: Record<string, boolean> = {
    '==': equal,
    '!=': !equal,
    '<': x < y,
    '<=': x <= y,
    '>': x > y,
    '>=': x >= y,
  };
  return known(results[op]!);
}

const bytes = (text: string): number => new TextEncoder().encode(text).length;

/** The first argument that is unknown or that does not pass decides. */
function refused(
  answers: readonly Answer[],
  passes: (value: Json, at: number) => Reason | null,
): Answer | null {
  for (const [at, answer] of answers.entries()) {
    if ('unknown' in answer) return answer;
    const reason = passes(answer.value, at);
    if (reason !== null) return unknown(reason);
  }
  return null;
}

const text = (value: Json): Reason | null =>
  typeof value !== 'string' ? 'type' : bytes(value) > maxTextBytes ? 'budget' : null;

function operation(op: string, answers: readonly Answer[], scope: Scope): Answer {
  const values = answers.map((answer) => ('value' in answer ? answer.value : null));
  const [a, b, c] = values as [Json, Json, Json];
  const plain = (): Answer | null => answers.find((answer) => 'unknown' in answer) ?? null;
  switch (op) {
    case 'in': {
      const stop = plain();
      if (stop !== null) return stop;
      if (Array.isArray(b)) {
        if (b.length > scope.budget.left) return unknown('budget');
        scope.budget.left -= b.length;
        return among(
          a,
          b.map((item) => (item === null ? unknown('absent') : known(item))),
        );
      }
      if (typeof b !== 'string' || typeof a !== 'string') return unknown('type');
      return bytes(a) > maxTextBytes || bytes(b) > maxTextBytes ? unknown('budget') : known(b.includes(a));
    }
    case 'cat': {
      let all = '';
      for (const answer of answers) {
        if ('unknown' in answer) return answer;
        if (!['string', 'number', 'boolean'].includes(typeof answer.value)) return unknown('type');
        all += `${answer.value as string}`;
        if (bytes(all) > maxTextBytes) return unknown('budget');
      }
      return known(all);
    }
    case 'substr': {
      const integer = (value: Json): Reason | null => (Number.isSafeInteger(value) ? null : 'type');
      const stop = refused(answers, (value, at) => (at === 0 ? text(value) : integer(value)));
      if (stop !== null) return stop;
      const characters = Array.from(a as string);
      const from = (b as number) < 0 ? characters.slice(b as number) : characters.slice(b as number);
      if (c === undefined) return known(from.join(''));
      return known(((c as number) < 0 ? from.slice(0, c as number) : from.slice(0, c as number)).join(''));
    }
    case 'starts_with':
    case 'ends_with': {
      const stop = refused(answers, text);
      if (stop !== null) return stop;
      const [whole, part] = [a as string, b as string];
      const at = op === 'starts_with' ? 0 : whole.length - part.length;
      return known(at >= 0 && whole.slice(at, at + part.length) === part);
    }
    case 'length': {
      if (Array.isArray(a)) return known(a.length);
      return refused(answers, text) ?? known(Array.from(a as string).length);
    }
    case 'sem_ver': {
      const version = (value: Json, at: number): Reason | null =>
        at === 1 || versionOf(value) ? null : 'type';
      return refused(answers, version) ?? known(versionsHold(versionOf(a)!, b as string, versionOf(c)!));
    }
    default:
      return calculate(op, answers);
  }
}

function calculate(op: string, answers: readonly Answer[]): Answer {
  const stop = refused(answers, (value) => (typeof value === 'number' ? null : 'type'));
  if (stop !== null) return stop;
  const numbers = answers.map((answer) => ('value' in answer ? (answer.value as number) : 0));
  if (op === '-' && numbers.length === 1) numbers.unshift(0);
  const result = numbers.reduce((x, y) => {
    switch (op) {
      case '+':
        return x + y;
      case '-':
        return x - y;
      case '*':
        return x * y;
      case '/':
        return x / y;
      case '%':
        return x % y;
      case 'min':
        return x < y ? x : y;
      default:
        return x > y ? x : y;
    }
  });
  if (!Number.isFinite(result)) return unknown('arith');
  return known(result === 0 ? 0 : result);
}

interface Version {
  readonly numbers: number[];
  readonly suffix: string[];
}

function versionOf(value: Json): Version | null {
  if (typeof value !== 'string' && typeof value !== 'number') return null;
  const [withoutBuild] = `${value}`.replace(/^v/i, '').split('+') as [string];
  const dash = withoutBuild.indexOf('-');
  const core = dash === -1 ? withoutBuild : withoutBuild.slice(0, dash);
  const suffix = dash === -1 ? [] : withoutBuild.slice(dash + 1).split('.');
  const parts = core.split('.');
  const good =
    parts.length <= 3 &&
    parts.every((part) => /^\d+$/.test(part) && String(Number(part)) === part) &&
    suffix.every((part) => /^[0-9A-Za-z-]+$/.test(part) && !/^0\d+$/.test(part));
  return good ? { numbers: [0, 1, 2].map((at) => Number(parts[at] ?? 0)), suffix } : null;
}

function versionsHold(a: Version, op: string, b: Version): boolean {
  if (op === '^') return a.numbers[0] === b.numbers[0];
  if (op === '~') return a.numbers[0] === b.numbers[0] && a.numbers[1] === b.numbers[1];
  const order = precedence(a, b);
  return {
    '=': order === 0,
    '!=': order !== 0,
    '<': order < 0,
    '<=': order <= 0,
    '>': order > 0,
    '>=': order >= 0,
  }[op]!;
}

function precedence(a: Version, b: Version): number {
  for (let at = 0; at < 3; at++) if (a.numbers[at] !== b.numbers[at]) return a.numbers[at]! - b.numbers[at]!;
  if (a.suffix.length === 0 || b.suffix.length === 0) return b.suffix.length - a.suffix.length;
  for (let at = 0; at < Math.min(a.suffix.length, b.suffix.length); at++) {
    const [x, y] = [a.suffix[at]!, b.suffix[at]!];
    if (x === y) continue;
    const [isNumberX, isNumberY] = [/^\d+$/.test(x), /^\d+$/.test(y)];
    if (isNumberX && isNumberY) return Number(x) - Number(y);
    if (isNumberX !== isNumberY) return isNumberX ? -1 : 1;
    return x < y ? -1 : 1;
  }
  return a.suffix.length - b.suffix.length;
}
