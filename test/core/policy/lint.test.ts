/** The linter: what it is certain of no random checkpoint contradicts, and its repairs repair. */
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { clausesOf } from '../../../src/core/policy/clause.ts';
import { compile } from '../../../src/core/policy/compile.ts';
import { lint, seenPaths } from '../../../src/core/policy/lint.ts';
import type { Finding, LintOptions } from '../../../src/core/policy/lint.ts';
import { canBe } from '../../../src/core/policy/satisfiable.ts';
import { parseText, printText } from '../../../src/core/policy/text.ts';
import { anyCheckpoint, anyFields, anyPolicy, anyTree } from './trees.ts';

const findings = (text: string, options: Partial<LintOptions> = {}): readonly Finding[] =>
  lint(parseText(text), { action: 'deny', ...options });
const found = (code: Finding['code'], text: string, options: Partial<LintOptions> = {}): string[] =>
  findings(text, options)
    .filter((finding) => finding.code === code)
    .map(({ path }) => path);

describe('clauses that can never be true', () => {
  test.each([
    ['a == 1 && a == 2', '$.and'],
    ['a == 1 && (b == 1 && a == 2)', '$.and'],
    ['a == "x" && a in ["y", "z"]', '$.and'],
    ['a > 5 && a < 3', '$.and'],
    ['a > 5 && a <= 5', '$.and'],
    ['a >= 5 && a <= 5 && a != 5', '$.and'],
    ['a == "x" && !starts_with(a, "x")', '$.and'],
    ['!has(a) && a == 1', '$.and'],
    ['!has(tool) && tool.name == "x"', '$.and'],
    ['a && !a', '$.and'],
    ['!(a == 1 || a != 1)', '$.!'],
    ['a in []', '$.in'],
    ['false', '$'],
    ['b == 1 || a == 1 && a == 2', '$.or[1].and'],
    ['1 > 2 && a == 1', '$.and'],
    ['a == null', '$.=='],
  ])('%s', (text, path) => {
    expect(found('never_matches', text)).toEqual([path]);
  });

  test.each([
    'a == 1 && b == 2',
    'a == 1 || a == 2',
    'a > 5 && a < 5.5',
    'a >= 5 && a <= 5',
    'a != 1 && a != 2',
    'a === 1 || a !== 1 && a == "x"',
    'a > "b" && a < "c"',
    'some(a, @ == 1) && some(a, @ == 2)',
    'default(a, 1) == 1 && a != 2',
    'a in ["x"] && ends_with(a, "x")',
  ])('not %s', (text) => {
    expect(found('never_matches', text)).toEqual([]);
  });
});

describe('clauses that can never be false', () => {
  test.each([
    ['a == 1 || a != 1', '$.or'],
    ['a < 5 || a >= 5', '$.or'],
    ['a || !a', '$.or'],
    ['has(a) || true', '$.or'],
    ['b == 1 && (a == 1 || !(a == 1))', '$.and[1].or'],
  ])('%s', (text, path) => {
    expect(found('always_matches', text)).toEqual([path]);
  });

  it('a condition that is written as always true is only mentioned', () => {
    expect(findings('true')).toMatchObject([{ code: 'always_matches', severity: 'info', path: '$' }]);
  });
});

it('what is said to be impossible happens for no checkpoint', () => {
  let impossible = 0;
  fc.assert(
    fc.property(
      fc.oneof(
        fc.tuple(anyPolicy, fc.array(anyFields, { minLength: 20, maxLength: 20 })),
        fc.tuple(anyTree, fc.array(anyCheckpoint, { minLength: 5, maxLength: 5 })),
      ),
      ([node, checkpoints]) => {
        const { evaluate } = compile(node);
        for (const want of [true, false]) {
          if (canBe(clausesOf(node), want)) continue;
          impossible++;
          for (const checkpoint of checkpoints) expect(evaluate(checkpoint)).not.toBe(String(want));
        }
      },
    ),
    { numRuns: 800 },
  );
  expect(impossible).toBeGreaterThan(30);
});

describe('paths that are read without a guard', () => {
  it('get one finding for each guard, and a fix that has it', () => {
    const [finding, ...others] = findings('tool.name == "shell" && tool.args.path == "/etc"');
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'missing_guard', severity: 'warning', path: '$.and[0].==' });
    expect(finding!.detail).toBe(
      'expected has(context.tool) beside it, got context.tool.name alone: where it is absent the policy answers deny',
    );
    expect(printText(finding!.fix!)).toBe(
      'has(context.tool) && context.tool.name == "shell" && context.tool.args.path == "/etc"',
    );
    expect(compile(finding!.fix!).evaluate({ context: {} })).toBe('false');
    expect(lint(finding!.fix!, { action: 'deny' })).toEqual([]);
  });

  it('are only mentioned where leaving out a flat field must not help', () => {
    expect(findings('env == "production"', { action: 'allow' })).toMatchObject([
      { code: 'missing_guard', severity: 'info', path: '$.==' },
    ]);
    expect(findings('env == "production"', { action: 'allow' })[0]!.detail).toMatch(
      /the policy answers escalate; keep it so if leaving the field out must not help$/,
    );
  });

  test.each([
    'has(tool) && tool.name == "x"',
    'tool.name == "x" && has(tool)',
    'has(tool) && (a.b == 1 && has(a) || tool.name == "x" && tool.args == 1)',
    '!has(tool) || tool.name == "x"',
    'missing(tool) || tool.name == "x"',
    'has(tool) ? tool.name == "x" : false',
    'has(tool.name) ? tool.name == "x" : false',
    '!has(tool) ? true : tool.name == "x"',
    'default(tool.name, "") == "x"',
    '!(has(tool) && tool.name == "x")',
    'has(step) && step > 3',
  ])('%s is guarded', (text) => {
    expect(found('missing_guard', text)).toEqual([]);
  });

  test.each([
    'has(tool) || tool.name == "x"',
    'missing(tool) && tool.name == "x"',
    'has(other) && tool.name == "x"',
    'has(tool) ? true : tool.name == "x"',
    'default(a, tool.name) == "x"',
    'step > 3',
  ])('%s is not', (text) => {
    expect(found('missing_guard', text)).toHaveLength(1);
  });

  it('every fix makes the finding go away', () => {
    fc.assert(
      fc.property(anyPolicy, (node) => {
        const [first, ...others] = lint(node, { action: 'deny' }).filter(
          ({ code }) => code === 'missing_guard',
        );
        if (first === undefined) return;
        const after = lint(first.fix!, { action: 'deny' }).filter(({ code }) => code === 'missing_guard');
        expect(after).toHaveLength(others.length);
      }),
    );
  });
});

describe('paths that no recorded checkpoint has', () => {
  const seen = seenPaths([
    { step: 1, context: { tool: { name: 'x' } } },
    { context: { tags: [{ k: 1 }, { l: 2 }], empty: null } },
  ]);

  test.each([
    ['has(tool.name) && has(tags[5].l) && has(step)', []],
    ['has(tool.nmae)', ['$.exists']],
    ['has(empty)', ['$.exists']],
    ['has(a) && a == 1', ['$.and[0].exists']],
  ])('%s', (text, paths) => {
    expect(found('unseen_path', text, { seenPaths: seen })).toEqual(paths);
  });

  it('are not told where nothing was recorded', () => {
    expect(found('unseen_path', 'has(a)', { seenPaths: new Set() })).toEqual([]);
  });
});

describe('values of two types', () => {
  test.each([
    ['a == "1" || a > 5', '$.or[1].>', 'warning'],
    ['starts_with(a, "x") || a == 5', '$.or[1].==', 'warning'],
    ['a == null', '$.==', 'error'],
    ['a == [1]', '$.==', 'error'],
    ['a in 5', '$.in', 'error'],
    ['1 == "x"', '$.==', 'error'],
  ])('%s', (text, path, severity) => {
    expect(findings(text)).toContainEqual(expect.objectContaining({ code: 'type_conflict', path, severity }));
  });

  test.each(['a == "1" || a == "2"', 'a in ["x", 1]', '"x" in a && a == 1', 'length(a) > 1', 'a.b == c.d'])(
    'not %s',
    (text) => {
      expect(found('type_conflict', text)).toEqual([]);
    },
  );
});

it('a clause that stands twice is told, with the condition without it', () => {
  const twice = findings('has(a) && (a == 1 || a == 1) && has(a)').filter(
    ({ code }) => code === 'duplicate_clause',
  );
  expect(twice.map(({ path }) => path)).toEqual(['$.and[2].exists', '$.and[1].or[1].==']);
  expect(twice.map(({ fix }) => printText(fix!))).toEqual([
    'has(context.a) && (context.a == 1 || context.a == 1)',
    'has(context.a) && context.a == 1 && has(context.a)',
  ]);
});

it('any tree can be linted', () => {
  fc.assert(
    fc.property(anyTree, (node) => {
      for (const { detail } of lint(node, { action: 'warn' })) expect(detail).toMatch(/^expected .*, got /s);
    }),
  );
});
