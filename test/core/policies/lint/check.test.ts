/** The linter: what it is certain of no random checkpoint contradicts, and its repairs repair. */
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Json } from '../../../../src/core/json/parse.ts';
import type { Node } from '../../../../src/core/policies/language/ast.ts';
import { clausesOf } from '../../../../src/core/policies/evaluate/clause.ts';
import { compile } from '../../../../src/core/policies/evaluate/compile.ts';
import { lint, seenPaths } from '../../../../src/core/policies/lint/check.ts';
import type { LintOptions } from '../../../../src/core/policies/lint/check.ts';
import type { LintFinding } from '../../../../src/core/policies/lint/finding.ts';
import { canBe } from '../../../../src/core/policies/lint/satisfiable.ts';
import { parseText, printText } from '../../../../src/core/policies/language/text.ts';
import { anyCheckpoint, anyFields, anyPolicy, anyTree } from '../trees.ts';

/** The same about members of a tool. */
function ofTool(node: Node): Node {
  if (node.kind === 'call') return { ...node, args: node.args.map(ofTool) };
  if (node.kind !== 'path' || node.path[0] !== 'context') return node;
  return { ...node, path: ['context', 'tool', ...node.path.slice(1)] };
}

const findings = (text: string, options: Partial<LintOptions> = {}): readonly LintFinding[] =>
  lint(parseText(text), { action: 'deny', ...options });
const found = (code: LintFinding['code'], text: string, options: Partial<LintOptions> = {}): string[] =>
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
  ])('lint finds that a clause in %s can never be true', (text, path) => {
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
    '!(a in ["x", "y"]) && a != "z"',
    '!(a in [1, 2]) && a > 0',
  ])('lint does not report %s as never true', (text) => {
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
    ['a in ["x", 1]', '$.in'],
    ['a in [true, false]', '$.in'],
    ['a in ["x"] || a in [1]', '$.or'],
  ])('lint finds that a clause in %s can never be false', (text, path) => {
    expect(found('always_matches', text)).toEqual([path]);
  });

  it('lint only mentions a condition that is written as always true', () => {
    expect(findings('true')).toMatchObject([{ code: 'always_matches', severity: 'info', path: '$' }]);
  });
});

it('a condition never has, for any policy input, the result that lint calls impossible', () => {
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
  it('an unguarded path of a tool gets one finding and a fix with its guard', () => {
    const [finding, ...others] = findings('tool.server == "shell" && tool.args.path == "/etc"');
    expect(others).toEqual([]);
    expect(finding).toMatchObject({ code: 'missing_guard', severity: 'warning', path: '$.and[0].==' });
    expect(finding!.detail).toBe(
      'expected has(context.tool) beside it, got context.tool.server alone: where it is absent the policy answers deny',
    );
    expect(printText(finding!.fix!)).toBe(
      'has(context.tool) && context.tool.server == "shell" && context.tool.args.path == "/etc"',
    );
    expect(compile(finding!.fix!).evaluate({ context: {} })).toBe('false');
    expect(lint(finding!.fix!, { action: 'deny' })).toEqual([]);
  });

  it('other unguarded paths are mentioned without a fix', () => {
    const [tool, ...others] = findings(
      'tool.server == "pay" && arguments.amount > 9 && env == "x" && step > 1',
    );
    expect(tool).toMatchObject({ code: 'missing_guard', severity: 'warning', path: '$.and[0].==' });
    expect(others).toEqual(
      ['context.arguments.amount', 'context.env', 'step'].map((path, at) => ({
        code: 'missing_guard',
        severity: 'info',
        path: `$.and[${at + 1}].${['>', '==', '>'][at]}`,
        detail:
          `expected ${path} in the checkpoint, got no guard for it: without it the policy answers deny ` +
          '(fail closed); with a guard, a client could evade the policy by omitting it',
      })),
    );
    expect(findings('env == "x"', { action: 'allow' })[0]!.detail).toMatch(
      /answers escalate \(fail closed\)/,
    );
  });

  it('the fixed condition is still indeterminate for an input that lacks the fact', () => {
    const [{ fix }] = findings('tool.name == "pay" && arguments.amount > 9') as [LintFinding];
    expect(compile(fix!).evaluate({ context: { tool: { name: 'pay' } } })).toBe('indeterminate');
    expect(compile(fix!).evaluate({ context: {} })).toBe('false');
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
  ])('lint accepts the path in %s as guarded', (text) => {
    expect(found('missing_guard', text)).toEqual([]);
  });

  test.each([
    'has(tool) || tool.name == "x"',
    'missing(tool) && tool.name == "x"',
    'has(other) && tool.name == "x"',
    'has(tool) ? true : tool.name == "x"',
    'default(a, tool.name) == "x"',
    'step > 3',
  ])('lint reports a path in %s as not guarded', (text) => {
    expect(found('missing_guard', text)).toHaveLength(1);
  });

  it('every fix removes its finding and leaves the others', () => {
    const missing = (node: Node) =>
      lint(node, { action: 'deny' }).filter(({ code }) => code === 'missing_guard');
    let fixed = 0;
    fc.assert(
      fc.property(anyPolicy, anyPolicy, (about, other) => {
        const node: Node = { kind: 'call', op: 'or', args: [ofTool(about), other] };
        const before = missing(node);
        expect(before.filter(({ fix }) => fix !== undefined).length).toBeLessThan(2);
        for (const { fix } of before) {
          if (fix === undefined) continue;
          expect(missing(fix)).toHaveLength(before.length - 1);
          fixed++;
        }
      }),
    );
    expect(fixed).toBeGreaterThan(20);
  });
});

describe('paths that no recorded policy input has', () => {
  const seen = seenPaths([
    { step: 1, context: { tool: { name: 'x' } } },
    { context: { tags: [{ k: 1 }, { l: 2 }], empty: null } },
  ]);

  test.each([
    ['has(tool.name) && has(tags[5].l) && has(step)', []],
    ['has(tool.nmae)', ['$.exists']],
    ['has(empty)', ['$.exists']],
    ['has(a) && a == 1', ['$.and[0].exists']],
  ])('lint finds the paths in %s that no recorded policy input has', (text, paths) => {
    expect(found('unseen_path', text, { seenPaths: seen })).toEqual(paths);
  });

  it('lint reports no unseen path when nothing was recorded', () => {
    expect(found('unseen_path', 'has(a)', { seenPaths: new Set() })).toEqual([]);
  });
});

describe('comparisons of two types', () => {
  test.each([
    ['a == "1" || a > 5', '$.or[1].>', 'warning'],
    ['starts_with(a, "x") || a == 5', '$.or[1].==', 'warning'],
    ['a == null', '$.==', 'error'],
    ['a == [1]', '$.==', 'error'],
    ['a in 5', '$.in', 'error'],
    ['1 == "x"', '$.==', 'error'],
    ['a in ["x", 1]', '$.in', 'warning'],
    ['[1] in ["a"]', '$.in', 'error'],
  ])('lint finds that %s compares values of two types', (text, path, severity) => {
    expect(findings(text)).toContainEqual(expect.objectContaining({ code: 'type_conflict', path, severity }));
  });

  test.each([
    'a == "1" || a == "2"',
    'a in ["x", "y"]',
    'a in ["x", b]',
    '"x" in a && a == 1',
    'length(a) > 1',
    'a.b == c.d',
  ])('lint does not find two types in %s', (text) => {
    expect(found('type_conflict', text)).toEqual([]);
  });
});

describe('times that are compared as texts', () => {
  const textTime = (text: string) => findings(text).find(({ code }) => code === 'text_time');

  it('lint reports an order of a text that is a time, with a condition that compares instants', () => {
    const found = textTime('has(t) && t < "2026-11-28T10:00:00Z"');
    expect(found).toMatchObject({ severity: 'warning', path: '$.and[1].<' });
    expect(printText(found!.fix!)).toBe('has(context.t) && time(context.t) < time("2026-11-28T10:00:00Z")');
    const earlier = { context: { t: '2026-11-28T10:30:00+01:00' } };
    expect(compile(parseText('t < "2026-11-28T10:00:00Z"')).evaluate(earlier)).toBe('false');
    expect(compile(found!.fix!).evaluate(earlier)).toBe('true');
    expect(lint(found!.fix!, { action: 'deny' })).toEqual([]);
  });

  test.each([
    [
      '"2026-11-28T10:00:00.123456789+01:00" >= t',
      'time("2026-11-28T10:00:00.123456789+01:00") >= time(context.t)',
    ],
    // half of the change is made: the other half is to follow, and time(time(t)) has no value
    ['time(t) < "2026-11-28T10:00:00Z"', 'time(context.t) < time("2026-11-28T10:00:00Z")'],
    ['some(l, @.t > "2026-11-28T10:00:00Z")', 'some(context.l, time(@.t) > time("2026-11-28T10:00:00Z"))'],
    ['t < "2026-11-28t10:00:00z"', 'time(context.t) < time("2026-11-28T10:00:00Z")'],
    ['t == "2026-11-28T10:00:00Z"', 'time(context.t) == time("2026-11-28T10:00:00Z")'],
    ['!(t != "2026-11-28T10:00:00Z")', '!(time(context.t) != time("2026-11-28T10:00:00Z"))'],
    [
      't in ["2026-11-28T10:00:00Z", u]',
      'time(context.t) in [time("2026-11-28T10:00:00Z"), time(context.u)]',
    ],
  ])('lint reports %s', (text, fix) => {
    expect(printText(textTime(text)!.fix!)).toBe(fix);
  });

  test.each(['2026-11-28T10:00:00', '2026-11-28 10:00:00Z', '2026-11-28T24:00:00Z', '2016-12-31T23:59:60Z'])(
    'lint reports an order of %s without a fix, because time() has no value for it',
    (time) => {
      const found = textTime(`has(t) && t < "${time}"`);
      expect(found?.detail).toContain(
        `write ${time} with its offset, such as 2026-11-28T10:00:00Z, and time(…)`,
      );
      expect(found?.fix).toBeUndefined();
    },
  );

  test.each([
    't < "2026-11-28"',
    't == "2026-11-28"',
    't in u',
    'time(t) < time("2026-11-28T10:00:00Z")',
    'time(t) < 1796000000000',
    't < u',
  ])('lint does not report %s as times compared as texts, nor as undecidable', (text) => {
    expect(found('text_time', text)).toEqual([]);
    expect(found('type_conflict', text)).toEqual([]);
    expect(found('never_matches', text)).toEqual([]);
  });
});

describe('ambiguous tests with in', () => {
  const ambiguous = (text: string) => findings(text).filter(({ code }) => code === 'ambiguous_in');

  it('lint reports a test of a text in a path, with alternatives for text and list', () => {
    expect(ambiguous('"rm" in arguments.cmd')).toEqual([
      {
        code: 'ambiguous_in',
        severity: 'warning',
        path: '$.in',
        detail:
          'expected a test of either a list or a text, got "rm" in context.arguments.cmd: it accepts a list with ' +
          'this item and a text with this part; write "rm" in substr(context.arguments.cmd, 0) for a text, ' +
          'some(context.arguments.cmd, @ == "rm") for a list',
      },
    ]);
  });

  it('an ambiguous in is a warning when the agent writes the value, else a mention', () => {
    expect(ambiguous('a == 1 || !("x" in said.topics)')).toMatchObject([
      { severity: 'info', path: '$.or[1].![0].in' },
    ]);
    expect(ambiguous('some(list, "x" in @.tags)')).toMatchObject([{ severity: 'info', path: '$.some' }]);
  });

  test.each([
    'a in ["x"]',
    '1 in a',
    'a in b',
    '"x" in ["x", a]',
    '"x" in substr(a, 0)',
    'some(a, @ == "x")',
  ])('lint does not report %s as an ambiguous in', (text) => {
    expect(ambiguous(text)).toEqual([]);
  });

  test.each([
    ['"rm" in cmd', 'x rm', 'true'],
    ['"rm" in cmd', ['x rm'], 'false'], // the way around it
    ['"rm" in substr(cmd, 0)', 'x rm', 'true'],
    ['"rm" in substr(cmd, 0)', 'x', 'false'],
    ['"rm" in substr(cmd, 0)', ['x rm'], 'indeterminate'],
    ['"rm" in substr(cmd, 0)', {}, 'indeterminate'],
    ['some(cmd, @ == "rm")', ['x', 'rm'], 'true'],
    ['some(cmd, @ == "rm")', ['x'], 'false'],
    ['some(cmd, @ == "rm")', ['x', ['rm']], 'indeterminate'],
    ['some(cmd, @ == "rm")', 'x', 'indeterminate'],
  ] as const)('the condition %s for the value %j is %s', (text, cmd, truth) => {
    expect(compile(parseText(text)).evaluate({ context: { cmd: structuredClone(cmd) as Json } })).toBe(truth);
  });
});

it('lint reports a repeated clause, with the condition without it', () => {
  const twice = findings('has(a) && (a == 1 || a == 1) && has(a)').filter(
    ({ code }) => code === 'duplicate_clause',
  );
  expect(twice.map(({ path }) => path)).toEqual(['$.and[2].exists', '$.and[1].or[1].==']);
  expect(twice.map(({ fix }) => printText(fix!))).toEqual([
    'has(context.a) && (context.a == 1 || context.a == 1)',
    'has(context.a) && context.a == 1 && has(context.a)',
  ]);
});

it('lint accepts any condition', () => {
  fc.assert(
    fc.property(anyTree, (node) => {
      for (const { detail } of lint(node, { action: 'warn' })) expect(detail).toMatch(/^expected .*, got /s);
    }),
  );
});

describe('names of tools that are compared exactly', () => {
  it('lint hints at an exact name in a rule that stops a call, and its repair matches other spellings', () => {
    const hint = findings('tool.name == "Pay" && a == 1').find(({ code }) => code === 'exact_name');
    expect(hint).toMatchObject({
      severity: 'info',
      detail: expect.stringContaining('write bare(context.tool.name) == "pay"'),
    });
    for (const name of ['pay', 'PAY', 'pa\u200by', '\uff50ay', 'pay '])
      expect(compile(hint!.fix!).evaluate({ context: { tool: { name }, a: 1 } })).toBe('true');
    expect(lint(hint!.fix!, { action: 'deny' }).filter(({ code }) => code === 'exact_name')).toEqual([]);
  });

  it.each([
    'bare(tool.name) == "pay"',
    'tool.server == "bank"',
    'tool.name == other',
    'starts_with(tool.name, "x")',
  ])('lint hints at nothing in %s', (text) => expect(found('exact_name', text)).toEqual([]));

  it('lint hints at no exact name in a rule that lets a call run', () => {
    expect(found('exact_name', 'tool.name == "pay"', { action: 'allow' as never })).toEqual([]);
    expect(found('exact_name', 'tool.name == "pay"', { action: 'warn' })).toEqual([]);
  });
});
