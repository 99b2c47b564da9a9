/** Names that `JSON.parse` of V8 12.8 and later misreads are read as they stand. */
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { readJson } from '../../../src/core/json/parse.ts';
import type { Json } from '../../../src/core/json/parse.ts';
import { parse } from './outcome.ts';

describe('member names spelled with an escape', () => {
  // after the first text of a pair, JSON.parse of V8 12.8 and later misreads the second (nodejs/node#63785)
  test.each([
    [String.raw`{"a1":1,"\\":1}`, String.raw`{"a1":1,"\n":1}`, '\n'],
    [String.raw`{"a2":1,"\\":1}`, String.raw`{"a2":1,"\"":1}`, '"'],
    [String.raw`{"a3":1,"\\":1}`, String.raw`{"a3":1,"\u0041":1}`, 'A'],
    [String.raw`{"a4":1,"\\n":1}`, String.raw`{"a4":1,"\nx":1}`, '\nx'],
    [String.raw`{"a5":1,"\\nab":1}`, String.raw`{"a5":1,"\nabc":1}`, '\nabc'],
    [String.raw`[{"a6":1,"\\":1}]`, String.raw`{"a6":{"a6":1,"\r":1},"b":[{"a6":0,"\f":"\n"}]}`, '\r'],
  ])('after the text %s, a member name in %s is still read unchanged', (before, text, name) => {
    for (const read of [parse, readJson]) {
      read(before);
      JSON.parse(before);
      const value = read(text) as Record<string, Json>;
      const inner = (value['a6'] ?? value) as Record<string, Json>;
      expect(Object.keys(inner)[1]).toBe(name);
    }
  });

  test.each([
    String.raw` { "\u0061" : [ 1 , [ ] , { } , -0.5e1 , true , false , null , "\ud83d\ude00" ] , "b" : { "\"" : { } } } `,
    String.raw`{"\u005f_proto__":{"a":1},"10":1,"9":[{"\/":"é"}]}`,
    String.raw`[[{"\\":1},{"\\":2}],{"\\":{"\\":[]}}]`,
  ])('the text %s has the value that JSON.parse gives in a fresh process', (text) => {
    const printed = execFileSync(process.execPath, [
      '-p',
      'JSON.stringify(JSON.parse(process.argv[1]))',
      text,
    ]);
    expect(JSON.stringify(parse(text))).toBe(printed.toString().trimEnd());
    expect(Object.getPrototypeOf(parse(text))).toBe(
      Array.isArray(parse(text)) ? Array.prototype : Object.prototype,
    );
  });
});
