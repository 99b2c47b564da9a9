/** The nearest change: what is named was tried, is as small as can be, and is not invented where there is none. */
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Json, JsonObject } from '../../../../src/core/json/parse.ts';
import { readsOf } from '../../../../src/core/policies/evaluate/clause.ts';
import { compile } from '../../../../src/core/policies/evaluate/compile.ts';
import type { PolicyInput } from '../../../../src/core/policies/evaluate/compile.ts';
import { explain } from '../../../../src/core/policies/explain/detail.ts';
import { withValue } from '../../../../src/core/policies/explain/nearest.ts';
import type { Change } from '../../../../src/core/policies/explain/nearest.ts';
import { parseText } from '../../../../src/core/policies/language/text.ts';
import { anyFields, anyPolicy } from '../trees.ts';
import { threadMs } from '../../../thread-ms.ts';

const change = (path: string, op: string, value: Json): Change => ({ path, op, value });

test.each<[string, JsonObject, Change[]]>([
  ['env == "production"', { env: 'production' }, [change('context.env', '!==', 'production')]],
  ['env == "production"', { env: 'staging' }, [change('context.env', '===', 'production')]],
  ['amount > 1000', { amount: 1500 }, [change('context.amount', '<=', 1000)]],
  ['amount > 1000', { amount: 1 }, [change('context.amount', '>', 1000)]],
  ['1000 < amount', { amount: 1 }, [change('context.amount', '>', 1000)]],
  ['env in ["a", "b"]', { env: 'a' }, [change('context.env', 'not in', ['a', 'b'])]],
  ['env in ["a", "b"]', { env: 'c' }, [change('context.env', 'in', ['a', 'b'])]],
  ['"pii" in tags', { tags: ['eu', 'pii'] }, [change('context.tags', 'not contains', 'pii')]],
  ['"pii" in tags', { tags: ['eu'] }, [change('context.tags', 'contains', 'pii')]],
  ['approval.granted', {}, [change('context.approval.granted', '===', false)]],
  ['!approval.granted', { approval: { granted: false } }, [change('context.approval.granted', '===', true)]],
  ['has(a)', {}, [change('context.a', 'exists', null)]],
  ['has(a)', { a: 1 }, [change('context.a', 'missing', null)]],
  ['has(tool) && tool.name == "x"', {}, [change('context.tool.name', '===', 'x')]],
  ['starts_with(a, "/etc")', { a: '/etc/x' }, [change('context.a', 'not starts_with', '/etc')]],
  ['starts_with(a, "/etc")', { a: '/x' }, [change('context.a', 'starts_with', '/etc')]],
  ['a == 1 && b == 2', { a: 3, b: 3 }, [change('context.a', '===', 1), change('context.b', '===', 2)]],
  ['a == 1 && b == 2', { a: 1, b: 2 }, [change('context.a', '!==', 1)]],
  ['a == 1 || b == 2', { a: 1, b: 2 }, [change('context.a', '!==', 1), change('context.b', '!==', 2)]],
  ['length(a) == 3', { a: [] }, []],
  ['some(tags, @ == "x")', { tags: [] }, [change('context.tags', '===', ['x'])]],
  ['sem_ver(a, "<", "2.0.0")', { a: '1.0.0' }, [change('context.a', '===', '2.0.0')]],
  ['a == 1 && a == 2', { a: 1 }, []],
  ['a == 1 && b == 1 && c == 1', { a: 2, b: 2, c: 2 }, []],
  ['true', {}, []],
  ['step > 3', {}, [change('step', '<=', 3)]],
  ['a == b', { a: 1, b: 2 }, [change('context.a', '===', 2)]],
  ['a.b == 1', { a: 'scalar' }, []],
])('the nearest change of %s, given %j, is found', (text, context, expected) => {
  expect(explain(parseText(text), { context }).nearest).toEqual(expected);
});

describe('the named changes', () => {
  it('every named change alters the outcome when it is made', () => {
    let found = 0;
    fc.assert(
      fc.property(anyPolicy, anyFields, (node, checkpoint) => {
        const { truth, nearest } = explain(node, checkpoint);
        expect(nearest.length).toBeLessThanOrEqual(2);
        const changed = made(checkpoint, nearest);
        if (nearest.length === 0 || changed === undefined) return;
        found++;
        const after = compile(node).evaluate(changed);
        expect(after).not.toBe(truth);
        expect(after).not.toBe('indeterminate');
      }),
      { numRuns: 500 },
    );
    expect(found).toBeGreaterThan(100);
  });

  it('a named change does not show a masked value of the other side', () => {
    const node = parseText('a == user.name');
    const { nearest } = explain(
      node,
      { context: { a: 'x', user: { name: 'Ada' } } },
      { masked: [['context', 'user']] },
    );
    expect(nearest).toEqual([change('context.a', '===', '‹masked›')]);
  });

  it('the search for the nearest change takes limited time, however large the condition', () => {
    const text = Array.from({ length: 70 }, (_, at) => `(f${at} == 1 && g${at} == 1)`).join(' && ');
    const context = Object.fromEntries(
      Array.from({ length: 70 }, (_, at) => [`f${at}`, `g${at}`]).flatMap((names) =>
        names.map((name): [string, Json] => [name, 0]),
      ),
    );
    const before = threadMs();
    expect(explain(parseText(text), { context }).nearest).toEqual([]);
    expect(threadMs() - before).toBeLessThan(2000);
  });
});

/** The checkpoint with the changes whose value is their fact; undefined where another value is meant. */
function made(checkpoint: PolicyInput, changes: readonly Change[]): PolicyInput | undefined {
  let changed: PolicyInput | undefined = checkpoint;
  for (const { path, op, value } of changes) {
    const { path: segments } = readsOf(parseText(`has(${path})`))[0]!;
    const set = op === 'missing' ? undefined : op === 'exists' ? true : value;
    const isItself = ['===', '<=', '>=', 'exists', 'missing', 'starts_with', 'ends_with'].includes(op);
    changed = isItself && changed !== undefined ? withValue(changed, segments, set) : undefined;
  }
  return changed;
}
