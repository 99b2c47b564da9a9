import { describe, expect, it } from 'vitest';
import { jsonValue, valueIn, withoutValue, withValue } from '../../../src/cli/agents/setup/json-text.ts';

describe('edits of JSON texts of people', () => {
  it.each([
    ['{}', {}],
    ['\ufeff{ "a": [1, 2,], /* b */ "c": null, // d\n}\n', { a: [1, 2], c: null }],
    ['{"a": 1, "a": "\\u00e9\\n"}', { a: 'é\n' }],
    ['// first\r\n[true,\r\n-1.5e3]\r\n', [true, -1500]],
  ])('jsonValue reads %j', (text, value) => {
    expect(jsonValue(text)).toEqual(value);
  });

  it.each([
    ['', 'a value in line 1'],
    ['{"a": }', 'a value'],
    ['{"a" 1}', ':'],
    ['{1: 2}', 'a name'],
    ['[1 2]', ', or ]'],
    ['{"a": 1,, }', 'a value'],
    ['{"a": "x', 'a value'],
    ['{}\n{}', 'the end of the text in line 2'],
    ['{"a": 01x}', 'JSON'],
  ])('jsonValue refuses %j', (text, expected) => {
    expect(() => jsonValue(text)).toThrow(expected === 'JSON' ? SyntaxError : expected);
  });

  it('jsonValue takes 64 levels, and refuses 65', () => {
    const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
    expect(() => jsonValue(nested(65))).not.toThrow();
    expect(() => jsonValue(nested(66))).toThrow('at most 64 levels');
  });

  it('withValue adds in the lines and the indent of the text, and replaces nothing else', () => {
    expect(withValue('{\n\t"a": 1 // one\n}', ['b', 'c'], [2])).toBe(
      '{\n\t"a": 1, // one\n\t"b": {\n\t\t"c": [\n\t\t\t2\n\t\t]\n\t}\n}',
    );
    expect(withValue('{"a":1}', ['b'], 2)).toBe('{"a":1,\n  "b": 2\n}');
    expect(withValue('{\r\n    "a": [],\r\n}\r\n', ['a', 0], 'é')).toBe(
      '{\r\n    "a": [\r\n        "\\u00e9"\r\n    ],\r\n}\r\n',
    );
    expect(withValue('{ "a": 1, "b": 2 }', ['a'], true)).toBe('{ "a": true, "b": 2 }');
    expect(() => withValue('{"a": 1}', ['a', 'b'], 1)).toThrow('expected an object in a');
    expect(() => withValue('{"a": {}}', ['a', 0], 1)).toThrow('expected a list in a');
  });

  const texts = [
    '{}',
    '{}\n',
    ' { } ',
    '{"hooks":{},"model":"opus"}',
    '{"hooks": {"PreToolUse": [{"matcher": "x"}]}, "model": "opus"}',
    '{\n  "model": "opus"\n}\n',
    '{\n\t"model": "opus",\n\t"hooks": {\n\t\t"PreToolUse": [\n\t\t\t{ "matcher": "x" }\n\t\t]\n\t}\n}',
    '\ufeff{\r\n    "model": "opus", // mine\r\n    "env": { "A": "1" },\r\n}\r\n',
    '// a\n{ // b\n  /* c */ "model": "opus" /* d */, // e\n  // f\n}\n// g',
    '{"env":{"A":"1"}\n, "model": "opus"}',
    '{\n  "env": {"A": "1",\n  "B": "2"},\n  "model": "opus"}',
    '{\n  // only a comment\n}',
  ];
  it.each(texts)('what was added is removed again, also after another edit: %j', (text) => {
    const count = Array.isArray(valueIn(text, ['hooks', 'PreToolUse'])) ? 1 : 0;
    const paths = [['hooks', 'PreToolUse', count], ['env', 'LD_PRELOAD'], ['z'], ['y']];
    const added = paths.reduce((now, path) => withValue(now, path, { mine: [] }), text);
    for (const path of paths) expect(valueIn(added, path)).toEqual({ mine: [] });
    const changed = added.replace('"opus"', '"haiku"');
    const emptied = [...paths.toReversed(), ['hooks', 'PreToolUse'], ['hooks'], ['env']].reduce(
      (now, path) => {
        const value = valueIn(now, path);
        const isOurs = JSON.stringify(value) === '{"mine":[]}';
        const isEmpty = value !== undefined && Object.keys(Object(value)).length === 0;
        const had = valueIn(text, path) !== undefined;
        return isOurs || (isEmpty && !had) ? withoutValue(now, path) : now;
      },
      changed,
    );
    const bare = (each: string): string => (/^\s*\{\s*\}\s*$/.test(each) ? each.replaceAll(/\s/g, '') : each);
    expect(bare(emptied)).toBe(bare(text.replace('"opus"', '"haiku"')));
  });
});
