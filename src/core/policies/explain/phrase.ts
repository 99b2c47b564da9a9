/**
 * Clauses in words with the values of a policy input: parts of the template `gov.reason/1` (`reasoning.ts`). The texts are
 * recorded and replayed, so they must not change. Proven by `test/core/policies/explain/reasoning.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { Json } from '../../json/parse.ts';
import type { Node, Operator } from '../language/ast.ts';
import type { Call, Clause, Path } from '../evaluate/clause.ts';
import { readsOf } from '../evaluate/clause.ts';
import { compileValue, Indeterminate } from '../evaluate/compile.ts';
import type { PolicyInput } from '../evaluate/compile.ts';
import { cutText, echo, isMasked, maskedText, valueAt } from './echo.ts';
import type { Masks } from './echo.ts';
import { neededType, opposite } from '../evaluate/operand.ts';
import { pathText, printText } from '../language/text-print.ts';

/** One side of a comparison. */
interface Side {
  /** The path or the expression. */
  readonly name: string;
  /** The value in words. */
  readonly shown: string;
  readonly value: Json;
  readonly isMasked: boolean;
}

/** Words for the clauses of one policy input. */
export class Phrasebook {
  readonly #input: PolicyInput;
  readonly #masks: Masks;

  constructor(input: PolicyInput, masks: Masks) {
    this.#input = input;
    this.#masks = masks;
  }

  /** Describes a clause that is true, or false: `context.tool.name "shell" in list of 10`. */
  holds(clause: Clause, isTrue: boolean): string {
    const { node } = clause;
    if (node.kind === 'path') return `${this.#side(node).name} is ${this.#side(node).shown}`;
    if (node.kind !== 'call') return `the condition is ${isTrue}`;
    const [left, right] = node.args;
    if (node.op === 'exists' || node.op === 'missing') return this.#presence(node, isTrue);
    if (left === undefined || right === undefined || node.args.length > 2) return this.#other(node, isTrue);
    switch (node.op) {
      case '==':
      case '===':
      case '!=':
      case '!==':
        return this.#equality(left, right, (node.op === '==' || node.op === '===') === isTrue);
      case '<':
      case '<=':
      case '>':
      case '>=':
        return this.#order(isTrue ? node.op : opposite[node.op], left, right);
      case 'in':
        return this.#membership(left, right, isTrue);
      case 'starts_with':
      case 'ends_with':
        return this.#affix(node.op, left, right, isTrue);
      case 'some':
      case 'all':
      case 'none':
        return this.#items(node.op, left, right, isTrue);
      default:
        return this.#other(node, isTrue);
    }
  }

  /** Describes a clause that prevented a match: actual value, needed value, place. */
  needs(clause: Clause, isTrue: boolean): string {
    return `${this.#need(clause, isTrue)} needed at ${cutText(clause.path, 2 * limits.echoChars)}`;
  }

  #need({ node, ...clause }: Clause, isTrue: boolean): string {
    const opposed = (): string => `${this.holds({ node, ...clause }, isTrue)}, the opposite`;
    if (node.kind !== 'call') return node.kind === 'path' ? `${this.#given(node)}, ${!isTrue}` : opposed();
    const [left, right] = node.args;
    if (node.op === 'exists') return `${this.#presence(node, isTrue)}, ${isTrue ? 'none' : 'a value'}`;
    if (left?.kind !== 'path' || right === undefined || node.args.length > 2) return opposed();
    const object = this.#against(this.#side(left), this.#side(right));
    switch (node.op) {
      case '==':
      case '===':
      case '!=':
      case '!==': {
        const isEqual = (node.op === '==' || node.op === '===') === isTrue;
        return `${this.#given(left)}, ${isEqual ? 'another value' : object}`;
      }
      case '<':
      case '<=':
      case '>':
      case '>=':
        return `${this.#given(left)}, ${isTrue ? opposite[node.op] : node.op} ${object}`;
      case 'in':
        return `${this.#given(left)}, ${isTrue ? 'none' : 'one'} in ${object}`;
      default:
        return opposed();
    }
  }

  /** Describes why a clause is undecided: what it needed, and its place. */
  lacks(clause: Clause): string {
    const why = clause.condition.why(this.#input);
    const at = `at ${cutText(clause.path, 2 * limits.echoChars)}`;
    if (why === null) return `undecided ${at}`;
    const type = neededType(clause.node, why);
    const read = cutText(why.read === null ? printText(why.node) : this.#spelled(why), 2 * limits.echoChars);
    switch (why.reason) {
      case 'absent':
        return `${read} absent, ${type} needed ${at}`;
      case 'type':
        return `${read} is of another type, ${type} needed ${at}`;
      case 'arith':
        return `${cutText(printText(why.node), 2 * limits.echoChars)} is no finite number ${at}`;
      case 'budget':
        return `${read} is beyond the budget of an evaluation ${at}`;
    }
  }

  #spelled({ node, read }: Indeterminate): string {
    return node.kind === 'path' && node.scope === 'root' ? pathText(node.path) : escaped(read ?? '');
  }

  #presence({ op, args }: Call, isTrue: boolean): string {
    const paths = args.filter((arg): arg is Path => arg.kind === 'path');
    const isPresent = (op === 'exists') === isTrue;
    const absent = paths.filter(
      ({ path }) => !isPresent && (paths.length === 1 || valueAt(path, this.#input) === null),
    );
    const named = absent.length === 0 ? paths : absent;
    const names = named.map(({ path }) => cutText(pathText(path), 2 * limits.echoChars)).join(', ');
    return absent.length === 0 ? `${names} exists` : `${names} absent`;
  }

  #equality(left: Node, right: Node, isEqual: boolean): string {
    const [a, b] = this.#sides(left, right);
    const object = this.#against(a, b);
    if (!isEqual) return `${a.name} ${a.shown} is not ${object}`;
    return `${a.name} ${typeof b.value === 'boolean' && !a.isMasked ? 'is' : '='} ${object}`;
  }

  #order(op: Operator, left: Node, right: Node): string {
    const [a, b] = [this.#side(left), this.#side(right)];
    const named = right.kind === 'path' ? `${b.name} ${b.shown}` : this.#against(a, b);
    return left.kind === 'literal' ? `${a.shown} ${op} ${named}` : `${a.name} ${a.shown} ${op} ${named}`;
  }

  #membership(left: Node, right: Node, isTrue: boolean): string {
    const [a, b] = [this.#side(left), this.#side(right)];
    if (left.kind === 'literal' && right.kind !== 'literal' && right.kind !== 'list') {
      const object = b.isMasked ? maskedText : a.shown;
      return `${b.name} (${b.shown}) ${isTrue ? 'contains' : 'lacks'} ${object}`;
    }
    return `${a.name} ${a.shown} ${isTrue ? 'in' : 'not in'} ${this.#against(a, b)}`;
  }

  #affix(op: 'starts_with' | 'ends_with', left: Node, right: Node, isTrue: boolean): string {
    const [a, b] = [this.#side(left), this.#side(right)];
    const verb = op === 'starts_with' ? 'start' : 'end';
    return `${a.name} ${a.shown} ${isTrue ? `${verb}s` : `does not ${verb}`} with ${this.#against(a, b)}`;
  }

  #items(op: Operator, list: Node, predicate: Node, isTrue: boolean): string {
    const { name, shown, isMasked } = this.#side(list);
    const text = isMasked ? maskedText : cutText(printText(predicate), limits.echoChars);
    return `${isTrue ? '' : 'not '}${op} of ${name} (${shown}): ${text}`;
  }

  #other(node: Node, isTrue: boolean): string {
    const reads = readsOf(node).map((path) => this.#given(path));
    const given = reads.length === 0 ? '' : ` (${reads.join(', ')})`;
    // The expression would reveal the value that a masked one was compared with.
    const text = this.#side(node).isMasked ? maskedText : cutText(printText(node), limits.echoChars);
    return `${text} is ${isTrue}${given}`;
  }

  #given(node: Path): string {
    const { name, shown } = this.#side(node);
    return `${name} = ${shown}`;
  }

  /** Returns the sides with the path first. */
  #sides(left: Node, right: Node): readonly [Side, Side] {
    const [a, b] = [this.#side(left), this.#side(right)];
    return left.kind === 'literal' ? [b, a] : [a, b];
  }

  /** Hides the value that a masked value is compared with, because it reveals as much. */
  #against = (subject: Side, object: Side): string => (subject.isMasked ? maskedText : object.shown);

  #side(node: Node): Side {
    const { name, reads, valueOf } = subjectOf(node);
    const result = valueOf(this.#input);
    const value = result instanceof Indeterminate ? null : result;
    const hidden = this.#masks.length > 0 && reads.some(({ path }) => isMasked(path, this.#masks));
    return { name, shown: hidden ? maskedText : echo(value), value, isMasked: hidden };
  }
}

/** A side of a comparison, independent of the policy input. */
interface Subject {
  readonly name: string;
  readonly reads: readonly Path[];
  readonly valueOf: ReturnType<typeof compileValue>;
}

const subjects = new WeakMap<Node, Subject>();

/** Cost: compiles a node once in its lifetime. */
function subjectOf(node: Node): Subject {
  let subject = subjects.get(node);
  if (subject === undefined) {
    const text = node.kind === 'path' ? pathText(node.path, node.scope) : printText(node);
    const name = cutText(text, 2 * limits.echoChars);
    subject = { name, reads: readsOf(node), valueOf: compileValue(node) };
    subjects.set(node, subject);
  }
  return subject;
}

const escaped = (text: string): string => echo(text).slice(1, -1);
