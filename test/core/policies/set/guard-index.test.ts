import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../../src/core/json/parse.ts';
import type { Node } from '../../../../src/core/policies/language/ast.ts';
import { type PolicyInput, compile } from '../../../../src/core/policies/evaluate/compile.ts';
import { guardsOf } from '../../../../src/core/policies/set/guard.ts';
import { GuardIndex } from '../../../../src/core/policies/set/guard-index.ts';
import { parseCondition } from '../../../../src/core/policies/language/parse.ts';
import { anyCheckpoint, anyCondition } from '../world.ts';

const indexOf = (nodes: readonly Node[]): GuardIndex => new GuardIndex(nodes.map(guardsOf));
const candidates = (conditions: readonly Json[], checkpoint: PolicyInput): number[] =>
  indexOf(conditions.map((condition) => parseCondition(condition)))
    .candidates(checkpoint)
    .sort((a, b) => a - b);

/** Wrapped so that most have guards beside whatever else they hold. */
const guarded = fc
  .tuple(anyCondition, anyCondition, anyCondition, fc.boolean())
  .map(([a, b, c, isBare]): Node => (isBare ? a : { kind: 'call', op: 'and', args: [a, b, c] }));

describe('the guard index', () => {
  it('the guard index leaves out only false conditions and names each condition once', () => {
    let skipped = 0;
    let visited = 0;
    fc.assert(
      fc.property(
        fc.array(guarded, { minLength: 1, maxLength: 30 }),
        fc.array(anyCheckpoint, { minLength: 1, maxLength: 8 }),
        (nodes, checkpoints) => {
          const index = indexOf(nodes);
          for (const checkpoint of checkpoints) {
            const found = index.candidates(checkpoint);
            const asked = new Set(found);
            expect(asked.size).toBe(found.length);
            for (const [at, node] of nodes.entries()) {
              if (!asked.has(at)) expect(compile(node).evaluate(checkpoint)).toBe('false');
            }
            visited += asked.size;
            skipped += nodes.length - asked.size;
          }
        },
      ),
      { seed: 1, numRuns: 1500 },
    );
    expect(skipped).toBeGreaterThan(visited / 8); // else the property would show nothing
  });

  it('the guard index names every true or indeterminate condition, for any value at its paths', () => {
    const paths = fc
      .constantFrom<Json>('env', 'tool.name', 'list', 'list.0')
      .map((path): Json => ({ var: path }));
    const texts = fc.uniqueArray(fc.constantFrom('prod', 'shell', ''), { maxLength: 3 });
    const items = fc.oneof(texts, fc.uniqueArray(fc.nat(2), { minLength: 1 }), fc.constant([true]));
    const values: fc.Arbitrary<Json> = fc.oneof(
      fc.constantFrom<Json>('prod', 'shell', 'x', '', 0, 1, 7, true, false, null),
      fc.constantFrom<Json>([], ['prod'], ['shell', 1], [[]], {}, { name: 'shell' }, { 0: 'prod' }),
    );
    const asked = fc.oneof(
      fc.tuple(paths, items).map(([path, list]): Json => ({ in: [path, list as Json] })),
      fc
        .tuple(paths, fc.constantFrom<Json>('prod', 1, true))
        .map(([path, value]): Json => ({ '==': [path, value] })),
    );
    const either = fc.array(asked, { minLength: 1, maxLength: 2 }).map((args): Json => ({ or: args }));
    const contexts = fc.record({
      env: values,
      tool: fc.oneof(values, fc.record({ name: values })),
      list: values,
    });
    const open = { list: 0, object: 0, number: 0 };
    fc.assert(
      fc.property(fc.array(either, { minLength: 1, maxLength: 20 }), contexts, (conditions, context) => {
        const nodes = conditions.map((condition) => parseCondition(condition));
        const truths = nodes.map((node) => compile(node).evaluate({ context }));
        const found = new Set(indexOf(nodes).candidates({ context }));
        for (const [at, truth] of truths.entries()) {
          if (truth !== 'false') expect(found).toContain(at);
          if (truth !== 'indeterminate') continue;
          for (const value of Object.values(context)) {
            if (Array.isArray(value)) open.list++;
            else if (typeof value === 'object' && value !== null) open.object++;
            else if (typeof value === 'number') open.number++;
          }
        }
      }),
      { seed: 1, numRuns: 3000 },
    );
    expect(Math.min(...Object.values(open))).toBeGreaterThan(1000);
  });

  it('the guard index visits only the conditions that the value asks for', () => {
    const conditions: Json[] = [
      { 'tool.name': 'shell' },
      { 'tool.name': { in: ['shell', 'sql'] } },
      { 'tool.name': 'http', amount: { '>': 3 } },
      { or: [{ '===': [{ var: 'tool.name' }, 'sql'] }, { '==': ['mail', { var: 'tool.name' }] }] },
      { amount: { '>': 3 } },
    ];
    const visited = (name: Json) => candidates(conditions, { context: { tool: { name } } });
    expect(visited('shell')).toEqual([0, 1, 4]);
    expect(visited('sql')).toEqual([1, 3, 4]);
    expect(visited('other')).toEqual([4]);
  });

  it('the guard index visits conditions left open by an absent, null or differently typed value', () => {
    const conditions: Json[] = [
      { env: 'prod' },
      { env: { in: ['prod', 'dev'] } },
      { '===': [{ var: 'env' }, 'prod'] },
      { env: { in: ['prod', 1] } },
      { or: [{ env: { in: [1, 2] } }, { env: 3 }] },
      { env: { in: [] } },
    ];
    expect(candidates(conditions, { context: {} })).toEqual([0, 1, 2, 3, 4, 5]);
    expect(candidates(conditions, { context: { env: null } })).toEqual([0, 1, 2, 3, 4, 5]);
    expect(candidates(conditions, { context: { env: 1 } })).toEqual([0, 1, 3, 4]);
    expect(candidates(conditions, { context: { env: 7 } })).toEqual([0, 1, 3]);
    for (const env of [['prod'], [], {}, { prod: 1 }, true]) {
      expect(candidates(conditions, { context: { env } })).toEqual([0, 1, 3, 4]);
    }
    expect(candidates(conditions, { context: { env: 'test' } })).toEqual([3, 4]);
  });

  it('the guard index skips a condition whose exists guard fails, but not for null', () => {
    const conditions: Json[] = [
      { and: [{ exists: ['context', 'tool'] }, { 'tool.name': 'shell' }] },
      {
        and: [
          { exists: ['context', 'env'] },
          { exists: ['context', 'tool', 'name'] },
          { 'tool.name': 'shell' },
        ],
      },
      { and: [{ exists: ['context', 'tool'] }, { amount: { '>': 3 } }] },
    ];
    expect(candidates(conditions, { context: { env: 'prod' } })).toEqual([]);
    expect(candidates(conditions, { context: { tool: {} } })).toEqual([0, 2]);
    expect(candidates(conditions, { context: { tool: { name: null } } })).toEqual([0, 1, 2]);
    expect(candidates(conditions, { context: { tool: null } })).toEqual([0, 2]);
  });

  it('the guard index files a condition under its rarest guard', () => {
    const conditions: Json[] = Array.from({ length: 20 }, (_, at) => ({
      env: 'prod',
      'agent.id': `agent-${at}`,
    }));
    const checkpoint = { context: { env: 'prod', agent: { id: 'agent-7' } } };
    expect(candidates(conditions, checkpoint)).toEqual([7]);
  });

  it('the guard index takes no guard from mixed or clauses, negations and computed values', () => {
    const conditions: Json[] = [
      { or: [{ env: 'prod' }, { user: 'root' }] },
      { '!': [{ env: 'prod' }] },
      { '==': [{ var: 'env' }, { var: 'user' }] },
      { '==': [{ var: ['env', 'prod'] }, 'prod'] },
      { in: [{ var: 'env' }, ['prod', { var: 'user' }]] },
      { or: [{ env: 'prod' }, { env: 1 }] },
      { in: [{ var: 'env' }, ['prod', 1]] },
      { or: [{ in: [{ var: 'env' }, ['prod']] }, { in: [{ var: 'env' }, [1]] }] },
    ];
    expect(candidates(conditions, { context: { env: 'test', user: 'x' } })).toEqual([0, 1, 2, 4, 5, 6, 7]);
    expect(candidates(conditions, { context: { env: 1, user: 'x' } })).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(candidates(conditions, { context: { user: 'x' } })).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('the guard index skips a false condition whose other clauses exceed the budget', () => {
    const walk: Json = { some: [{ var: 'list' }, { '==': [{ val: [] }, 1] }] };
    const condition: Json = { and: [walk, walk, { env: 'prod' }, { in: [{ var: 'env' }, ['prod']] }] };
    const checkpoint = { context: { env: 'test', list: Array.from({ length: 9000 }, () => 0) } };
    expect(candidates([condition], checkpoint)).toEqual([]);
    expect(compile(parseCondition(condition)).evaluate(checkpoint)).toBe('false');
  });
});
