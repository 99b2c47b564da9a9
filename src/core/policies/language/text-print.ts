/**
 * Prints a condition in the text syntax (grammar: `text.ts`), with no more parentheses than needed. A form without syntax
 * of its own, such as `and` of one clause, is printed as a function, so every tree has a text that parses to the same
 * tree. Proven by `test/core/policies/language/text.test.ts` (any tree, both ways).
 */
import type { Node, Operator, Scalar, Segment } from './ast.ts';
import { spelled } from './lexer.ts';

type Path = Extract<Node, { kind: 'path' }>;
type Call = Extract<Node, { kind: 'call' }>;

/** Returns the text of a condition. Cost: linear in its nodes. Recursive: the caller limits the depth. */
export const printText = (node: Node): string => print(node, level.choice);

/** Returns a path as text: `context.tool.name`, `context["a.b"]`, `step`, `$` (the whole scope), `@` (the item). */
export function pathText(path: readonly Segment[], scope: Path['scope'] = 'root'): string {
  const [first, ...rest] = path;
  const isNamed = scope === 'root' && (first === 'context' || first === 'step');
  if (isNamed) return first + rest.map(segmentText).join('');
  return (scope === 'root' ? '$' : '@') + path.map(segmentText).join('');
}

const segmentText = (segment: Segment): string => {
  if (typeof segment === 'number') return `[${segment}]`;
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(segment) ? `.${segment}` : `[${spelled(segment)}]`;
};

/** Returns a literal as text. */
export const scalarText = (value: Scalar): string =>
  typeof value === 'string' ? spelled(value) : String(value);

/** Binding strength of a form; a form that binds less than required gets parentheses. */
const level = { choice: 1, or: 2, and: 3, relation: 4, sum: 5, product: 6, unary: 7, primary: 8 } as const;
type Level = (typeof level)[keyof typeof level];

interface Form {
  readonly text: string;
  readonly level: Level;
}

function print(node: Node, atLeast: Level): string {
  const form = formOf(node);
  return form.level >= atLeast ? form.text : `(${form.text})`;
}

function formOf(node: Node): Form {
  switch (node.kind) {
    case 'literal':
      return { text: scalarText(node.value), level: isNegative(node.value) ? level.unary : level.primary };
    case 'list':
      return { text: `[${listed(node.items)}]`, level: level.primary };
    case 'path':
      return { text: printPath(node), level: level.primary };
    case 'call':
      return infix(node) ?? { text: `${functionName(node.op)}(${listed(node.args)})`, level: level.primary };
  }
}

const isNegative = (value: Scalar): boolean => typeof value === 'number' && value < 0;

const listed = (nodes: readonly Node[]): string => nodes.map(printText).join(', ');

function printPath(node: Path): string {
  const text = pathText(node.path, node.scope);
  return node.fallback === undefined ? text : `default(${text}, ${printText(node.fallback)})`;
}

const functionName = (op: Operator): string =>
  op === 'exists' ? 'has' : /^\w+$/.test(op) ? op : `\`${op}\``;

/** Returns the infix form; undefined if the operator has none for this number of arguments. */
function infix({ op, args }: Call): Form | undefined {
  const [first, second, third] = args;
  if (first === undefined) return undefined;
  if (second === undefined) return prefix(op, first);
  const sign = signs.get(op);
  if (sign !== undefined && args.length <= sign.most) return joined(op, sign, args);
  if (op !== 'if' || third === undefined || args.length > 3) return undefined;
  return {
    text: `${print(first, level.or)} ? ${printText(second)} : ${printText(third)}`,
    level: level.choice,
  };
}

interface Sign {
  readonly sign: string;
  readonly level: Level;
  /** Most arguments of one chain of the sign. */
  readonly most: number;
}

const relation = (sign: string, most: number): Sign => ({ sign, level: level.relation, most });

const signs: ReadonlyMap<Operator, Sign> = new Map<Operator, Sign>([
  ['or', { sign: '||', level: level.or, most: Infinity }],
  ['and', { sign: '&&', level: level.and, most: Infinity }],
  ['==', relation('==', 2)],
  ['===', relation('===', 2)],
  ['!=', relation('!=', 2)],
  ['!==', relation('!==', 2)],
  ['in', relation('in', 2)],
  ['<', relation('<', 3)],
  ['<=', relation('<=', 3)],
  ['>', relation('>', 3)],
  ['>=', relation('>=', 3)],
  ['+', { sign: '+', level: level.sum, most: Infinity }],
  ['-', { sign: '-', level: level.sum, most: 2 }],
  ['*', { sign: '*', level: level.product, most: Infinity }],
  ['/', { sign: '/', level: level.product, most: 2 }],
  ['%', { sign: '%', level: level.product, most: 2 }],
]);

/** Arguments bind tighter than their sign; only the first of a sum or product may have the same strength. */
function joined(op: Operator, sign: Sign, args: readonly Node[]): Form {
  const inner = (sign.level + 1) as Level; // no sign has the level of a primary
  const texts = args.map((arg, at) => print(arg, at === 0 && mayLead(op, sign, arg) ? sign.level : inner));
  return { text: texts.join(` ${sign.sign} `), level: sign.level };
}

const mayLead = (op: Operator, sign: Sign, arg: Node): boolean =>
  (sign.level === level.sum || sign.level === level.product) &&
  // A sum that leads a longer sum of the same sign would parse as one.
  !(arg.kind === 'call' && arg.op === op && sign.most > 2);

function prefix(op: Operator, arg: Node): Form | undefined {
  if (op !== '!' && op !== '!!' && op !== '-') return undefined;
  // `-5` is a number, not a call.
  const isNumber = arg.kind === 'literal' && typeof arg.value === 'number';
  const text = op === '-' && isNumber ? `(${printText(arg)})` : print(arg, level.primary);
  return { text: op + text, level: level.unary };
}
