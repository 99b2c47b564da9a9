/** The three truths of conditions, operator by operator; what the tables leave out is in `test/core/policies/reference.test.ts`. */
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../../src/core/json/parse.ts';
import { compile, compileValue, Indeterminate } from '../../../../src/core/policies/evaluate/compile.ts';
import { parseCondition } from '../../../../src/core/policies/language/parse.ts';

const context: JsonObject = {
  name: 'shell',
  env: 'prod',
  size: 12,
  zero: 0,
  nothing: null,
  flag: false,
  items: [{ qty: 1, sku: 'a' }, { qty: 0, sku: 'b' }, { sku: 'c' }],
  words: ['x', 'y', null],
  'a.b': { 'c/d': [10, 20] },
  deep: { list: [[1, 2], [3]] },
  text: 'a𝄞b',
};

/** The value of a condition; for indeterminate the reason and what was read. */
function answer(condition: Json): Json {
  const value = compileValue(parseCondition(condition))({ step: 4, context });
  return value instanceof Indeterminate ? `${value.reason} ${value.read}` : value;
}

const table = (rows: readonly (readonly [Json, Json])[]): void => {
  it.each(rows.map(([condition, expected]) => ({ condition, expected, text: JSON.stringify(condition) })))(
    'the condition $text gives $expected',
    ({ condition, expected }) => expect(answer(condition)).toEqual(expected),
  );
};

const v = (path: string): Json => ({ var: path });

describe('absent and null', () => {
  table([
    [{ '==': [v('env'), 'prod'] }, true],
    [{ '==': [v('gone'), 'prod'] }, 'absent context.gone'],
    [{ '==': [v('nothing'), 'prod'] }, 'absent context.nothing'],
    [{ '===': [v('gone'), 'prod'] }, 'absent context.gone'],
    [{ '!==': [v('nothing'), 'prod'] }, 'absent context.nothing'],
    [{ '==': [v('gone'), null] }, 'absent context.gone'],
    [{ '<': [v('env.deeper'), 1] }, 'absent context.env.deeper'],
    [{ '+': [1, v('gone')] }, 'absent context.gone'],
    [{ cat: ['a', v('gone')] }, 'absent context.gone'],
    [{ in: [v('gone'), ['a']] }, 'absent context.gone'],
    [{ '!': [v('gone')] }, 'absent context.gone'],
    [{ if: [v('gone'), true, true] }, 'absent context.gone'],
    [{ if: [false, true] }, 'absent null'],
    [{ some: [v('gone'), true] }, 'absent context.gone'],
    [{ exists: ['env'] }, true],
    [{ exists: ['nothing'] }, true],
    [{ exists: ['gone'] }, false],
    [{ exists: ['items', 1, 'qty'] }, true],
    [{ exists: ['items', 3] }, false],
    [{ exists: ['step'] }, true],
    [{ missing: ['env', 'nothing', 'gone', 'a.x'] }, ['nothing', 'gone', 'a.x']],
    [{ '==': [{ var: ['gone', 1] }, 1] }, true],
    [{ '==': [{ var: ['nothing', 1] }, 1] }, true],
    [{ '==': [{ var: ['zero', 1] }, 0] }, true],
    [{ '??': [v('gone'), v('nothing'), v('env')] }, 'prod'],
    [{ '??': [v('gone'), v('nothing')] }, 'absent context.nothing'],
  ]);
});

describe('paths', () => {
  table([
    [v('step'), 4],
    [v('context.env'), 'prod'],
    [{ val: ['a.b', 'c/d', 1] }, 20],
    [v('items.0.sku'), 'a'],
    [{ val: ['items', '0', 'sku'] }, 'a'],
    [{ '==': [{ val: ['a.b', 'c/d', 2] }, 1] }, 'absent context["a.b"]["c/d"][2]'],
    [{ '!!': [v('items.length')] }, 'absent context.items.length'],
    [{ '!!': [v('name.0')] }, 'absent context.name[0]'],
    [v(''), context],
    [{ val: [[0]] }, { step: 4, context }],
  ]);
});

describe('values of several types', () => {
  table([
    [{ '==': [v('size'), '12'] }, 'type context.size'],
    [{ '==': ['12', v('size')] }, 'type context.size'],
    [{ '!=': [v('size'), '12'] }, 'type context.size'],
    [{ '===': [v('size'), '12'] }, false],
    [{ '!==': [v('size'), '12'] }, true],
    [{ '===': [v('items'), 1] }, false],
    [{ '===': [v('items'), v('words')] }, 'type context.items'],
    [{ '==': [v('deep'), v('deep')] }, 'type context.deep'],
    [{ '<': [v('size'), '13'] }, 'type context.size'],
    [{ '<': ['a', 'b', 'c'] }, true],
    [{ '<': [false, true] }, true],
    [{ '<': [1, v('gone'), 3] }, 'absent context.gone'],
    [{ '<': [3, 2, v('gone')] }, false],
    [{ '<': [v('gone'), 3, 2] }, false],
    [{ '+': [1, '2'] }, 'type null'],
    [{ '/': [1, 0] }, 'arith null'],
    [{ '%': [5, 0] }, 'arith null'],
    [{ starts_with: [v('size'), '1'] }, 'type context.size'],
    [{ length: [v('size')] }, 'type context.size'],
    [{ some: [v('env'), true] }, 'type context.env'],
    [{ in: [1, v('env')] }, 'type null'],
    [{ in: ['a', v('size')] }, 'type context.size'],
    [{ in: [v('items'), v('env')] }, 'type context.items'],
    [{ in: [v('size'), ['a', 'b']] }, 'type context.size'],
    [{ in: [v('flag'), ['a', 'b']] }, 'type context.flag'],
    [{ in: [v('items'), ['a', 'b']] }, 'type context.items'],
    [{ in: [v('deep'), ['a', 'b']] }, 'type context.deep'],
    [{ in: [v('deep'), ['a', v('env')]] }, 'type context.deep'],
    [{ in: [v('size'), v('words')] }, 'type context.size'],
    [{ in: ['a', v('items')] }, 'type context.items[]'],
    [{ in: ['a', [v('size')]] }, 'type context.size'],
    [{ '!': [{ in: [v('size'), ['a']] }] }, 'type context.size'],
    [{ starts_with: [v('words'), 'x'] }, 'type context.words'],
    [{ ends_with: ['x', v('words')] }, 'type context.words'],
    [{ substr: [v('words'), 0] }, 'type context.words'],
    [{ substr: [v('size'), 0] }, 'type context.size'],
    [{ length: [v('deep')] }, 'type context.deep'],
    [{ cat: ['a', v('words')] }, 'type context.words'],
    [{ cat: ['a', v('deep')] }, 'type context.deep'],
    [{ min: [1, v('words')] }, 'type context.words'],
    [{ max: [v('env'), 1] }, 'type context.env'],
    [{ '+': [v('flag'), 1] }, 'type context.flag'],
    [{ '-': [v('words')] }, 'type context.words'],
    [{ '>': [v('words'), 1] }, 'type context.words'],
    [{ '<=': [v('deep'), 'a'] }, 'type context.deep'],
    [{ '<': [v('flag'), 1] }, 'type context.flag'],
    [{ all: [v('deep'), true] }, 'type context.deep'],
    [{ none: [v('env'), true] }, 'type context.env'],
    [{ none: [v('size'), true] }, 'type context.size'],
    [{ sem_ver: [v('words'), '>', '1.0.0'] }, 'type context.words'],
  ]);
});

const [yes, no, open] = [{ '==': [1, 1] }, { '==': [1, 2] }, { '==': [v('gone'), 1] }];
const unknown = 'absent context.gone';

describe('and, or and not', () => {
  table([
    [{ and: [yes, open] }, unknown],
    [{ and: [open, yes] }, unknown],
    [{ and: [no, open] }, false],
    [{ and: [open, no] }, false],
    [{ or: [yes, open] }, true],
    [{ or: [open, yes] }, true],
    [{ or: [no, open] }, unknown],
    [{ or: [open, no] }, unknown],
    [{ '!': [open] }, unknown],
    [{ '!': [no] }, true],
    [{ and: [v('gone'), v('zero')] }, 0],
    // as a value, 0 is not what `and` would have been, were the first operand 0 or ""
    [{ '===': [{ and: [v('gone'), v('zero')] }, 0] }, unknown],
    [{ '===': [{ and: [open, no] }, false] }, true],
    [{ '===': [{ or: [v('gone'), v('env')] }, 'prod'] }, unknown],
    [{ '===': [{ or: [open, yes] }, true] }, true],
  ]);
});

describe('lists', () => {
  table([
    [{ in: ['x', v('words')] }, true],
    [{ in: ['z', v('words')] }, 'absent context.words[]'],
    [{ in: ['prod', ['dev', v('env')]] }, true],
    [{ in: ['prod', ['dev', v('gone')]] }, unknown],
    [{ in: ['prod', ['prod', v('gone')]] }, true],
    [{ in: ['b', ['a', 'c']] }, false],
    [{ in: [v('size'), [12, 'a']] }, true],
    [{ in: [v('env'), [12, 'a']] }, 'type context.env'],
    [{ in: [1, ['1', true]] }, 'type null'],
    [{ in: ['a', [null, 1]] }, 'absent null'],
    [{ in: [v('items'), []] }, false],
    [{ in: [3, { val: ['a.b', 'c/d'] }] }, false],
    [{ in: [v('deep.list'), v('deep.list')] }, 'type context.deep.list'],
    [{ in: ['ro', v('env')] }, true],
    [{ some: [v('items'), { '>': [v('qty'), 0] }] }, true],
    [{ some: [v('items'), { '>': [v('qty'), 5] }] }, 'absent context.items[].qty'],
    [{ all: [v('items'), { '>': [v('qty'), 0] }] }, false],
    [{ all: [v('items'), { '>=': [v('qty'), 0] }] }, 'absent context.items[].qty'],
    [{ none: [v('items'), { '==': [v('sku'), 'b'] }] }, false],
    [{ none: [v('items'), { '==': [v('sku'), 'z'] }] }, true],
    [{ all: [[], false] }, false],
    [{ none: [[], true] }, true],
    [{ some: [v('items'), { '==': [v('sku'), { val: [[2], 'name'] }] }] }, false],
    [{ some: [v('deep.list'), { all: [v(''), { '>': [v(''), 2] }] }] }, true],
    [{ some: [v('deep.list'), { some: [v(''), { '==': [v(''), { val: [[4], 'step'] }] }] }] }, false],
    [{ length: [v('words')] }, 3],
  ]);
});

describe('texts', () => {
  table([
    [{ cat: ['n=', 1, true, 0.5] }, 'n=1true0.5'],
    [{ length: [v('text')] }, 3],
    [{ substr: [v('text'), 1, 1] }, '𝄞'],
    [{ substr: [v('text'), -2] }, '𝄞b'],
    [{ substr: [v('text'), -9, 1] }, 'a'],
    [{ substr: [v('text'), 1, -5] }, ''],
    [{ substr: [v('text'), 0.5] }, 'type null'],
    [{ starts_with: [v('name'), 'sh'] }, true],
    [{ ends_with: [v('name'), 'sh'] }, false],
  ]);
});

describe('a condition', () => {
  it('a condition is true, false or indeterminate by the truth rules of JsonLogic', () => {
    const truth = (value: Json): string =>
      compile(parseCondition({ var: 'x' })).evaluate({ context: { x: value } });
    expect([1, -1, 'a', '0', [0], {}, true].map(truth)).toEqual(Array(7).fill('true'));
    expect([0, '', [], false].map(truth)).toEqual(Array(4).fill('false'));
    expect(truth(null)).toBe('indeterminate');
  });

  it('a condition says why it is indeterminate, with objects made at compile time', () => {
    const condition = compile(parseCondition({ env: 'prod', size: { '>': 3 } }));
    const why = condition.why({ context: { size: 'large', env: 'prod' } });
    expect(why).toMatchObject({ reason: 'type', read: 'context.size', node: { op: '>' } });
    expect(condition.why({ context: { size: 'small', env: 'prod' } })).toBe(why);
    expect(condition.why({ context })).toBeNull();
    expect(condition.why({ context: { env: 'dev' } })).toBeNull();
  });

  it('a compiled node can be evaluated for single items of a list', () => {
    const node = parseCondition({ some: [v('items'), { '>': [v('qty'), { val: [[2], 'zero'] }] }] });
    const predicate = node.kind === 'call' ? node.args[1]! : node;
    const value = compileValue(predicate);
    expect((context['items'] as Json[]).map((item) => value({ context }, item))).toEqual([
      true,
      false,
      expect.objectContaining({ reason: 'absent' }),
    ]);
  });

  it('context and step count as absent when the policy input lacks them', () => {
    expect(compile(parseCondition({ '==': [v('step'), 1] })).why({ context })?.read).toBe('step');
    expect(compile(parseCondition({ exists: ['step'] })).evaluate({ context })).toBe('false');
    expect(compile(parseCondition({ a: 1 })).evaluate({ context: null as never })).toBe('indeterminate');
  });
});
