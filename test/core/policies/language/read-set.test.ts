import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/core/json/parse.ts';
import { type PolicyInput, compile } from '../../../../src/core/policies/evaluate/compile.ts';
import { parseCondition } from '../../../../src/core/policies/language/parse.ts';
import { readPaths, readSet } from '../../../../src/core/policies/language/read-set.ts';
import { anyCheckpoint, anyCondition } from '../world.ts';

const pathsOf = (condition: Json): string[] => readPaths(parseCondition(condition));
const some = (list: Json, predicate: Json): Json => ({ some: [list, predicate] });

describe('the paths that a condition reads', () => {
  it.each<[string, Json, string[]]>([
    ['nothing', {}, []],
    ['a shorthand', { '==': [{ var: 'tool.name' }, 'shell'] }, ['context.tool.name']],
    ['the step', { '>': [{ var: 'step' }, 3] }, ['step']],
    ['presence alone', { exists: ['context', 'tool'] }, ['context.tool?']],
    [
      'both branches',
      { if: [{ var: 'a' }, { var: 'b' }, { var: 'c' }] },
      ['context.a', 'context.b', 'context.c'],
    ],
    ['a name with a dot', { '!!': [{ val: ['context', 'a.b', 'c'] }] }, ['context["a.b"].c']],
    [
      'what another path covers',
      { and: [{ var: 'a.b' }, { var: 'a' }, { exists: ['a', 'c'] }] },
      ['context.a'],
    ],
    ['a default', { '==': [{ var: ['a', 1] }, 1] }, ['context.a']],
    ['items', some({ var: 'items' }, { '>': [{ var: 'price' }, 9] }), ['context.items[*].price']],
    ['whole items', some({ var: 'items' }, { '==': [{ val: [] }, 9] }), ['context.items[*]']],
    ['how many items', some({ var: 'items' }, true), ['context.items[*]?']],
    ['an index, also as text', { '<': [{ val: ['a', 0] }, { val: ['a', '0'] }] }, ['context.a[0]']],
    [
      'items of items',
      some({ var: 'orders' }, some({ var: 'lines' }, { '>': [{ var: 'price' }, 9] })),
      ['context.orders[*].lines[*].price'],
    ],
    [
      'a computed list as a whole',
      some([{ var: 'a' }, { var: 'b' }], { '>': [{ var: 'price' }, 9] }),
      ['context.a', 'context.b'],
    ],
  ])('the read paths of a condition are found for %s', (_, condition, paths) => {
    expect(pathsOf(condition)).toEqual(paths);
  });
});

describe('the retained part of the policy input', () => {
  const checkpoint: PolicyInput = {
    step: 4,
    context: {
      tool: { name: 'shell', arguments: { command: 'cat /etc/passwd' } },
      env: 'prod',
      items: [{ price: 3, note: 'private' }, { note: 'private' }, 'private', null],
    },
  };
  const retain = (...paths: string[]) =>
    JSON.parse(JSON.stringify(readSet(paths).retain(checkpoint))) as Json;

  it.each<[string[], Json]>([
    [[], { context: {} }],
    [['step'], { step: 4, context: {} }],
    [['context.tool.name'], { context: { tool: { name: 'shell' } } }],
    [['context.tool?'], { context: { tool: {} } }],
    [['context.env?'], { context: { env: '' } }],
    [['context.nothing', 'context.env.nothing'], { context: {} }],
    [['context.items[*].price'], { context: { items: [{ price: 3 }, null, null, null] } }],
    [['context.items[*]?'], { context: { items: [{}, {}, '', null] } }],
    [['context.items[1].note'], { context: { items: [null, { note: 'private' }] } }],
    [['context.items?', 'context.items[9]'], { context: { items: [] } }],
  ])('the retained part of the policy input for paths %j is the least that they need', (paths, kept) => {
    expect(retain(...paths)).toEqual(kept);
  });

  it('the path $ retains the whole policy input', () => {
    expect(readSet(['$']).retain(checkpoint)).toEqual(checkpoint);
  });

  it('a retained input gives the same truth and reason as the whole policy input', () => {
    fc.assert(
      fc.property(anyCondition, anyCheckpoint, (node, checkpoint) => {
        const condition = compile(node);
        const kept = readSet(readPaths(node)).retain(checkpoint);
        expect(condition.evaluate(kept)).toBe(condition.evaluate(checkpoint));
        expect(JSON.stringify(kept)).not.toContain(readPaths(node).includes('context') ? '\0' : 'unread');
      }),
      { seed: 1, numRuns: 5000 },
    );
  });

  it('one retained input gives each of many conditions the same truth, if its paths are covered', () => {
    fc.assert(
      fc.property(
        fc.array(anyCondition, { maxLength: 4 }),
        anyCondition,
        anyCheckpoint,
        (nodes, other, checkpoint) => {
          const set = readSet(nodes.flatMap(readPaths));
          const kept = set.retain(checkpoint);
          for (const node of [...nodes, ...(set.missing(other).length === 0 ? [other] : [])]) {
            expect(compile(node).evaluate(kept)).toBe(compile(node).evaluate(checkpoint));
          }
          for (const node of nodes) expect(set.missing(node)).toEqual([]);
        },
      ),
      { seed: 2, numRuns: 3000 },
    );
  });
});

describe('a read-set', () => {
  it('a read-set covers the members below its paths and names missing paths', () => {
    const set = readSet(['context.tool', 'context.env?', 'context.items[*].price']);
    const missing = (condition: Json): string[] => set.missing(parseCondition(condition));
    expect(missing({ 'tool.name': 'shell' })).toEqual([]);
    expect(missing({ exists: ['tool', 'name'] })).toEqual([]);
    expect(missing({ exists: ['items'] })).toEqual([]);
    expect(missing({ '>': [{ val: ['items', 3, 'price'] }, 1] })).toEqual([]);
    expect(missing({ env: 'prod', user: 'x' })).toEqual(['context.env', 'context.user']);
    expect(missing(some({ var: 'items' }, { var: 'note' }))).toEqual(['context.items[*].note']);
    expect(missing({ '==': [{ length: [{ var: 'items' }] }, 1] })).toEqual(['context.items']);
    expect(readSet(['$']).missing(parseCondition({ anything: 1 }))).toEqual([]);
  });

  it('a read-set reads its own paths back, whatever the names', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.nat()), { minLength: 1 }), fc.boolean(), (rest, asks) => {
        const path = { kind: 'path', scope: 'root', path: ['context', ...rest] } as const;
        const node = asks ? ({ kind: 'call', op: 'exists', args: [path] } as const) : path;
        const set = readSet(readPaths(node));
        expect(set.paths).toEqual(readPaths(node));
        expect(set.missing(node)).toEqual([]);
      }),
    );
  });

  it.each(['context.', 'context..a', 'context[a]', 'context["a]', 'a b', 'context?.a'])(
    'a read-set refuses %s, which is not a path',
    (text) => {
      expect(() => readSet([text])).toThrow('expected a read path');
    },
  );
});
