/** Clause coverage and mutants: what cases have seen, and what they would not notice. */
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { canonicalCondition } from '../../../../src/core/policies/language/canonical.ts';
import { compile } from '../../../../src/core/policies/evaluate/compile.ts';
import { coverage, mutants } from '../../../../src/core/policies/lint/coverage.ts';
import { parseCondition } from '../../../../src/core/policies/language/parse.ts';
import { parseText, printText } from '../../../../src/core/policies/language/text.ts';
import { anyPolicy } from '../trees.ts';

describe('coverage', () => {
  it('coverage counts for each clause the cases in which it was true, false or indeterminate', () => {
    const cases = [{ env: 'prod', n: 1 }, { env: 'prod' }, { env: 'dev', n: 9 }].map((context) => ({
      context,
    }));
    expect(coverage(parseText('env == "prod" && !(n > 5)'), cases)).toEqual({
      clauses: [
        { path: '$.and[0].==', text: 'context.env == "prod"', true: 2, false: 1, indeterminate: 0 },
        { path: '$.and[1].![0].>', text: 'context.n > 5', true: 1, false: 1, indeterminate: 1 },
      ],
      covered: 2,
    });
  });

  it('coverage of no cases is 0', () => {
    expect(coverage(parseText('env == "prod"'), []).covered).toBe(0);
  });
});

describe('mutants', () => {
  test.each<[string, string[]]>([
    ['a == "x"', ['context.a != "x"']],
    ['a > 5', ['context.a >= 5', 'context.a <= 5', 'context.a > 6', 'context.a > 4']],
    ['a in ["x", "y"]', ['!(context.a in ["x", "y"])', 'context.a in ["y"]', 'context.a in ["x"]']],
    ['has(a)', ['missing(context.a)']],
    ['missing(a, b)', ['!missing(context.a, context.b)']],
    ['true', ['false']],
    ['a', ['!context.a']],
    ['!a', ['context.a', '!(!context.a)']],
    [
      'a && b',
      [
        'context.a || context.b',
        'context.b',
        'context.a',
        '!context.a && context.b',
        'context.a && !context.b',
      ],
    ],
    ['some(a, @ == 1)', ['all(context.a, @ == 1)', 'none(context.a, @ == 1)']],
  ])('the mutants of %s are known', (text, expected) => {
    expect([...mutants(parseText(text))].map(({ node }) => printText(node))).toEqual(expected);
  });

  it('a mutant says where it is and what it changed', () => {
    expect([...mutants(parseText('a == 1 && has(b)'))].map(({ description }) => description)).toEqual([
      '$.and: and became or',
      '$.and[0].==: dropped',
      '$.and[1].exists: dropped',
      '$.and[0].==: == became !=',
      '$.and[0].==: 1 became 2',
      '$.and[0].==: 1 became 0',
      '$.and[1].exists: exists became missing',
    ]);
  });

  it('cases at a boundary detect all mutants of a comparison, and other cases do not', () => {
    const node = parseText('a > 5');
    const survivors = (values: readonly number[]): string[] =>
      [...mutants(node)]
        .filter((mutant) =>
          values.every((a) => {
            const checkpoint = { context: { a } };
            return compile(mutant.node).evaluate(checkpoint) === compile(node).evaluate(checkpoint);
          }),
        )
        .map(({ description }) => description);
    expect(survivors([100, -100])).toEqual(['$.>: > became >=', '$.>: 5 became 6', '$.>: 5 became 4']);
    expect(survivors([5, 6])).toEqual([]);
  });

  it('a mutant is a valid condition that differs from the original', () => {
    fc.assert(
      fc.property(anyPolicy, (node) => {
        const original = JSON.stringify(canonicalCondition(node));
        for (const mutant of mutants(node)) {
          const spelled = canonicalCondition(mutant.node);
          expect(parseCondition(spelled)).toEqual(mutant.node);
          expect(JSON.stringify(spelled)).not.toBe(original);
        }
      }),
      { numRuns: 40 },
    );
  });
});
