import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GovError } from '../../../src/contract/problems.ts';
import { membersOf } from '../../../src/core/json/members.ts';

const found = (text: string): Record<string, string> => {
  const bytes = Buffer.from(text);
  const members = [...membersOf(bytes, 32)];
  return Object.fromEntries(
    members.map(([name, { valueAt, end }]) => [name, bytes.subarray(valueAt, end).toString()]),
  );
};

describe('membersOf', () => {
  it('finds the text of each value, however it is spelled', () => {
    expect(found(' { "a" : 1.0 ,"b":"x,\\"}" , "\\u0063":[1, 2] ,"d":{"a":{}} }\n')).toEqual({
      a: '1.0',
      b: '"x,\\"}"',
      c: '[1, 2]',
      d: '{"a":{}}',
    });
    expect(found('{}')).toEqual({});
  });

  it('finds the values of any object in any spacing', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.json()), fc.constantFrom(0, 1, '\t'), (members, indent) => {
        const object = Object.fromEntries(
          Object.entries(members).map(([name, text]) => [name, JSON.parse(text)]),
        );
        const values = Object.entries(found(JSON.stringify(object, null, indent)));
        expect(Object.fromEntries(values.map(([name, text]) => [name, JSON.parse(text)]))).toEqual(object);
      }),
    );
  });

  it.each([
    '',
    '[]',
    '"a"',
    '{"a":1',
    '{"a":1}x',
    '{"a":1,"a":2}',
    '{"a":1,"\\u0061":2}',
    '{a:1}',
    '{"b":1,a":1}',
    '{"b":1,\v"a":1}',
    '{"b":1,5}',
    '\ufeff{}',
  ])('refuses %j', (text) => expect(() => found(text)).toThrow(GovError));

  it('refuses one level more than the limit', () => {
    const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    expect(Object.keys(found(nested(32)))).toEqual(['a']);
    expect(() => found(nested(33))).toThrow('expected at most 32 levels');
  });
});
