import { describe, expect, it } from 'vitest';
import { limits } from '../../../../src/contract/limits.ts';
import type { JsonObject } from '../../../../src/core/json/parse.ts';
import { compile } from '../../../../src/core/policies/evaluate/compile.ts';
import { canonicalCondition } from '../../../../src/core/policies/language/canonical.ts';
import { parseCondition } from '../../../../src/core/policies/language/parse.ts';
import { parseText } from '../../../../src/core/policies/language/text.ts';
import { printText } from '../../../../src/core/policies/language/text-print.ts';

const truth = (text: string, context: JsonObject) => compile(parseText(text)).evaluate({ context });

describe('functions about what a text means to a tool', () => {
  it.each([
    ['lower(a) == "rm"', 'RM', 'true'],
    ['fold(a) == "rm"', 'ｒ\u200bM', 'true'],
    ['path(a) == "/etc/passwd"', '/srv/../etc/passwd', 'true'],
    ['path_in(a, ["/etc", "/root"])', '/srv/../root/x', 'true'],
    ['path_in(a, ["/srv/app"])', '/srv/application', 'false'],
    ['path_in(a, ["/srv/app"])', '~/x', 'indeterminate'],
    ['path_in(a, ["/srv/app"])', 'x', 'indeterminate'],
    ['path_in(a, ["/srv/app", "src"])', 'src/x', 'true'],
    ['host(a) == "example.com"', 'https://EXAMPLE.com.:443/x', 'true'],
    ['host_in(a, ["private"])', 'http://0x7f.1', 'true'],
    ['host_in(a, ["*.example.com"])', 'https://evil.com/?example.com', 'false'],
    ['host_in(a, ["example.com"])', 'http://example.com\\@evil.com', 'indeterminate'],
    ['some(programs(a), @ in ["rm", "dd"])', 'ls | xargs r""m', 'true'],
    ['"rm" in programs(a)', 'ls | grep rm', 'false'],
    ['"rm" in programs(a)', '$X', 'indeterminate'],
    ['time(a) < time("2026-11-28T10:00:00Z")', '2026-11-28T10:30:00+01:00', 'true'],
    ['time(a) == time("2026-11-28T10:00:00Z")', '2026-11-28T11:00:00.000+01:00', 'true'],
    ['time(a) == 1764324000123', '2025-11-28T10:00:00.1239Z', 'true'],
    ['time(a) < time("2026-11-28T10:00:00Z")', '2026-11-28', 'indeterminate'],
    ['time(a) < time("2026-11-28T10:00:00Z")', '2026-11-28T10:00:00', 'indeterminate'],
    ['time(a) < time("2026-11-28T10:00:00Z")', '2026-02-30T10:00:00Z', 'indeterminate'],
    ['time(a) < time("2026-11-28T10:00:00Z")', 'yesterday', 'indeterminate'],
  ])('the condition %s on %j is %s', (text, a, expected) => {
    expect(truth(text, { a })).toBe(expected);
  });

  it.each([
    'lower(a) == ""',
    'fold(a) == ""',
    'path(a) == ""',
    'path_in(a, ["/x"])',
    'host_in(a, ["x"])',
    '"x" in programs(a)',
    'time(a) > 0',
  ])('the condition %s is indeterminate for a list and for an absent value', (text) => {
    expect(truth(text, { a: ['/x'] })).toBe('indeterminate');
    expect(truth(text, {})).toBe('indeterminate');
  });

  it('texts up to their limit are read, and a longer text exceeds the budget', () => {
    const command = (bytes: number) => `ls ${'x'.repeat(bytes - 3)}`;
    const condition = compile(parseText('"rm" in programs(a)'));
    expect(condition.evaluate({ context: { a: command(limits.conditionStringBytes) } })).toBe('false');
    expect(condition.why({ context: { a: command(limits.conditionStringBytes + 1) } })?.reason).toBe(
      'budget',
    );
    // one character may fold to eighteen
    const folded = compile(parseText('fold(a) == "x"'));
    expect(folded.why({ context: { a: 'ﷺ'.repeat(1000) } })?.reason).toBe('budget');
  });

  it('many commands in a list exceed the budget of an evaluation', () => {
    const condition = compile(parseText('some(a, "rm" in programs(@))'));
    const commands = (count: number) => ({
      context: { a: Array<string>(count).fill(`ls ${'x'.repeat(997)}`) },
    });
    expect(condition.evaluate(commands(9))).toBe('false');
    expect(condition.why(commands(11))?.reason).toBe('budget');
  });

  it.each([
    ['path_in(a, ["~/x"])', /folders such as/],
    ['path_in(a, b)', /a list of folders/],
    ['path_in(a, [b])', /folders such as/],
    ['host_in(a, ["http://x"])', /hosts such as/],
    ['host_in(a, ["10.0.0.0/33"])', /hosts such as/],
    ['path_in(a)', /expected 2 arguments/],
    ['lower(a, b)', /expected 1 arguments/],
  ])('the condition %s is refused', (text, message) => {
    expect(() => parseText(text)).toThrow(message);
  });

  it('a field named time keeps its meaning, and a call of time parses back from its canonical form', () => {
    const field = { '<': [{ val: ['context', 'time'] }, '2026'] };
    for (const json of [{ time: { '<': '2026' } }, field])
      expect(canonicalCondition(parseCondition(json))).toEqual(field);
    expect(printText(parseCondition({ time: 'noon', env: 'prod' }))).toBe(
      'context.time == "noon" && context.env == "prod"',
    );
    for (const text of ['time(time) < time("2026-11-28T10:00:00Z")', 'time(a)', '!time(a)']) {
      const node = parseText(text);
      expect(parseCondition(canonicalCondition(node))).toEqual(node);
      expect(parseText(printText(node))).toEqual(node);
    }
    expect(printText(parseCondition({ '<': [{ time: { var: 'a' } }, 5] }))).toBe('time(context.a) < 5');
    expect(() => parseCondition({ '<': [{ time: [] }, 5] })).toThrow('expected 1 arguments');
  });

  it('fields take path_in and host_in, and the text prints back', () => {
    const node = parseCondition({ 'arguments.url': { host_in: ['example.com', 'private'] } });
    expect(printText(node)).toBe('host_in(context.arguments.url, ["example.com", "private"])');
    expect(parseText(printText(node))).toEqual(node);
  });
});
