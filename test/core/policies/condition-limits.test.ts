/** Every limit of conditions at n and n + 1, and input that was made to do harm. */
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { GovError } from '../../../src/contract/problems.ts';
import { canonicalize, parseJson, type Json, type JsonObject } from '../../../src/core/json/parse.ts';
import { canonicalCondition } from '../../../src/core/policies/language/canonical.ts';
import { compile, compileValue, Indeterminate } from '../../../src/core/policies/evaluate/compile.ts';
import { parseCondition } from '../../../src/core/policies/language/parse.ts';
import { threadMs } from '../../thread-ms.ts';

const list = (count: number): Json[] => Array(count).fill(1);

const refusalOf = (condition: Json): string => {
  try {
    parseCondition(condition);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof GovError)) throw error;
    return error.errors[0]?.code ?? error.code;
  }
};

const nested = (levels: number): Json => (levels === 1 ? true : { '!': [nested(levels - 1)] });
const clauses = (count: number): Json => ({ or: Array(count - 1).fill(true) });
/** A condition of so many canonical bytes, in texts below their own limit. */
const ofBytes = (count: number): Json => {
  const texts = Array.from({ length: Math.floor(count / 4000) }, () => 'x'.repeat(3900));
  const condition = { in: [{ val: ['context', 'a'] }, texts] };
  const left = count - canonicalize(canonicalCondition(parseCondition(condition))).length;
  texts.push('x'.repeat(left - ',""'.length));
  return condition;
};

const atLimit: readonly (readonly [name: string, limit: number, at: (n: number) => Json, code: string])[] = [
  ['nodes', limits.conditionNodes, clauses, 'TOO_MANY'],
  ['levels', limits.conditionDepth, nested, 'TOO_DEEP'],
  ['segments', limits.conditionPath, (n) => ({ val: ['context', ...Array(n - 1).fill('a')] }), 'TOO_MANY'],
  ['items', limits.conditionList, (n) => ({ in: [{ var: 'a' }, Array(n).fill('a')] }), 'TOO_MANY'],
  ['bytes', limits.conditionBytes, ofBytes, 'TOO_LARGE'],
  ['bytes of a text', limits.conditionStringBytes, (n) => ({ a: 'x'.repeat(n) }), 'TOO_LONG'],
  [
    'bytes of a text, not characters',
    limits.conditionStringBytes / 2,
    (n) => ({ a: 'é'.repeat(n) }),
    'TOO_LONG',
  ],
  ['an integer', Number.MAX_SAFE_INTEGER, (n) => ({ a: n }), 'NOT_ALLOWED'],
];

describe('the limits of conditions', () => {
  it.each(atLimit.map(([name, limit, at, code]) => ({ name, limit, at, code })))(
    'the limit of $name is $limit, and one more is refused as $code',
    ({ limit, at, code }) => {
      expect(refusalOf(at(limit))).toBe('accepted');
      expect(refusalOf(at(limit + 1))).toBe(code);
    },
  );

  it('the limit of nodes does not count the literals of a list', () => {
    expect(refusalOf({ in: [{ var: 'a' }, Array(1000).fill('a')] })).toBe('accepted');
    expect(refusalOf({ in: [{ var: 'a' }, list(1000).map(() => ({ var: 'b' }))] })).toBe('TOO_MANY');
  });
});

const reason = (condition: Json, context: JsonObject): Json => {
  const value = compileValue(parseCondition(condition))({ context });
  return value instanceof Indeterminate ? `${value.reason} ${value.read}` : value;
};

describe('the budget of an evaluation', () => {
  const n = limits.conditionUnits;

  it.each(['some', 'all', 'none'])(
    'the budget of an evaluation limits the items that %s walks, wherever the walk ends',
    (op) => {
      const condition = { [op]: [{ var: 'a' }, { '==': [{ var: '' }, 1] }] };
      expect(reason(condition, { a: list(n) })).toBe(op !== 'none');
      expect(reason(condition, { a: list(n + 1) })).toBe('budget context.a');
    },
  );

  it('the budget of an evaluation limits the items of a list that a value is looked up in', () => {
    expect(reason({ in: [1, { var: 'a' }] }, { a: list(n) })).toBe(true);
    expect(reason({ in: [1, { var: 'a' }] }, { a: list(n + 1) })).toBe('budget context.a');
  });

  it('the budget is shared by a whole condition and is new for each evaluation', () => {
    const condition = compile(
      parseCondition({ and: [{ in: [1, { var: 'a' }] }, { in: [1, { var: 'b' }] }] }),
    );
    for (let round = 0; round < 3; round++) {
      expect(condition.evaluate({ context: { a: list(n - 5), b: list(5) } })).toBe('true');
      expect(condition.why({ context: { a: list(n - 5), b: list(6) } })?.reason).toBe('budget');
    }
  });

  it('the budget is shared by nested iterators', () => {
    const condition = { all: [{ var: 'a' }, { all: [{ var: '' }, { '==': [{ var: '' }, 1] }] }] };
    const rows = (count: number): Json[] => Array.from({ length: count }, () => list(99));
    expect(reason(condition, { a: rows(n / 100) })).toBe(true);
    expect(reason(condition, { a: rows(n / 100 + 1) })).toBe('budget context.a[]');
  });

  it('a refused list and a literal list cost no budget', () => {
    const condition = { or: [{ in: [2, { var: 'a' }] }, { in: [1, { var: 'b' }] }] };
    expect(reason(condition, { a: list(n + 1), b: list(n) })).toBe(true);
    const written = { all: [{ var: 'a' }, { in: [{ var: '' }, [3, 2, 1]] }] };
    expect(reason(written, { a: list(n) })).toBe(true);
  });

  it.each<[string, Json]>([
    ['in', { in: ['x', { var: 'a' }] }],
    ['starts_with', { starts_with: [{ var: 'a' }, 'x'] }],
    ['ends_with', { ends_with: [{ var: 'a' }, 'x'] }],
    ['length', { '>': [{ length: [{ var: 'a' }] }, 0] }],
    ['substr', { '==': [{ substr: [{ var: 'a' }, 0, 1] }, 'x'] }],
  ])('the budget limits the bytes of a text for %s', (_op, condition) => {
    const most = limits.conditionStringBytes;
    expect(reason(condition, { a: 'x'.repeat(most) })).toBe(true);
    expect(reason(condition, { a: 'x'.repeat(most + 1) })).toBe('budget context.a');
    expect(reason(condition, { a: `xé${'x'.repeat(most - 2)}` })).toBe('budget context.a');
  });

  it.each<[string, number, Json]>([
    ['in', 1, { in: ['z', { val: [[2], 's'] }] }],
    ['starts_with', 1, { starts_with: [{ val: [[2], 's'] }, 'z'] }],
    ['substr', 3, { '==': [{ substr: [{ val: [[2], 's'] }, 0, 1] }, 'z'] }],
    ['length', 2, { '==': [{ length: { val: [[2], 's'] } }, 0] }],
    ['cat', 2, { '==': [{ cat: [{ val: [[2], 's'] }, ''] }, 'z'] }],
    ['==', 1, { '==': [{ val: [[2], 's'] }, { val: [[2], 't'] }] }],
    ['<', 1, { '>': [{ val: [[2], 's'] }, { val: [[2], 't'] }] }],
    ['sem_ver', 2, { sem_ver: [{ val: [[2], 's'] }, '=', '2.0.0'] }],
    ['== of a literal', 1, { '==': [{ val: [[2], 's'] }, 'y'.repeat(4000)] }],
  ])('each 64 characters of a text cost one more unit of budget: %s', (op, units, predicate) => {
    const condition = { some: [{ var: 'a' }, predicate] };
    const texts = (length: number): { s: string; t: string } => ({
      s: op === 'sem_ver' ? `1.0.0-${'x'.repeat(length - 6)}` : 'x'.repeat(length),
      t: `${'x'.repeat(length - 1)}y`,
    });
    for (const ofText of op === 'sem_ver' ? [0, 1, 2] : [0, 1, 7]) {
      const most = Math.floor(n / (units + ofText));
      const { s, t } = texts(ofText * 64 + 63);
      expect(reason(condition, { a: list(most), s, t })).toBe(false);
      expect(reason(condition, { a: list(most + 1), s, t })).toMatch(/^budget/);
    }
  });

  it.each<[string, number, Json]>([
    ['a comparison', 1, { '==': [{ var: 'v' }, 1] }],
    ['a path', 1, { var: 'v' }],
    ['each clause of or', 150, { or: list(150).map(() => ({ '==': [{ var: 'v' }, 2] })) }],
    ['each clause of and', 150, { and: list(150).map(() => ({ '==': [{ var: 'v' }, 1] })) }],
    ['a negation and its clauses', 4, { '!': { or: list(3).map(() => ({ var: 'v' })) } }],
    ['each step of arithmetic', 100, { '>': [{ '+': list(100).map(() => ({ var: 'v' })) }, 0] }],
    ['each path of missing', 4, { missing: ['v', 'w', 'x', 'y'] }],
    ['each item that is computed', 4, { in: [5, [{ var: 'v' }, { var: 'v' }, { var: 'v' }]] }],
    ['a list that is written out', 1, { in: [{ var: 'v' }, list(1000)] }],
    ['a default', 2, { '==': [{ var: ['w', { var: 'v' }] }, 1] }],
  ])('%s costs this budget for each item: %i', (_name, units, predicate) => {
    const condition = { all: [{ var: 'a' }, { or: [predicate, true] }] };
    // the literal of the or is a clause as well
    const most = Math.floor(n / (units + 1));
    const items = (count: number): Json[] => Array.from({ length: count }, () => ({ v: 1 }));
    expect(reason(condition, { a: items(most) })).toBe(true);
    expect(reason(condition, { a: items(most + 1) })).toBe('budget context.a');
  });

  it.each([1, 66, 67, 100, 9999, 10_000, 15_000])(
    'the budget limits the reads of an evaluation for %i items and 150 clauses',
    (length) => {
      let reads = 0;
      const item = Object.defineProperty({}, 'v', { enumerable: true, get: () => (reads++, 0) }) as Json;
      const clauses = Array.from({ length: 150 }, (_, at) => ({ '==': [{ var: 'v' }, at + 1] }));
      const condition = compile(parseCondition({ some: [{ var: 'a' }, { or: clauses }] }));
      const fits = length * 150 <= n;
      expect(condition.evaluate({ context: { a: Array(length).fill(item) } })).toBe(
        fits ? 'false' : 'indeterminate',
      );
      expect(reads).toBe(fits ? length * 150 : 0);
    },
  );

  it('the budget limits the reads of nested iterators', () => {
    let reads = 0;
    const item = Object.defineProperty({}, 'v', { enumerable: true, get: () => (reads++, 0) }) as Json;
    const inner = { some: [{ var: 'l' }, { or: list(20).map(() => ({ '==': [{ var: 'v' }, 1] })) }] };
    const condition = compile(parseCondition({ some: [{ var: 'a' }, { or: [inner, inner, inner] }] }));
    const rows = Array.from({ length: 500 }, () => ({ l: Array(100).fill(item) as Json[] }));
    expect(condition.evaluate({ context: { a: rows } })).toBe('indeterminate');
    expect(reads).toBeGreaterThan(n / 2);
    expect(reads).toBeLessThanOrEqual(n);
  });

  it('the budget limits the searches through texts', () => {
    const most = 'a'.repeat(limits.conditionStringBytes - 1);
    const searches = Array.from({ length: 120 }, (_, at) => ({
      in: [`${'a'.repeat(300)}b${at}`, { val: [[2], 's'] }],
    }));
    const condition = compile(parseCondition({ some: [{ var: 'a' }, { or: searches }] }));
    const perSearch = Math.floor(most.length / 64);
    const fits = Math.floor(n / (120 + 120 * perSearch));
    expect(condition.evaluate({ context: { a: list(fits), s: most } })).toBe('false');
    expect(condition.evaluate({ context: { a: list(fits + 1), s: most } })).toBe('indeterminate');
  });

  it('an evaluation computes each operand once, however deep', () => {
    let node: Json = { var: 'a' };
    for (let level = 0; level < 14; level++) node = { cat: [{ length: [node] }, 'x'.repeat(62)] };
    const start = threadMs();
    expect(reason({ '!!': [node] }, { a: 'x'.repeat(10) })).toBe(true);
    expect(threadMs() - start).toBeLessThan(100);
  });

  it('the budget limits the bytes that cat makes', () => {
    const half = 'x'.repeat(limits.conditionStringBytes / 2);
    expect(reason({ '!!': [{ cat: [{ var: 'a' }, { var: 'a' }] }] }, { a: half })).toBe(true);
    expect(reason({ '!!': [{ cat: [{ var: 'a' }, { var: 'a' }, 1] }] }, { a: half })).toBe('budget null');
  });

  it('texts of any length can be compared for equality', () => {
    expect(reason({ '==': [{ var: 'a' }, { var: 'b' }] }, { a: 'x'.repeat(9999), b: 'x'.repeat(9999) })).toBe(
      true,
    );
  });
});

describe('hostile input', () => {
  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'length', 'prototype'])(
    'a condition reads no %s that is not an own member',
    (name) => {
      const own = parseJson(Buffer.from(`{"o":{${JSON.stringify(name)}:1}}`)) as JsonObject;
      for (const path of [
        { val: [name] },
        { val: ['o', name] },
        { val: ['list', name] },
        { val: ['text', name] },
      ]) {
        const context = { o: {}, list: [1], text: 'x' };
        expect(reason({ '!!': [path] }, context), JSON.stringify(path)).toMatch(/^absent/);
        expect(reason({ exists: path.val }, context)).toBe(false);
      }
      expect(reason({ '==': [{ val: ['o', name] }, 1] }, own)).toBe(true);
      expect(reason({ exists: ['o', name] }, own)).toBe(true);
    },
  );

  it('an inherited name is not an operator', () => {
    for (const name of ['__proto__', 'constructor', 'toString', 'valueOf']) {
      const condition = parseJson(Buffer.from(`{"==":[{${JSON.stringify(name)}:[1]},1]}`));
      expect(refusalOf(condition)).toBe('UNKNOWN_OPERATOR');
      expect(refusalOf(parseJson(Buffer.from(`{"a":{${JSON.stringify(name)}:1}}`)))).toBe('UNKNOWN_OPERATOR');
      const field = parseJson(Buffer.from(`{${JSON.stringify(name)}:1}`));
      expect(canonicalCondition(parseCondition(field))).toEqual({ '==': [{ val: ['context', name] }, 1] });
    }
  });

  it('a condition of any depth is refused before a stack overflow', () => {
    let condition: Json = true;
    let values: Json = [];
    let fields: Json = true;
    let lists: Json = { a: 1 };
    for (let level = 0; level < 100_000; level++) {
      condition = { '!': [condition] };
      values = [values];
      fields = { items: { some: fields } };
      lists = { all: [lists, { a: 1 }] };
    }
    for (const each of [condition, { '!!': values }, fields, lists]) expect(refusalOf(each)).toBe('TOO_DEEP');
  });

  it('a condition with invalid numbers or texts is refused', () => {
    for (const value of [NaN, Infinity, 1e300, 2 ** 53, -(2 ** 53)])
      expect(refusalOf({ a: value })).toBe('NOT_ALLOWED');
    expect(refusalOf({ a: '\ud800' })).toBe('NOT_ALLOWED');
    expect(refusalOf({ val: ['\ud800'] })).toBe('NOT_ALLOWED');
    expect(refusalOf({ a: 0.1 })).toBe('accepted');
  });

  it('an evaluation changes neither the policy input nor the condition', () => {
    const context = Object.freeze({ list: Object.freeze([1, 2]) }) as unknown as JsonObject;
    const condition = parseCondition({ all: [{ var: 'list' }, { in: [{ var: '' }, [1, 2]] }] });
    const before = JSON.stringify(condition);
    expect(compile(condition).evaluate({ context })).toBe('true');
    expect(JSON.stringify(condition)).toBe(before);
  });
});
