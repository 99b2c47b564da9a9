/** The compiled condition against a plain interpreter (`reference.ts`), and what hiding a value may change. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../../../src/core/json/parse.ts';
import type { Node } from '../../../src/core/policies/language/ast.ts';
import { canonicalCondition } from '../../../src/core/policies/language/canonical.ts';
import { compile, type Truth } from '../../../src/core/policies/evaluate/compile.ts';
import { parseCondition } from '../../../src/core/policies/language/parse.ts';
import { conditions, contexts, hide } from './conditions.ts';
import { referenceTruth } from './reference.ts';

const seed = 20_260_101;
const steps = fc.option(fc.nat({ max: 2 }), { nil: undefined });

const at = (context: JsonObject, step?: number) => (step === undefined ? { context } : { context, step });

/** Hidden members and items in the order in which a context is walked. */
const hiding = fc.array(
  fc.nat(9).map((at) => at === 0),
  { maxLength: 40 },
);
const nextOf = (bits: readonly boolean[]): (() => boolean) => {
  const rest = [...bits];
  return () => rest.shift() ?? false;
};

describe('conditions compared with a reference interpreter', () => {
  it('20,000 conditions give the same answers and reasons as a reference interpreter', () => {
    const seen = { true: 0, false: 0, indeterminate: 0 };
    fc.assert(
      fc.property(conditions({ total: true }), contexts, steps, hiding, (node, whole, step, bits) => {
        const context = hide(whole, nextOf(bits)) as JsonObject;
        const condition = compile(node);
        const answer = condition.evaluate(at(context, step));
        const reason = condition.why(at(context, step))?.reason;
        seen[answer]++;
        expect(reason ?? answer === 'true').toBe(referenceTruth(node, context, step));
        expect(answer === 'indeterminate').toBe(reason !== undefined);
      }),
      { numRuns: 20_000, seed },
    );
    // the comparison is worth nothing if all conditions are indeterminate
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(2500);
  });

  it('a condition over a long list exceeds its budget exactly when the interpreter does', () => {
    const seen = { within: 0, beyond: 0 };
    const times = fc.constantFrom(400, 1000, 1700, 2500, 3400);
    fc.assert(
      fc.property(conditions({ total: true }), contexts, times, (predicate, context, count) => {
        const list = { kind: 'path', scope: 'root', path: ['context', 'long'] } as const;
        const node: Node = { kind: 'call', op: 'all', args: [list, predicate] };
        const long = { ...context, long: Array(count).fill(context) as Json[] };
        const { why, evaluate } = compile(node);
        const answer = why(at(long))?.reason ?? evaluate(at(long)) === 'true';
        expect(answer).toBe(referenceTruth(node, long));
        seen[answer === 'budget' ? 'beyond' : 'within']++;
      }),
      { numRuns: 500, seed },
    );
    expect(Math.min(...Object.values(seen))).toBeGreaterThan(100);
  });

  it('a condition is parsed the same from its canonical form', () => {
    fc.assert(
      fc.property(conditions({ total: true }), (node) => {
        expect(parseCondition(canonicalCondition(node))).toEqual(node);
      }),
      { numRuns: 5000, seed },
    );
  });
});

const mayBecome = (before: Truth): Truth[] => [before, 'indeterminate'];

/** The first segments below `context` of the paths whose absence a condition asks for. */
function asked(node: Node): Set<Json> {
  if (node.kind === 'literal') return new Set();
  if (node.kind === 'list') return new Set(node.items.flatMap((item) => [...asked(item)]));
  if (node.kind === 'path') {
    if (node.fallback === undefined) return new Set();
    return new Set([node.path[1] ?? null, ...asked(node.fallback)]);
  }
  const isAsking = node.op === 'exists' || node.op === 'missing';
  return new Set(
    node.args.flatMap((arg) =>
      isAsking && arg.kind === 'path' ? [String(arg.path[arg.scope === 'root' ? 1 : 0])] : [...asked(arg)],
    ),
  );
}

describe('hidden values', () => {
  it('hidden values never reverse a decided answer unless a condition asks for absence', () => {
    let decided = 0;
    fc.assert(
      fc.property(conditions({ total: false }), contexts, steps, hiding, (node, context, step, bits) => {
        const condition = compile(node);
        const before = condition.evaluate(at(context, step));
        const hidden = hide(context, nextOf(bits)) as JsonObject;
        expect(mayBecome(before)).toContain(condition.evaluate(at(hidden)));
        if (before !== 'indeterminate') decided++;
      }),
      { numRuns: 20_000, seed },
    );
    expect(decided).toBeGreaterThan(5000);
  });

  it('hidden members never reverse an answer when exists, missing and defaults ask for others', () => {
    fc.assert(
      fc.property(conditions({ total: true }), contexts, hiding, (node, context, bits) => {
        const condition = compile(node);
        const kept = asked(node);
        const isHidden = nextOf(bits);
        const hidden = Object.fromEntries(
          Object.entries(context).filter(([name]) => kept.has(name) || !isHidden()),
        );
        expect(mayBecome(condition.evaluate({ context }))).toContain(condition.evaluate({ context: hidden }));
      }),
      { numRuns: 20_000, seed },
    );
  });

  it('hidden values can reverse a condition with an exists guard, which is its purpose', () => {
    const guarded = compile(
      parseCondition({ and: [{ exists: ['env'] }, { '==': [{ var: 'env' }, 'prod'] }] }),
    );
    const bare = compile(parseCondition({ env: 'prod' }));
    expect(guarded.evaluate({ context: { env: 'prod' } })).toBe('true');
    expect(guarded.evaluate({ context: {} })).toBe('false');
    expect(bare.evaluate({ context: {} })).toBe('indeterminate');
  });
});
