/** Every spelling of a condition, by what it is normalised to, and what is refused with which pointer. */
import { describe, expect, it } from 'vitest';
import { GovError } from '../../../../src/contract/problems.ts';
import type { Json } from '../../../../src/core/json/parse.ts';
import { canonicalCondition } from '../../../../src/core/policies/language/canonical.ts';
import { parseCondition } from '../../../../src/core/policies/language/parse.ts';

const normalized = (condition: Json): Json => canonicalCondition(parseCondition(condition));

const is = (path: string, value: Json): Json => ({ '==': [{ val: ['context', path] }, value] });
const a = { val: ['context', 'a'] };
const items = { val: ['context', 'items'] };

const spellings: readonly (readonly [Json, Json])[] = [
  [{}, true],
  [true, true],
  [{ a: 1 }, is('a', 1)],
  [{ 'tool.name': 'shell' }, { '==': [{ val: ['context', 'tool', 'name'] }, 'shell'] }],
  [{ 'context.tool.name': 'shell' }, { '==': [{ val: ['context', 'tool', 'name'] }, 'shell'] }],
  [{ step: { '>': 3 } }, { '>': [{ val: ['step'] }, 3] }],
  [{ 'list.0': true }, { '==': [{ val: ['context', 'list', 0] }, true] }],
  [
    { a: 1, env: { in: ['x', 'y'] } },
    { and: [is('a', 1), { in: [{ val: ['context', 'env'] }, ['x', 'y']] }] },
  ],
  [{ a: { '>': 1, '<': 5 } }, { and: [{ '>': [a, 1] }, { '<': [a, 5] }] }],
  [{ a: { '==': { var: 'b' } } }, { '==': [a, { val: ['context', 'b'] }] }],
  [{ a: { exists: true } }, { exists: ['context', 'a'] }],
  [{ a: { exists: false } }, { '!': [{ exists: ['context', 'a'] }] }],
  [{ a: { missing: true } }, { missing: [a] }],
  [{ a: { starts_with: 'x' } }, { starts_with: [a, 'x'] }],
  [{ a: { sem_ver: ['>=', '1.2'] } }, { sem_ver: [a, '>=', '1.2'] }],
  [{ items: { some: { qty: { '>': 1 } } } }, { some: [items, { '>': [{ val: ['qty'] }, 1] }] }],
  [{ field: 'a', operator: '==', value: 1 }, is('a', 1)],
  [{ field: ['x', 'y.z'], operator: 'in', value: [1] }, { in: [{ val: ['context', 'x', 'y.z'] }, [1]] }],
  [{ field: 'a', operator: 'exists' }, { exists: ['context', 'a'] }],
  [{ field: 'a', operator: 'missing', value: false }, { '!': [{ missing: [a] }] }],
  [{ all: [{ a: 1 }, { b: 2 }] }, { and: [is('a', 1), is('b', 2)] }],
  [{ all: [{ a: 1 }] }, is('a', 1)],
  [{ any: [{ a: 1 }, { field: 'b', operator: '==', value: 2 }] }, { or: [is('a', 1), is('b', 2)] }],
  [{ none: [{ a: 1 }, { b: 2 }] }, { '!': [{ or: [is('a', 1), is('b', 2)] }] }],
  [{ all: [{ a: { missing: true } }, { b: 2 }] }, { and: [{ missing: [a] }, is('b', 2)] }],
  [{ any: [{}, { none: [{ a: 1 }] }] }, { or: [true, { '!': [is('a', 1)] }] }],
  [{ all: [{ '==': [1, 1] }, { a: 1 }] }, { and: [{ '==': [1, 1] }, is('a', 1)] }],
  [{ all: [{ and: [{ a: 1 }] }, { a: 1 }] }, { and: [{ and: [is('a', 1)] }, is('a', 1)] }],
  [{ all: [{ var: 'items' }, { qty: 1 }] }, { all: [items, { '==': [{ val: ['qty'] }, 1] }] }],
  [{ none: [[1, 2], { '>': [{ var: '' }, 1] }] }, { none: [[1, 2], { '>': [{ val: [] }, 1] }] }],
  [{ and: [{ a: 1 }, { '!': { b: 2 } }] }, { and: [is('a', 1), { '!': [is('b', 2)] }] }],
  [{ if: [{ a: 1 }, { b: 2 }, { c: 3 }] }, { if: [is('a', 1), is('b', 2), is('c', 3)] }],
  [{ '?:': [true, 1, 2] }, { if: [true, 1, 2] }],
  [{ var: 'a' }, a],
  [{ var: ['a'] }, a],
  [{ var: ['a', 1] }, { '??': [a, 1] }],
  [{ '??': [{ var: 'a' }, { var: 'b' }, 1] }, { '??': [a, { '??': [{ val: ['context', 'b'] }, 1] }] }],
  [{ val: 'a.b' }, { val: ['context', 'a.b'] }],
  [{ var: '' }, { val: ['context'] }],
  [{ val: [[0]] }, { val: [[0]] }],
  [{ exists: 'a' }, { exists: ['context', 'a'] }],
  [{ exists: ['context', 'a', 'b.c'] }, { exists: ['context', 'a', 'b.c'] }],
  [{ missing: ['a', 'b.c'] }, { missing: [a, { val: ['context', 'b', 'c'] }] }],
  [{ missing: 'a' }, { missing: [a] }],
  [
    { some: [{ var: 'items' }, { '==': [{ var: 'sku' }, { val: [[2], 'a'] }] }] },
    { some: [items, { '==': [{ val: ['sku'] }, { val: [[2], 'context', 'a'] }] }] },
  ],
  [
    { some: [{ var: 'items' }, { exists: [[-2], 'a'] }] },
    { some: [items, { exists: [[2], 'context', 'a'] }] },
  ],
  [{ '!': { var: 'a' } }, { '!': [a] }],
  [{ '==': [-0, 0] }, { '==': [0, 0] }],
];

describe('a condition', () => {
  it.each(
    spellings.map(([condition, canonical]) => ({ text: JSON.stringify(condition), condition, canonical })),
  )(
    'the condition $text is normalised, and its canonical form stays the same',
    ({ condition, canonical }) => {
      expect(normalized(condition)).toEqual(canonical);
      expect(normalized(canonical)).toEqual(canonical);
      expect(parseCondition(canonical)).toEqual(parseCondition(condition));
    },
  );
});

/** Condition, pointer below /condition, code, a part of what is said. */
const refusals: readonly (readonly [Json, string, string, string])[] = [
  ['context.a == 1', '', 'WRONG_TYPE', 'expected an object, such as'],
  [1, '', 'WRONG_TYPE', 'expected an object, such as'],
  [null, '', 'WRONG_TYPE', 'expected an object, such as'],
  [[{ a: 1 }], '', 'WRONG_TYPE', 'expected an object, such as'],
  [{ a: [1, 2] }, '/a', 'NOT_ALLOWED', '{"in": […]}'],
  [{ a: { b: 1 } }, '/a/b', 'UNKNOWN_OPERATOR', 'expected one of == ==='],
  [{ a: {} }, '/a', 'TOO_FEW', 'one or more operators'],
  [{ a: null }, '/a', 'NOT_ALLOWED', '{"missing": true}'],
  [{ a: { '==': [1] } }, '/a/==', 'WRONG_TYPE', 'got a list'],
  [{ a: { exists: 1 } }, '/a/exists', 'WRONG_TYPE', 'true or false'],
  [{ a: { sem_ver: '1.2' } }, '/a/sem_ver', 'WRONG_TYPE', '[">=", "1.2.0"]'],
  [{ a: 1, and: [{ b: 1 }] }, '/and', 'AMBIGUOUS', 'context.and'],
  [{ 'a/b~': { x: 1 } }, '/a~1b~0/x', 'UNKNOWN_OPERATOR', 'expected one of'],
  [{ 'a..b': 1 }, '/a..b', 'NOT_ALLOWED', 'names between dots'],
  [{ '': 1 }, '/', 'WRONG_TYPE', 'expected a path'],
  [{ map: [{ var: 'a' }, 1] }, '', 'UNKNOWN_OPERATOR', 'got "map"'],
  [{ log: 'a' }, '', 'UNKNOWN_OPERATOR', 'got "log"'],
  [{ '==': [{ lenght: [{ var: 'a' }] }, 1] }, '/==/0', 'UNKNOWN_OPERATOR', 'length'],
  [{ '==': [{ a: 1 }, 1] }, '/==/0', 'UNKNOWN_OPERATOR', 'got "a"'],
  [{ '!': [{}] }, '/!/0', 'UNKNOWN_OPERATOR', '0 members'],
  [{ and: { a: 1 } }, '/and', 'WRONG_TYPE', 'a list of arguments'],
  [{ '==': [1] }, '', 'TOO_FEW', '2 or 3 arguments of =='],
  [{ '==': [1, 2, 3, 4] }, '', 'TOO_MANY', 'got 4'],
  [{ and: [] }, '', 'TOO_FEW', '1 or more arguments of and'],
  [{ field: 'a', operator: 'eq', value: 1 }, '/operator', 'UNKNOWN_OPERATOR', 'expected one of =='],
  [{ field: 'a', value: 1 }, '/operator', 'UNKNOWN_OPERATOR', 'expected one of =='],
  [{ field: 'a', operator: '==' }, '', 'NOT_ALLOWED', 'a value for =='],
  [{ field: 'a', operator: '==', value: 1, note: 'x' }, '/note', 'NOT_ALLOWED', 'no other member'],
  [{ field: 1, operator: '==', value: 1 }, '/field', 'WRONG_TYPE', 'expected a path'],
  [{ any: [] }, '/any', 'TOO_FEW', 'one or more clauses'],
  [{ any: [1] }, '/any/0', 'WRONG_TYPE', 'expected clauses'],
  [{ any: { a: 1 } }, '/any', 'WRONG_TYPE', 'a list of clauses'],
  [{ all: [{ if: [{ a: 1 }, [1], [2]] }, { b: 1 }] }, '/all/0', 'AMBIGUOUS', 'to iterate, or a clause'],
  [{ none: [{ and: [{ var: 'a' }] }, { b: 1 }] }, '/none/0', 'AMBIGUOUS', 'to iterate, or a clause'],
  [{ all: [5, true] }, '', 'WRONG_TYPE', 'a path or a list as first argument of all'],
  [{ var: { cat: ['a', 'b'] } }, '/var', 'WRONG_TYPE', 'cannot be computed'],
  [{ var: ['a', 1, 2] }, '/var', 'TOO_MANY', 'a path and a default'],
  [{ val: [{ var: 'a' }] }, '/val/0', 'WRONG_TYPE', 'cannot be computed'],
  [{ val: [-1] }, '/val/0', 'WRONG_TYPE', 'an index from 0'],
  [{ val: [[2], 'a'] }, '/val/0', 'NOT_ALLOWED', 'expected [0]'],
  [{ some: [{ var: 'a' }, { val: [[1], 'index'] }] }, '/some/1/val/0', 'NOT_ALLOWED', 'expected [2]'],
  [{ var: 'step.x' }, '', 'NOT_ALLOWED', 'context.step.x'],
  [{ exists: 'a.b' }, '/exists', 'AMBIGUOUS', '["a","b"]'],
  [{ missing: { var: 'a' } }, '/missing', 'WRONG_TYPE', 'cannot be computed'],
  [{ missing: [{ var: 'a' }] }, '/missing/0', 'WRONG_TYPE', 'cannot be computed'],
  [{ '??': [1, 2] }, '/??/0', 'WRONG_TYPE', 'expected a path'],
  [{ '??': [{ var: 'a' }] }, '/??', 'TOO_FEW', 'a path and a default'],
  [{ starts_with: [{ var: 'a' }, 1] }, '', 'WRONG_TYPE', 'texts as arguments of starts_with'],
  [{ sem_ver: [{ var: 'a' }, '*', '1'] }, '', 'NOT_ALLOWED', '= != < <= > >= ^ ~'],
  [{ sem_ver: [{ var: 'a' }, { var: 'b' }, '1'] }, '', 'NOT_ALLOWED', '= != < <= > >= ^ ~'],
  [{ sem_ver: [{ var: 'a' }, '=', '1.2.3.4'] }, '', 'NOT_ALLOWED', 'a version such as'],
];

describe('invalid conditions', () => {
  it.each(
    refusals.map(([condition, pointer, code, detail]) => ({
      text: JSON.stringify(condition),
      condition,
      pointer,
      code,
      detail,
    })),
  )('the condition $text is refused at "$pointer" as $code', ({ condition, pointer, code, detail }) => {
    const refused = (): unknown => {
      try {
        return parseCondition(condition);
      } catch (error) {
        expect(error).toBeInstanceOf(GovError);
        return error;
      }
    };
    expect(refused()).toMatchObject({
      code: 'VALIDATION_ERROR',
      errors: [
        { pointer: `/condition${pointer}`, in: 'body', code, detail: expect.stringContaining(detail) },
      ],
    });
  });

  it('the error pointer of a condition is below the given pointer', () => {
    expect(() => parseCondition({ a: [] }, '/versions/2/condition')).toThrow(
      'body /versions/2/condition/a: expected',
    );
  });
});
