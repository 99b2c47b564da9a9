/**
 * The text syntax of conditions, in the style of CEL (github.com/google/cel-spec, langdef.md). It parses to the same tree
 * as every other spelling and defines no meaning of its own.
 *
 *     Condition = Or [ "?" Condition ":" Condition ] ;                       (* if *)
 *     Or        = And { "||" And } ;                                         (* one call of all of them *)
 *     And       = Relation { "&&" Relation } ;
 *     Relation  = Sum [ ( "==" | "===" | "!=" | "!==" | "in" ) Sum
 *                     | Order Sum [ Order Sum ] ] ;                          (* 1 < x < 5: the same sign twice *)
 *     Order     = "<" | "<=" | ">" | ">=" ;
 *     Sum       = Product { ( "+" | "-" ) Product } ;                        (* a + b + c: one call *)
 *     Product   = Unary { ( "*" | "/" | "%" ) Unary } ;
 *     Unary     = "-" number | ( "!" | "!!" | "-" ) Unary | Primary ;
 *     Primary   = "true" | "false" | "null" | number | string | "[" [ List ] "]" | "(" Condition ")"
 *               | Function "(" [ List ] ")" | "default" "(" Path "," Condition ")" | Path ;
 *     List      = Condition { "," Condition } ;
 *     Function  = "has" (* exists *) | "some" | "all" | "none" | any other operator spelled as a word
 *               | "`" operator "`" ;                                         (* `<=`(a, b) is a <= b *)
 *     Path      = ( "$" | "@" | name ) { "." name | "[" ( string | index ) "]" } ;
 *
 * `context.tool.name`, `step`, `context["a.b"]` and `context.list[0]` are paths; a path that begins with another name is
 * short for one below `context`. `$` is the whole scope, `@` the current item of `some(list, predicate)`, `all` or `none`
 * (as `$` and `@` of RFC 9535). `==` compares values of one type, `===` is false for values of two types. `//` begins a
 * comment. Proven by `test/core/policies/language/text.test.ts` (any tree, printed and parsed).
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { operators } from './ast.ts';
import type { Node, Operator, Segment } from './ast.ts';
import { checkCondition } from './bounds.ts';
import { refuse, shown, tokenize } from './lexer.ts';
import type { Token } from './lexer.ts';
import { arity } from './operand-types.ts';

export { printText } from './text-print.ts';

/**
 * Parses a condition. Attacker controlled: throws VALIDATION_ERROR with `line` and `column` for a text that violates the
 * grammar or a limit. Cost: linear in the source.
 */
export function parseText(source: string): Node {
  const node = new Parser(source).whole();
  try {
    checkCondition(node);
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    // The error is in the tree, without a position: it refers to the whole text.
    const detail = `1:1: ${error.errors[0]?.detail ?? error.message}`;
    throw new GovError('VALIDATION_ERROR', detail, { cause: error, extensions: { line: 1, column: 1 } });
  }
  return node;
}

/** Operators with a word in the text; others are spelled as functions, such as `` `<=` ``. */
const functions: ReadonlyMap<string, Operator> = new Map<string, Operator>([
  ['has', 'exists'],
  ...operators.filter((op) => /^\w+$/.test(op)).map((op): [string, Operator] => [op, op]),
]);
const allOperators: ReadonlyMap<string, Operator> = new Map(operators.map((op) => [op, op]));

const literals: ReadonlyMap<string, null | boolean> = new Map<string, null | boolean>([
  ['true', true],
  ['false', false],
  ['null', null],
]);

const call = (op: Operator, args: readonly Node[]): Node => ({ kind: 'call', op, args });

class Parser {
  readonly #source: string;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#source = source;
    this.#tokens = tokenize(source);
  }

  whole(): Node {
    const node = this.#condition();
    if (this.#token.kind !== 'end') this.#refuse('an operator or the end of the text');
    return node;
  }

  get #token(): Token {
    return this.#tokens[this.#at] as Token; // the last one is `end`, which is never taken
  }

  #refuse(expected: string, token = this.#token): never {
    return refuse(this.#source, token.at, expected, shown(token));
  }

  #is(symbol: string): boolean {
    const token = this.#token;
    return (token.kind === 'symbol' || token.kind === 'name') && token.text === symbol;
  }

  /** Takes one of the given signs if it is next. */
  #take<S extends string>(...symbols: readonly S[]): S | undefined {
    const found = symbols.find((symbol) => this.#is(symbol));
    if (found !== undefined) this.#at++;
    return found;
  }

  #expect(symbol: string, expected = `'${symbol}'`): void {
    if (this.#take(symbol) === undefined) this.#refuse(expected);
  }

  /** Counts a nesting level, so that no source can exhaust the stack. */
  #nested<T>(read: () => T): T {
    // A node opens at most two levels, such as `!` and the parentheses of its argument.
    const most = 2 * limits.conditionDepth;
    if (this.#depth === most) this.#refuse(`at most ${most} levels of nesting`);
    this.#depth++;
    const result = read();
    this.#depth--;
    return result;
  }

  #condition(): Node {
    return this.#nested(() => {
      const test = this.#or();
      if (this.#take('?') === undefined) return test;
      const then = this.#condition();
      this.#expect(':');
      return call('if', [test, then, this.#condition()]);
    });
  }

  #or(): Node {
    const args = [this.#and()];
    while (this.#take('||') !== undefined) args.push(this.#and());
    return args.length === 1 ? (args[0] as Node) : call('or', args);
  }

  #and(): Node {
    const args = [this.#relation()];
    while (this.#take('&&') !== undefined) args.push(this.#relation());
    return args.length === 1 ? (args[0] as Node) : call('and', args);
  }

  #relation(): Node {
    const left = this.#sum();
    const op = this.#take('==', '===', '!=', '!==', 'in', '<', '<=', '>', '>=');
    if (op === undefined) return left;
    const args = [left, this.#sum()];
    if (/[<>]/.test(op) && this.#take(op) !== undefined) args.push(this.#sum());
    if (['==', '===', '!=', '!==', 'in', '<', '<=', '>', '>='].some((sign) => this.#is(sign))) {
      this.#refuse('parentheses around one of the comparisons');
    }
    return call(op, args);
  }

  #sum(): Node {
    return this.#chain(['+', '-'], '+', () => this.#product());
  }

  #product(): Node {
    return this.#chain(['*', '/', '%'], '*', () => this.#unary());
  }

  /** Left to right; repeated signs of an operator with any number of arguments form one call. */
  #chain(signs: readonly Operator[], many: Operator, operand: () => Node): Node {
    let args = [operand()];
    let last: Operator | undefined;
    let levels = 0;
    for (let op = this.#take(...signs); op !== undefined; op = this.#take(...signs)) {
      if (last !== undefined && (op !== last || op !== many)) {
        if (++levels > limits.conditionDepth)
          this.#refuse(`at most ${limits.conditionDepth} levels of calls`);
        args = [call(last, args)];
      }
      args.push(operand());
      last = op;
    }
    return last === undefined ? (args[0] as Node) : call(last, args);
  }

  #unary(): Node {
    const op = this.#take('!', '!!', '-');
    if (op === undefined) return this.#primary();
    const token = this.#token;
    if (op === '-' && token.kind === 'number') {
      this.#at++;
      return { kind: 'literal', value: 0 - token.value };
    }
    return call(op, [this.#nested(() => this.#unary())]);
  }

  /** Returns whether a parenthesis follows the token, so that a name is a function. */
  #isCalled(): boolean {
    const next = this.#tokens[this.#at + 1];
    return next?.kind === 'symbol' && next.text === '(';
  }

  #primary(): Node {
    const token = this.#token;
    if (token.kind === 'number' || token.kind === 'string') {
      this.#at++;
      return { kind: 'literal', value: token.value };
    }
    if (token.kind === 'operator' || (token.kind === 'name' && this.#isCalled())) return this.#function();
    const literal = token.kind === 'name' ? literals.get(token.text) : undefined;
    if (literal !== undefined) {
      this.#at++;
      return { kind: 'literal', value: literal };
    }
    if (this.#take('[') !== undefined) return { kind: 'list', items: this.#list(']') };
    if (this.#take('(') !== undefined) {
      const inner = this.#condition();
      this.#expect(')', "an operator or ')'");
      return inner;
    }
    return this.#path();
  }

  #list(close: string): Node[] {
    const items: Node[] = [];
    if (this.#take(close) !== undefined) return items;
    do items.push(this.#condition());
    while (this.#take(',') !== undefined);
    this.#expect(close, `',' or '${close}'`);
    return items;
  }

  #function(): Node {
    const token = this.#token;
    this.#at++;
    if (token.kind === 'name' && token.text === 'default') return this.#default();
    const op = token.kind === 'operator' ? allOperators.get(token.value) : functions.get(token.text);
    if (op === undefined) {
      this.#refuse(`a function (default, ${[...functions.keys()].join(', ')})`, token);
    }
    this.#expect('(');
    const first = this.#token;
    const args = this.#list(')');
    const [fewest, most] = arity[op];
    if (args.length < fewest || args.length > most) {
      const expected =
        most === Infinity ? `${fewest} or more` : fewest === most ? `${most}` : `${fewest} or ${most}`;
      refuse(this.#source, token.at, `${expected} arguments of ${token.text}`, `${args.length}`);
    }
    const takesPaths = op === 'exists' || op === 'missing';
    if (takesPaths && args.some((arg) => arg.kind !== 'path' || arg.fallback !== undefined)) {
      this.#refuse('paths only', first);
    }
    return call(op, args);
  }

  #default(): Node {
    this.#expect('(');
    const path = this.#path();
    this.#expect(',');
    const fallback = this.#condition();
    this.#expect(')', "an operator or ')'");
    return { ...path, fallback };
  }

  #path(): Extract<Node, { kind: 'path' }> {
    const token = this.#token;
    const scope = this.#take('@') === undefined ? 'root' : 'item';
    if (scope === 'item' || this.#take('$') !== undefined)
      return { kind: 'path', scope, path: this.#segments() };
    if (token.kind !== 'name' || token.text === 'in' || literals.has(token.text)) {
      this.#refuse('a path, a value or a function');
    }
    this.#at++;
    const isRooted = token.text === 'context' || token.text === 'step';
    const start = isRooted ? [token.text] : ['context', token.text];
    return { kind: 'path', scope, path: [...start, ...this.#segments()] };
  }

  #segments(): Segment[] {
    const segments: Segment[] = [];
    for (;;) {
      if (this.#take('.') !== undefined) segments.push(this.#name());
      else if (this.#take('[') !== undefined) segments.push(this.#subscript());
      else return segments;
      if (segments.length > limits.conditionPath)
        this.#refuse(`at most ${limits.conditionPath} segments in a path`);
    }
  }

  #name(): string {
    const token = this.#token;
    if (token.kind !== 'name') this.#refuse('a name (others as ["…"])');
    this.#at++;
    return token.text;
  }

  #subscript(): Segment {
    const token = this.#token;
    const isIndex = token.kind === 'number' && Number.isSafeInteger(token.value);
    if (!isIndex && token.kind !== 'string') this.#refuse('a string or an index from 0');
    this.#at++;
    this.#expect(']');
    return token.value;
  }
}
