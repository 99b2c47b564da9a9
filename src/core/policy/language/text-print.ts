/**
 * A condition in the text syntax (grammar: `text.ts`), with no more parentheses than needed. What the grammar
 * has no form of its own for, such as `and` of one clause, is printed as a function, so every tree has a text
 * and the text gives the same tree again. Proven by `test/core/policy/language/text.test.ts` (any tree, both ways).
 */
import type { Node, Operator, Scalar, Segment } from './ast.ts';
import { spelled } from './lexer.ts';

type Path = Extract<Node, { kind: 'path' }>;
type Call = Extract<Node, { kind: 'call' }>;

/** The text of a condition. Cost: linear in its nodes; recursive, so the caller bounds the depth. */
export const printText = (node: Node): string => print(node, level.choice);

/** A path as text: `context.tool.name`, `context["a.b"]`, `step`, `$` for the whole scope, `@` for the item. */
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

/** A literal as it stands in a text. */
export const scalarText = (value: Scalar): string =>
  typeof value === 'string' ? spelled(value) : String(value);

/** How tightly a form binds: what is printed where more is asked is put in parentheses. */
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

/** The form with signs, undefined where the operator has none, or none for so many arguments. */
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
  /** Most arguments that one chain of the sign stands for. */
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

/** Arguments bind tighter than their sign; only the first of a sum or product may be another of its kind. */
function joined(op: Operator, sign: Sign, args: readonly Node[]): Form {
  const inner = (sign.level + 1) as Level; // no sign has the level of a primary
  const texts = args.map((arg, at) => print(arg, at === 0 && mayLead(op, sign, arg) ? sign.level : inner));
  return { text: texts.join(` ${sign.sign} `), level: sign.level };
}

const mayLead = (op: Operator, sign: Sign, arg: Node): boolean =>
  (sign.level === level.sum || sign.level === level.product) &&
  // a sum that leads a longer sum of the same sign would be read as one
  !(arg.kind === 'call' && arg.op === op && sign.most > 2);

function prefix(op: Operator, arg: Node): Form | undefined {
  if (op !== '!' && op !== '!!' && op !== '-') return undefined;
  // `-5` is a number, not a call
  const isNumber = arg.kind === 'literal' && typeof arg.value === 'number';
  const text = op === '-' && isNumber ? `(${printText(arg)})` : print(arg, level.primary);
  return { text: op + text, level: level.unary };
}
