/** Explanations: the trace agrees with the evaluator, and the decisive paths alone decide as the whole policy input does. */
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Json, JsonObject } from '../../../../src/core/json/parse.ts';
import type { Node } from '../../../../src/core/policies/language/ast.ts';
import { canonicalCondition } from '../../../../src/core/policies/language/canonical.ts';
import { simpleClausesOf, clausesOf, readsOf } from '../../../../src/core/policies/evaluate/clause.ts';
import { compile } from '../../../../src/core/policies/evaluate/compile.ts';
import type { PolicyInput } from '../../../../src/core/policies/evaluate/compile.ts';
import { valueAt } from '../../../../src/core/policies/explain/echo.ts';
import { explain } from '../../../../src/core/policies/explain/detail.ts';
import { withValue } from '../../../../src/core/policies/explain/nearest.ts';
import { parseText } from '../../../../src/core/policies/language/text.ts';
import { anyCheckpoint, anyFields, anyPolicy, anyTree } from '../trees.ts';

const explained = (text: string, context: JsonObject, step?: number): ReturnType<typeof explain> =>
  explain(parseText(text), step === undefined ? { context } : { step, context });

describe('the trace', () => {
  it('the trace names each clause with its reads, its result and whether it decided', () => {
    const { trace } = explained('env == "production" && (tool.name in ["shell"] || step > 3)', {
      env: 'staging',
      tool: { name: 'shell' },
    });
    expect(trace).toEqual([
      { path: '$.and[0].==', op: '==', reads: { 'context.env': 'staging' }, result: false, decisive: true },
      {
        path: '$.and[1].or[0].in',
        op: 'in',
        reads: { 'context.tool.name': 'shell' },
        result: true,
        decisive: false,
      },
      { path: '$.and[1].or[1].>', op: '>', reads: { step: null }, result: 'indeterminate', decisive: false },
    ]);
  });

  it('the trace has paths of the canonical JSON, and each clause there gives its result', () => {
    fc.assert(
      fc.property(anyPolicy, anyFields, (node, checkpoint) => {
        for (const { path, result } of explain(node, checkpoint).trace) {
          const answer = compile(jsonAt(node, path)).evaluate(checkpoint);
          expect(answer).toBe(String(result));
        }
      }),
    );
  });

  it('the trace is limited and keeps the decisive clauses', () => {
    const text = Array.from({ length: 100 }, (_, at) => `a == ${at}`).join(' || ');
    const { trace } = explained(text, { a: 99 });
    expect(trace).toHaveLength(64);
    expect(trace.at(-1)).toMatchObject({ path: '$.or[99].==', decisive: true });
    expect(explained(text.replaceAll('||', '&&').replaceAll('==', '>='), { a: 99 }).trace).toHaveLength(64);
  });

  it('the trace cuts long texts, shows sizes of lists and objects, and hides masked values', () => {
    const node = parseText('long != "" && list != 1 && object != 1 && user.name != ""');
    const context = { long: 'x'.repeat(1000), list: [1, 2], object: { a: 1 }, user: { name: 'Ada' } };
    const { trace } = explain(node, { context }, { masked: [['context', 'user']] });
    expect(Object.assign({}, ...trace.map(({ reads }) => reads))).toEqual({
      'context.long': `${'x'.repeat(63)}…`,
      'context.list': 'list of 2',
      'context.object': 'object of 1',
      'context.user.name': '‹masked›',
    });
  });

  it('the trace reads members named like those of every object', () => {
    expect(explained('toString == 1', {}).trace[0]?.reads).toEqual({ 'context.toString': null });
  });
});

/** The tree of the clause at a path such as `$.and[0].==`, found by the clause list; the JSON must be there too. */
function jsonAt(node: Node, path: string): Node {
  let json: Json = canonicalCondition(node);
  for (const [, name, index] of path.matchAll(/\.([^.[]+)|\[(\d+)\]/g)) {
    json = name === undefined ? (json as Json[])[Number(index)]! : (json as JsonObject)[name]!;
    expect(json).toBeDefined();
  }
  return simpleClausesOf(clausesOf(node)).find((clause) => clause.path === path)!.node;
}

describe('the decisive paths', () => {
  test.each<[string, JsonObject, string[]]>([
    ['a == 1 && b == 2', { a: 1, b: 2 }, ['context.a', 'context.b']],
    ['a == 1 && b == 2', { a: 1, b: 3 }, ['context.b']],
    ['a == 1 || b == 2', { a: 1, b: 2 }, ['context.a']],
    ['a == 1 && b == 1 || c == 1', { a: 1, b: 1, c: 1 }, ['context.c']],
    ['!(a == 1)', { a: 2 }, ['context.a']],
    ['a ? b : c', { a: true, b: true, c: true }, ['context.a', 'context.b']],
    ['a == 1 && b == 2', { a: 1 }, ['context.b']],
    ['true || a', {}, []],
  ])('the decisive paths of the condition %s are found', (text, context, paths) => {
    expect(explained(text, context).decisivePaths).toEqual(paths);
  });

  it('the decisive paths alone decide like the whole policy input', () => {
    let decided = 0;
    fc.assert(
      fc.property(anyPolicy, anyFields, (node, checkpoint) => {
        const { truth, decisivePaths } = explain(node, checkpoint);
        if (truth === 'indeterminate') return;
        decided++;
        expect(compile(node).evaluate(only(checkpoint, decisivePaths))).toBe(truth);
      }),
      { numRuns: 2000 },
    );
    expect(decided).toBeGreaterThan(500);
  });

  it('any condition can be explained for any policy input', () => {
    fc.assert(
      fc.property(anyTree, anyCheckpoint, (node, checkpoint) => {
        const { truth, trace } = explain(node, checkpoint);
        expect(truth).toBe(compile(node).evaluate(checkpoint));
        expect(trace.length).toBeGreaterThan(0);
        expect(trace.some(({ decisive }) => decisive)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});

/** The checkpoint with only these paths. */
function only(checkpoint: PolicyInput, paths: readonly string[]): PolicyInput {
  let reduced: PolicyInput = { context: {} };
  for (const text of paths) {
    const { path } = readsOf(parseText(`has(${text})`))[0]!;
    const value = valueAt(path, checkpoint);
    if (value !== null) reduced = withValue(reduced, path, value)!;
  }
  return reduced;
}
