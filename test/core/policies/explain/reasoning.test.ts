/** The template `gov.reason/1`: golden texts, its bound, masks, and texts that would deceive a reader. */
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Json, JsonObject } from '../../../../src/core/json/parse.ts';
import { compile } from '../../../../src/core/policies/evaluate/compile.ts';
import { reasoning } from '../../../../src/core/policies/explain/reasoning.ts';
import type { ReasoningInput } from '../../../../src/core/policies/explain/reasoning.ts';
import { parseText } from '../../../../src/core/policies/language/text.ts';
import { anyCheckpoint, anyTree } from '../trees.ts';

const tools = JSON.stringify(['shell', 'ssh', 'sudo', 'curl', 'wget', 'nc', 'dd', 'rm', 'mv', 'cp']);

const said = (text: string, context: JsonObject, more: Partial<ReasoningInput> = {}): string =>
  reasoning({ action: 'deny', version: 3, node: parseText(text), input: { context }, ...more });

describe('the reason of a policy that says what an undecided condition means', () => {
  test('names it', () => {
    expect(said('a == "x"', {}, { onIndeterminate: 'escalate' })).toBe(
      'escalate (unknown escalate): context.a absent, string needed at $.==',
    );
  });
});

describe('the reason of a matched policy', () => {
  test.each<[string, JsonObject, string]>([
    [
      `has(tool) && env == "production" && tool.name in ${tools} && !approval.granted`,
      { env: 'production', tool: { name: 'shell' }, approval: { granted: false } },
      'deny v3: context.env = "production"; context.tool.name "shell" in list of 10; context.approval.granted is false',
    ],
    ['a === false', { a: false }, 'deny v3: context.a is false'],
    ['5 == a', { a: 5 }, 'deny v3: context.a = 5'],
    ['a == b', { a: 5, b: 5 }, 'deny v3: context.a = 5'],
    ['a != "x"', { a: 'y' }, 'deny v3: context.a "y" is not "x"'],
    ['!(a == "x")', { a: 'y' }, 'deny v3: context.a "y" is not "x"'],
    ['a > 1000', { a: 1500 }, 'deny v3: context.a 1500 > 1000'],
    ['!(a > 1000)', { a: 1000 }, 'deny v3: context.a 1000 <= 1000'],
    ['a > b', { a: 2, b: 1 }, 'deny v3: context.a 2 > context.b 1'],
    ['1 < a', { a: 2 }, 'deny v3: 1 < context.a 2'],
    ['1 < a < 5', { a: 2 }, 'deny v3: 1 < context.a < 5 is true (context.a = 2)'],
    ['a + b > 3', { a: 2, b: 2 }, 'deny v3: context.a + context.b 4 > 3'],
    ['!(a in ["x", "y"])', { a: 'z' }, 'deny v3: context.a "z" not in list of 2'],
    ['"pii" in tags', { tags: ['pii', 'eu'] }, 'deny v3: context.tags (list of 2) contains "pii"'],
    ['!("pii" in tags)', { tags: [] }, 'deny v3: context.tags (list of 0) lacks "pii"'],
    ['starts_with(a, "/etc")', { a: '/etc/x' }, 'deny v3: context.a "/etc/x" starts with "/etc"'],
    ['!ends_with(a, "x")', { a: 'y' }, 'deny v3: context.a "y" does not end with "x"'],
    ['has(a)', { a: 1 }, 'deny v3: context.a exists'],
    ['!has(a)', {}, 'deny v3: context.a absent'],
    ['missing(a, b)', { b: 1 }, 'deny v3: context.a absent'],
    ['some(tags, @ == "pii")', { tags: ['pii'] }, 'deny v3: some of context.tags (list of 1): @ == "pii"'],
    ['a.b', { a: { b: 3 } }, 'deny v3: context.a.b is 3'],
    ['a', { a: { b: 3 } }, 'deny v3: context.a is object of 1'],
    ['length(a) == 2', { a: 'ab' }, 'deny v3: length(context.a) = 2'],
    ['default(a, 1) == 1', {}, 'deny v3: context.a = 1'],
    ['a == 1 || b == 1', { a: 2, b: 1 }, 'deny v3: context.b = 1'],
    ['a ? b : c', { a: false, c: true }, 'deny v3: context.a is false; context.c is true'],
    ['true', {}, 'deny v3: the condition is true'],
    [
      'sem_ver(a, "<", "2.0.0")',
      { a: '1.9.0' },
      'deny v3: sem_ver(context.a, "<", "2.0.0") is true (context.a = "1.9.0")',
    ],
  ])('the reason of the matched condition %s says why it matched', (text, context, expected) => {
    expect(said(text, context)).toBe(expected);
  });
});

describe('the reason of a policy that did not match', () => {
  test.each<[string, JsonObject, string]>([
    [
      'env === "production" && tool.name == "shell"',
      { env: 'staging' },
      'deny v3 not matched: context.env = "staging", "production" needed at $.and[0].===',
    ],
    ['a != "x"', { a: 'x' }, 'deny v3 not matched: context.a = "x", another value needed at $.!='],
    ['!(a == "x")', { a: 'x' }, 'deny v3 not matched: context.a = "x", another value needed at $.![0].=='],
    ['a > 10', { a: 5 }, 'deny v3 not matched: context.a = 5, > 10 needed at $.>'],
    ['!(a > 10)', { a: 50 }, 'deny v3 not matched: context.a = 50, <= 10 needed at $.![0].>'],
    ['a in ["x", "y"]', { a: 'z' }, 'deny v3 not matched: context.a = "z", one in list of 2 needed at $.in'],
    [
      '!(a in ["x"])',
      { a: 'x' },
      'deny v3 not matched: context.a = "x", none in list of 1 needed at $.![0].in',
    ],
    ['has(a)', {}, 'deny v3 not matched: context.a absent, a value needed at $.exists'],
    ['!has(a)', { a: 1 }, 'deny v3 not matched: context.a exists, none needed at $.![0].exists'],
    [
      'a.granted',
      { a: { granted: false } },
      'deny v3 not matched: context.a.granted = false, true needed at $.val',
    ],
    [
      '"pii" in tags',
      { tags: [] },
      'deny v3 not matched: context.tags (list of 0) lacks "pii", the opposite needed at $.in',
    ],
    [
      'a == 1 || b == 1',
      { a: 2, b: 2 },
      'deny v3 not matched: context.a = 2, 1 needed at $.or[0].==; context.b = 2, 1 needed at $.or[1].==',
    ],
    ['false', {}, 'deny v3 not matched: the condition is false, the opposite needed at $'],
  ])(
    'the reason of the unmatched condition %s names the deciding clause and its need',
    (text, context, expected) => {
      expect(said(text, context)).toBe(expected);
    },
  );
});

describe('the reason of an undecided policy', () => {
  test.each<[string, JsonObject, string]>([
    [
      'has(tool) && env == "p" && tool.name == "x" && resource.sizeBytes > 1000',
      { tool: { name: 'x' }, env: 'p' },
      'deny (fail closed): context.resource.sizeBytes absent, number needed at $.and[3].>',
    ],
    ['a == "x"', {}, 'deny (fail closed): context.a absent, string needed at $.=='],
    ['a in ["x"]', {}, 'deny (fail closed): context.a absent, string needed at $.in'],
    ['a in ["x", 1]', {}, 'deny (fail closed): context.a absent, value needed at $.in'],
    ['a', {}, 'deny (fail closed): context.a absent, value needed at $.val'],
    ['a > 5', { a: 'x' }, 'deny (fail closed): context.a is of another type, number needed at $.>'],
    ['a / b > 5', { a: 1, b: 0 }, 'deny (fail closed): context.a / context.b is no finite number at $.>'],
    ['length(a) > 5', {}, 'deny (fail closed): context.a absent, string or list needed at $.>'],
    ['some(a, @.k == 1)', { a: [{}] }, 'deny (fail closed): context.a[].k absent, number needed at $.some'],
  ])('the reason of the undecided condition %s says what is missing', (text, context, expected) => {
    expect(said(text, context)).toBe(expected);
  });

  it('an undecided allow policy escalates and says so', () => {
    expect(said('a == 1', {}, { action: 'allow' })).toBe(
      'escalate (fail closed): context.a absent, number needed at $.==',
    );
  });

  it('a reason names a list that is beyond the budget', () => {
    const tags = Array.from({ length: 10_001 }, () => 'x');
    expect(said('"pii" in tags', { tags })).toBe(
      'deny (fail closed): context.tags is beyond the budget of an evaluation at $.in',
    );
  });
});

describe('masked values', () => {
  const masked = [['context', 'user']];
  const secret = 'hunter2';

  test.each([
    'user.password == "hunter2"',
    'user.password != "hunter3"',
    'user.password in ["hunter2"]',
    'starts_with(user.password, "hunter2")',
    'user.password > "hunter1"',
    '"hunter2" in user.passwords',
    'some(user.passwords, @ == "hunter2")',
    'cat(user.password, "!") == "hunter2!"',
    'substr(user.password, 0, 7)',
    'min(length(user.password), 7) == 7',
    'user.password == copy',
  ])('the reason of %s says ‹masked› for a masked path, matched or not', (text) => {
    const context: JsonObject = { user: { password: secret, passwords: [secret] }, copy: secret };
    const sentences = [said(text, context, { masked }), said(`!(${text})`, context, { masked })];
    for (const sentence of sentences) {
      expect(sentence).toContain('‹masked›');
      expect(sentence).not.toContain('hunter');
    }
  });

  it('a reason masks an object that contains a masked member', () => {
    expect(said('user', { user: { password: secret } }, { masked: [['context', 'user', 'password']] })).toBe(
      'deny v3: context.user is ‹masked›',
    );
  });
});

describe('deceptive and long texts', () => {
  it('a reason escapes control and direction characters', () => {
    expect(said('a != "x"', { a: 'ok\n\u202edeny\u0085\u001b[2J' })).toBe(
      String.raw`deny v3: context.a "ok\n\u202edeny\u0085\u001b[2J" is not "x"`,
    );
    expect(said('a["\\n\\u202e"]', { a: {} })).toBe(
      String.raw`deny (fail closed): context.a["\n\u202e"] absent, value needed at $.val`,
    );
  });

  it('a reason cuts long values between characters', () => {
    const sentence = said('a != "x"', { a: `a${'😀'.repeat(1000)}` });
    expect(sentence).toMatch(/^deny v3: context\.a "a😀{31}…" is not "x"$/u);
  });

  it('a reason counts the clauses that it has no room for', () => {
    const text = Array.from({ length: 100 }, (_, at) => `field${at} == "${'x'.repeat(40)}"`).join(' && ');
    const context = Object.fromEntries(
      Array.from({ length: 100 }, (_, at): [string, Json] => [`field${at}`, 'x'.repeat(40)]),
    );
    const sentence = said(text, context);
    expect(sentence.length).toBeLessThanOrEqual(512);
    expect(sentence).toMatch(/x"; and 9\d more$/);
  });

  it('a reason is never longer than its limit and never begins like another outcome', () => {
    fc.assert(
      fc.property(anyTree, anyCheckpoint, (node, checkpoint) => {
        const sentence = reasoning({ action: 'warn', version: 12, node, input: checkpoint });
        expect(sentence.length).toBeLessThanOrEqual(512);
        expect(sentence.isWellFormed()).toBe(true);
        expect(sentence).not.toMatch(/[\p{Cc}\u202e]/u);
        const truth = compile(node).evaluate(checkpoint);
        const heads = {
          true: 'warn v12: ',
          false: 'warn v12 not matched: ',
          indeterminate: 'warn (fail closed): ',
        };
        expect(sentence.startsWith(heads[truth])).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
