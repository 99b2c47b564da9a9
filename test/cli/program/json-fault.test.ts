import { describe, expect, it } from 'vitest';
import type { CliError } from '../../../src/cli/program/exit.ts';
import { jsonOf, objectOf, valuesOf } from '../../../src/cli/terminal/input.ts';

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

function refusal(read: () => unknown): CliError {
  try {
    read();
  } catch (thrown) {
    return thrown as CliError;
  }
  return expect.unreachable('expected a refusal');
}

describe('a file that is not JSON', () => {
  it.each([
    ['nope', "f.json:1:2: not JSON: expected null, got 'o'", /correct the file there/],
    ['{\n  "a": 1,\n}\n', "f.json:3:1: not JSON: expected a member name, got '}'", /comma before/],
    ['[1,\n 2,\n]', "f.json:3:1: not JSON: expected a JSON value, got ']'", /comma before/],
    ["{'a': 1}", "f.json:1:2: not JSON: expected a member name, got '''", /double quotes/],
    ['// c\n{}', "f.json:1:1: not JSON: expected a JSON value, got '/'", /comment/],
    ['{"a":1}\n{"a":2}', "f.json:2:1: not JSON: expected the end of the text, got '{'", /one JSON value/],
    ['{"a": [1,\n 2', "f.json:2:3: not whole JSON: expected ',' or ']', got the end of the text", /cut off/],
    ['', 'f.json: expected JSON, got an empty file', /program that writes it/],
    [' \n\n', 'f.json: expected JSON, got an empty file', /program that writes it/],
    ['<!DOCTYPE html>\n<p>502', 'f.json: expected JSON, got HTML or XML', /error page/],
    ['\xff\xfe{\0}\0', 'f.json: expected JSON in UTF-8, got UTF-16', /save the file as UTF-8/],
    ['{"a":\n"caf\xe9"}', 'f.json:2:5: expected JSON in UTF-8, got other bytes', /UTF-8/],
    ['\0\0\0', 'f.json:1:1: expected JSON in UTF-8, got other bytes', /UTF-8/],
  ])('%j is refused with the file, the place and what to do', (text, message, hint) => {
    expect(refusal(() => jsonOf({ file: 'f.json', bytes: bytesOf(text) }))).toMatchObject({
      exit: 2,
      code: 'INVALID_JSON',
      message,
      hint: expect.stringMatching(hint),
    });
  });

  it('counts columns in characters, not in bytes', () => {
    const bytes = Buffer.from('{"größe": x}');
    expect(refusal(() => jsonOf({ file: 'f', bytes })).message).toMatch(/^f:1:11: not JSON: /);
  });

  it('JSON that two readers read differently is called neither JSON nor not JSON', () => {
    const { message, hint } = refusal(() => objectOf({ file: '-', bytes: bytesOf('{"a":1,\n"a":2}') }));
    expect(message).toBe('standard input:2:1: expected each member name once, got a second "a"');
    expect(hint).toBeUndefined();
  });

  it('a line of NDJSON that is not JSON has the line of the file', () => {
    const bytes = bytesOf('{"a":1}\n{"a":}\n');
    expect(refusal(() => valuesOf({ file: 'f', bytes })).message).toMatch(/^f:2:6: not JSON: /);
  });
});
