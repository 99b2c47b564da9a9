/** Reference tokens of JSON pointers (RFC 6901 §3-5). */
import { expect, it } from 'vitest';
import { memberName, pointerToken } from '../../../src/core/json/pointer.ts';

it.each([
  ['plain', 'plain'],
  ['a/b', 'a~1b'],
  ['m~n', 'm~0n'],
  ['~1', '~01'],
  ['', ''],
])('the member name %j becomes the reference token %j and is read back', (name, token) => {
  expect(pointerToken(name)).toBe(token);
  expect(memberName(token)).toBe(name);
});
