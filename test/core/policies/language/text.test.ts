/** The text syntax: every tree survives being printed and read, and what is not in the grammar is refused. */
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { GovError } from '../../../../src/contract/problems.ts';
import type { Node, Operator, Segment } from '../../../../src/core/policies/language/ast.ts';
import { parseText, printText } from '../../../../src/core/policies/language/text.ts';
import { pathText } from '../../../../src/core/policies/language/text-print.ts';
import { anyTree } from '../trees.ts';

const literal = (value: null | boolean | number | string): Node => ({ kind: 'literal', value });
const root = (...path: Segment[]): Node => ({ kind: 'path', scope: 'root', path });
const item = (...path: Segment[]): Node => ({ kind: 'path', scope: 'item', path });
const call = (op: Operator, ...args: Node[]): Node => ({ kind: 'call', op, args });
const a = root('context', 'a');
const b = root('context', 'b');
const c = root('context', 'c');

describe('printing and reading conditions', () => {
  it('every condition is read back from its printed text', () => {
    fc.assert(
      fc.property(anyTree, (tree) => {
        expect(parseText(printText(tree))).toEqual(tree);
      }),
      { numRuns: 3000 },
    );
  });

  it('a condition text that was printed and read is printed the same again', () => {
    fc.assert(
      fc.property(anyTree, (tree) => {
        const text = printText(tree);
        expect(printText(parseText(text))).toBe(text);
      }),
    );
  });

  it('the printed text of a condition needs every parenthesis that it has', () => {
    fc.assert(
      fc.property(anyTree, (tree) => {
        const text = printText(tree);
        for (const [open, close] of groups(text)) {
          const without = `${text.slice(0, open)} ${text.slice(open + 1, close)} ${text.slice(close + 1)}`;
          expect(attempt(without)).not.toEqual(tree);
        }
      }),
      { numRuns: 300 },
    );
  });
});

/** Offsets of parentheses, but for those of functions and those after a sign, which `!(!a)` has to be readable. */
function groups(text: string): [number, number][] {
  const found: [number, number][] = [];
  const open: number[] = [];
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[()]/g)) {
    if (token === '(') open.push(index);
    if (token !== ')') continue;
    const start = open.pop()!;
    if (start === 0 || !/[\w`!-]/.test(text[start - 1]!)) found.push([start, index]);
  }
  return found;
}

const attempt = (source: string): Node | undefined => {
  try {
    return parseText(source);
  } catch {
    return undefined;
  }
};

it('the deepest condition that may be stored is read from its text', () => {
  const nested = (wrap: (inner: Node) => Node): Node => Array.from({ length: 31 }).reduce<Node>(wrap, a);
  const deepest = [
    nested((inner) => call('!', inner)),
    nested((inner) => call('-', inner)),
    nested((inner) => call('-', inner, b)),
    nested((inner) => call('and', inner, b)),
    nested((inner) => call('if', inner, b, c)),
    nested((inner) => call('if', b, c, inner)),
    nested((inner) => call('min', inner)),
  ];
  for (const tree of deepest) expect(parseText(printText(tree))).toEqual(tree);
  expect(refusal(printText(call('!', deepest[0]!))).message).toBe(
    '1:1: expected at most 32 levels of nesting, got 33',
  );
});

describe('the forms of condition text', () => {
  test.each<[string, Node]>([
    ['context.a', a],
    ['context.a == "x"', call('==', a, literal('x'))],
    ['context.a === null', call('===', a, literal(null))],
    [
      'context.a in ["x", 1, true]',
      call('in', a, { kind: 'list', items: [literal('x'), literal(1), literal(true)] }),
    ],
    ['context.a && context.b && context.c', call('and', a, b, c)],
    ['(context.a && context.b) && context.c', call('and', call('and', a, b), c)],
    ['context.a && (context.b || context.c)', call('and', a, call('or', b, c))],
    ['context.a && context.b || context.c', call('or', call('and', a, b), c)],
    ['and(context.a)', call('and', a)],
    ['!(context.a || context.b)', call('!', call('or', a, b))],
    ['!!context.a', call('!!', a)],
    ['!(!context.a)', call('!', call('!', a))],
    ['has(context.a)', call('exists', a)],
    ['!has(context.a)', call('!', call('exists', a))],
    ['missing(context.a, context.b)', call('missing', a, b)],
    ['`==`(context.a, context.b, context.c)', call('==', a, b, c)],
    ['1 < context.a < 5', call('<', literal(1), a, literal(5))],
    ['(context.a < context.b) == context.c', call('==', call('<', a, b), c)],
    ['context.a + context.b + context.c', call('+', a, b, c)],
    ['(context.a + context.b) + context.c', call('+', call('+', a, b), c)],
    ['context.a - context.b + context.c', call('+', call('-', a, b), c)],
    ['context.a - (context.b + context.c)', call('-', a, call('+', b, c))],
    ['context.a - context.b - context.c', call('-', call('-', a, b), c)],
    ['context.a * (context.b + 1) % 7', call('%', call('*', a, call('+', b, literal(1))), literal(7))],
    ['context.a == -5', call('==', a, literal(-5))],
    ['context.a == -(5)', call('==', a, call('-', literal(5)))],
    ['-context.a', call('-', a)],
    ['context.a - -5', call('-', a, literal(-5))],
    ['context.a < 1e-7', call('<', a, literal(1e-7))],
    ['context.a ? context.b : context.c', call('if', a, b, c)],
    ['context.a ? context.b : context.c ? 1 : 2', call('if', a, b, call('if', c, literal(1), literal(2)))],
    ['starts_with(context.a, "x")', call('starts_with', a, literal('x'))],
    ['sem_ver(context.a, ">=", "1.2.0")', call('sem_ver', a, literal('>='), literal('1.2.0'))],
    ['some(context.a, @.kind == "pii")', call('some', a, call('==', item('kind'), literal('pii')))],
    ['none(context.a, @ == context.b)', call('none', a, call('==', item(), b))],
    [
      'default(context.a, 0) > 5',
      call('>', { ...root('context', 'a'), fallback: literal(0) } as Node, literal(5)),
    ],
    ['context["a.b"].c[0]["0"].true', root('context', 'a.b', 'c', 0, '0', 'true')],
    ['step', root('step')],
    ['$', root()],
    ['context', root('context')],
    ['context.a == "\\u202e\\n\\"é"', call('==', a, literal('\u202e\n"é'))],
    [
      'context.a == "\\u200b\\u034f\\u115f\\u2800\\u3164\\udb40\\udc41"',
      call('==', a, literal('\u200b\u034f\u115f\u2800\u3164\u{e0041}')),
    ],
    ['context.a || false', call('or', a, literal(false))],
  ])('the condition text %s is read as its tree and is printed from it', (text, tree) => {
    expect(parseText(text)).toEqual(tree);
    expect(printText(tree)).toBe(text);
  });

  test.each([
    ['tool.name == "shell"', 'context.tool.name == "shell"'],
    ["context.a=='it\\'s'", `context.a == "it's"`],
    ['exists(a) && missing(b)', 'has(context.a) && missing(context.b)'],
    ['((a))', 'context.a'],
    ['a // why\n && // and\r\n b', 'context.a && context.b'],
    ['`==`(a, 1)', 'context.a == 1'],
    ['if(a, b, c)', 'context.a ? context.b : context.c'],
    ['a > 1.50', 'context.a > 1.5'],
    ['a > -0', 'context.a > 0'],
    ['$.context.a', 'context.a'],
    ['! has(a)', '!has(context.a)'],
  ])('the condition text %s is another spelling of %s', (source, text) => {
    expect(printText(parseText(source))).toBe(text);
  });
});

describe('paths as text', () => {
  it('a path text names the scope, items, and names that are not identifiers', () => {
    expect(pathText([])).toBe('$');
    expect(pathText(['context', 'a.b', 2])).toBe('context["a.b"][2]');
    expect(pathText(['name'], 'item')).toBe('@.name');
  });
});

describe('refused condition texts', () => {
  test.each([
    ['', '1:1: expected a path, a value or a function, got the end of the text'],
    ['a ==', '1:5: expected a path, a value or a function, got the end of the text'],
    ['a ==\n  == b', '2:3: expected a path, a value or a function, got "=="'],
    ['a b', '1:3: expected an operator or the end of the text, got "b"'],
    ['a = b', '1:3: expected == to compare, got "="'],
    ['(a', "1:3: expected an operator or ')', got the end of the text"],
    ['[a b]', `1:4: expected ',' or ']', got "b"`],
    ['a == b == c', '1:8: expected parentheses around one of the comparisons, got "=="'],
    ['1 < a <= 2', '1:7: expected parentheses around one of the comparisons, got "<="'],
    ['1 < a < 2 < 3', '1:11: expected parentheses around one of the comparisons, got "<"'],
    ['a.', '1:3: expected a name (others as ["…"]), got the end of the text'],
    ['a[-1]', '1:3: expected a string or an index from 0, got "-"'],
    ['a[1.5]', '1:3: expected a string or an index from 0, got "1.5"'],
    ['a ? b', "1:6: expected ':', got the end of the text"],
    ['has("a")', '1:5: expected paths only, got "\\"a\\""'],
    ['a && length(b, c)', '1:6: expected 1 arguments of length, got 2'],
    ['`%`(a)', '1:1: expected 2 or more arguments of `%`, got 1'],
    ['sem_ver(a, "=>", "1.0.0")', '1:1: expected one of = != < <= > >= ^ ~ as second argument of sem_ver'],
    ['@.a == 1', '1:1: expected an item only within some, all or none, got @.a'],
    ['"a"', '1:1: expected a condition, such as {"tool.name": "shell"}; {} is always true, got a literal'],
    ['"ab', '1:4: expected the " that closes the string, got the end of the text'],
    ['"a\tb"', '1:3: expected the " that closes the string, got a control character'],
    ['"\\x"', '1:2: expected one of \\" \\\' \\\\ \\/ \\b \\f \\n \\r \\t \\u, got "\\\\x"'],
    ['"\\u00g0"', '1:2: expected four hex digits after \\u, got "00g0"'],
    ['"\\u0000"', '1:2: expected text without U+0000, got \\u0000'],
    ['"\\ud800"', '1:1: expected surrogates in pairs, got a lone one'],
    ['"é" // \u202e', '1:8: expected visible characters (others as escapes), got \\u202e'],
    ['"😀" == \u0007', '1:8: expected visible characters (others as escapes), got \\u0007'],
    [
      '9007199254740993',
      '1:1: expected a number that a double holds unchanged, integers up to 2^53-1, got "9007199254740993"',
    ],
    ['1e999', '1:1: expected a number that a double holds unchanged, integers up to 2^53-1, got "1e999"'],
  ])('the error for the condition text %j says where, what was expected, and what came', (source, detail) => {
    expect(refusal(source)).toMatchObject({ code: 'VALIDATION_ERROR', message: detail });
  });

  const hidden = ['\u200b', '\u{e0001}', '\u115f', '\u2800', '\ufe0f', '\u00a0', '\ue000', '\r'];
  it.each(hidden)('the raw character %j is refused in strings, comments and names', (raw) => {
    const escape = Array.from({ length: raw.length }, (_, at) => hexEscape(raw.charCodeAt(at))).join('');
    const detail = (at: string): string =>
      `${at}: expected visible characters (others as escapes), got ${escape}`;
    expect(refusal(`a == "x${raw}y"`).message).toBe(detail('1:8'));
    expect(refusal(`a == 1 &&\n  b == 2 // x${raw}y`).message).toBe(detail('2:14'));
    expect(refusal(`a${raw}b == 1`).message).toBe(detail('1:2'));
    expect(parseText(`a == "x${escape}y"`)).toEqual(call('==', a, literal(`x${raw}y`)));
  });

  it('marks on one letter are refused from the fourth on, as escapes they are read', () => {
    const marks = '\u0301'.repeat(3);
    expect(parseText(`a == "e${marks}"`)).toEqual(call('==', a, literal(`e${marks}`)));
    expect(refusal(`a == "e${marks}\u0301"`).message).toMatch(/^1:11: .*got \\u0301$/);
    expect(parseText(`a == "e${marks}\\u0301"`)).toEqual(call('==', a, literal(`e${marks}\u0301`)));
  });

  it('an unknown function is refused with a list of the known ones', () => {
    const error = refusal('now() > 5');
    expect(error.message).toMatch(
      /^1:1: expected a function \(default, has, exists, .*programs, time, bare\), got "now"$/,
    );
    expect(error.extensions).toEqual({ line: 1, column: 1 });
  });

  test.each([
    ['parentheses', `${'('.repeat(60_000)}`],
    ['signs', '!'.repeat(60_000)],
    ['minus signs', '-'.repeat(60_000)],
    ['lists', '['.repeat(60_000)],
    ['choices', 'a?'.repeat(30_000)],
    ['alternatives', `${'a?b:'.repeat(15_000)}c`],
    ['differences', `a${'-a'.repeat(30_000)}`],
    ['segments', `a${'.a'.repeat(30_000)}`],
    ['bytes', `"${'é'.repeat(140_000)}"`],
  ])('a condition text with too many %s is refused', (_, source) => {
    expect(refusal(source).message).toMatch(/expected at most \d+/);
  });
});

const hexEscape = (code: number): string => `\\u${code.toString(16).padStart(4, '0')}`;

function refusal(source: string): GovError {
  try {
    parseText(source);
  } catch (error) {
    if (error instanceof GovError) return error;
    throw error;
  }
  throw new Error(`expected a refusal of ${source.slice(0, 50)}`);
}
