/**
 * Compiles conditions to closures (`gov.cond/1`): no eval, no recursion over user data, no state except a budget.
 * A condition is compiled once for each policy version and evaluated for every policy input.
 *
 * Truth is Kleene's: `and` is false if one operand is false, else indeterminate if one is indeterminate. All operators are
 * monotone: when values become absent, a result can only become indeterminate. Only `exists`, `missing` and defaults, which
 * test for absence, can distinguish a hidden value from an absent one.
 *
 * Proven by `test/core/policies/evaluate/compile.test.ts`, by the public suites (`test/core/policies/jsonlogic.test.ts`,
 * `test/core/policies/cerbos.test.ts`, `test/core/policies/flagd.test.ts`) and against a second evaluator, written from the
 * specification (`test/core/policies/reference.test.ts`).
 */
import type { Json, JsonObject } from '../../json/parse.ts';
import { arithmetic } from './arithmetic.ts';
import type { Node, Operator } from '../language/ast.ts';
import { resetBudget } from './budget.ts';
import { equality, order } from './comparison.ts';
import { siteOf } from './operator.ts';
import type { Evaluate, Operand, Site } from './operator.ts';
import { Indeterminate, truthOf } from './indeterminate.ts';
import type { Value } from './indeterminate.ts';
import { inItems, inValue, iterator } from './lists.ts';
import { choice, connective, missing, negation } from './logic.ts';
import { existsAt, lookupOf, missingName } from './lookup.ts';
import type { Path } from './lookup.ts';
import { spellPath } from '../language/path.ts';
import { isBoolean } from '../language/operand-types.ts';
import { membership, textFunction } from './tool-texts.ts';
import { concatenation, length, semVer, substring, withAffix } from './strings.ts';

export { Indeterminate } from './indeterminate.ts';
export type { Value } from './indeterminate.ts';

type Call = Extract<Node, { kind: 'call' }>;

/** The input that a condition is evaluated on, exactly as sent; `checkpoint` on the wire. */
export interface PolicyInput {
  readonly step?: number;
  readonly context: JsonObject;
}

export type Truth = 'true' | 'false' | 'indeterminate';

export interface Condition {
  readonly node: Node;
  /** Cost: linear in the nodes and in the clauses asked of list items, which a budget limits (`budget.ts`). */
  evaluate(input: PolicyInput): Truth;
  /** Returns why a condition is indeterminate; null if it is true or false. */
  why(input: PolicyInput): Indeterminate | null;
}

/**
 * Compiles a condition. The node must have been checked (`parseCondition` or `checkCondition`); the policy input is
 * attacker controlled and may be any JSON.
 */
export function compile(node: Node): Condition {
  const value = compileValue(node);
  const truth = (input: PolicyInput): boolean | Indeterminate => truthOf(value(input));
  return {
    node,
    evaluate: (input) => {
      const answer = truth(input);
      return answer === true ? 'true' : answer === false ? 'false' : 'indeterminate';
    },
    why: (input) => {
      const answer = truth(input);
      return typeof answer === 'boolean' ? null : answer;
    },
  };
}

/**
 * Compiles a node to its value, with a budget of its own. For a node inside `some`, `all` or `none`, `item` is the current
 * element. Evaluation allocates only new values: a list with expressions, a text.
 */
export function compileValue(node: Node): (input: PolicyInput, item?: Json) => Value {
  const evaluate = compileNode(node, { asTruth: true, items: '' });
  return (input, item) => {
    resetBudget();
    return evaluate(input, item);
  };
}

/** The context of a node during compilation. */
interface CompileScope {
  /** Whether only the truth of the node counts; elsewhere two different false values must stay distinct. */
  readonly asTruth: boolean;
  /** Name of the items of the innermost list, for messages. */
  readonly items: string;
}

function compileNode(node: Node, place: CompileScope): Evaluate {
  switch (node.kind) {
    case 'literal': {
      const value = node.value ?? new Indeterminate('absent', null, node);
      return () => value;
    }
    case 'list':
      return compileList(node.items, place);
    case 'path':
      return compilePath(node, place);
    case 'call':
      return compileCall(node, place);
  }
}

function compileList(nodes: readonly Node[], place: CompileScope): Evaluate {
  const literals = nodes.map((item) => (item.kind === 'literal' ? item.value : undefined));
  if (literals.every((item) => item !== undefined)) return () => literals;
  const items = nodes.map((item) => compileNode(item, { ...place, asTruth: false }));
  return (root, item) =>
    items.map((evaluate) => {
      const value = evaluate(root, item);
      return value instanceof Indeterminate ? null : value;
    });
}

function compilePath(node: Path, place: CompileScope): Evaluate {
  const absent = new Indeterminate('absent', readOf(node, place), node);
  const lookup = lookupOf(node);
  if (node.fallback === undefined) return (root, item) => lookup(root, item) ?? absent;
  const fallback = compileNode(node.fallback, place);
  return (root, item) => lookup(root, item) ?? fallback(root, item);
}

/** Returns the name of the path that a node reads; null for other nodes. */
function readOf(node: Node, { items }: CompileScope): string | null {
  if (node.kind !== 'path') return null;
  return spellPath(node.scope === 'root' ? '' : items, node.path);
}

function compileCall(node: Call, place: CompileScope): Evaluate {
  const { op, args } = node;
  const site = siteOf(node);
  switch (op) {
    case 'exists':
    case 'missing':
    case 'and':
    case 'or':
    case '!':
    case '!!':
    case 'if':
      return compileLogic(node, op, place);
    case 'some':
    case 'all':
    case 'none': {
      const list = operandOf(args[0] as Node, place);
      const predicate = args[1] as Node;
      const evaluate = compileNode(predicate, { asTruth: true, items: `${list.read ?? ''}[]` });
      return iterator(list, { node: predicate, evaluate }, site, op);
    }
    case 'in': {
      const [needle, within] = args as [Node, Node];
      const value = operandOf(needle, place);
      if (within.kind !== 'list') return inValue(value, operandOf(within, place), site);
      return inItems(
        value,
        within.items.map((item) => operandOf(item, place)),
        site,
      );
    }
    case 'path_in':
    case 'host_in': {
      const [text, within] = args as [Node, Node];
      const members = within.kind === 'list' ? within.items : [];
      const texts = members.map((each) => (each.kind === 'literal' ? String(each.value) : ''));
      return membership(op, operandOf(text, place), texts, site);
    }
    default:
      return compileOperation(
        op,
        args.map((arg) => operandOf(arg, place)),
        site,
      );
  }
}

type Logic = 'exists' | 'missing' | 'and' | 'or' | '!' | '!!' | 'if';

function compileLogic(node: Call, op: Logic, place: CompileScope): Evaluate {
  const { args } = node;
  const compileArg = (arg: Node, asTruth: boolean): Evaluate => compileNode(arg, { ...place, asTruth });
  switch (op) {
    case 'exists':
      return existsAt(args[0] as Path);
    case 'missing':
      return missing(args.map((arg) => ({ lookup: lookupOf(arg as Path), name: missingName(arg as Path) })));
    case 'and':
    case 'or': {
      const absorbs = place.asTruth || args.every(isBoolean);
      return connective(
        op,
        args.map((arg) => compileArg(arg, place.asTruth)),
        absorbs,
      );
    }
    case '!':
    case '!!':
      return negation(compileArg(args[0] as Node, true), op === '!');
    case 'if': {
      const isTest = (at: number): boolean => at % 2 === 0 && at + 1 < args.length;
      const operands = args.map((arg, at) => compileArg(arg, isTest(at) || place.asTruth));
      return choice(operands, siteOf(node));
    }
  }
}

/** Compiles operators that evaluate all their operands. */
function compileOperation(
  op: Exclude<Operator, Logic | 'some' | 'all' | 'none' | 'in' | 'path_in' | 'host_in'>,
  operands: readonly Operand[],
  site: Site,
): Evaluate {
  const [first, second] = operands as [Operand, Operand];
  switch (op) {
    case '==':
    case '===':
    case '!=':
    case '!==':
      return equality(operands, site, op);
    case '<':
    case '<=':
    case '>':
    case '>=':
      return order(operands, site, op);
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case 'min':
    case 'max':
      return arithmetic(operands, site, op);
    case 'cat':
      return concatenation(operands, site);
    case 'substr':
      return substring(operands, site);
    case 'starts_with':
    case 'ends_with':
      return withAffix([first, second], site, op);
    case 'length':
      return length(first, site);
    case 'sem_ver':
      return semVer(operands, site);
    case 'lower':
    case 'fold':
    case 'path':
    case 'host':
    case 'programs':
    case 'time':
    case 'bare':
      return textFunction(op, first, site);
  }
}

/** Compiles an operand. */
function operandOf(node: Node, place: CompileScope): Operand {
  return { node, evaluate: compileNode(node, { ...place, asTruth: false }), read: readOf(node, place) };
}
