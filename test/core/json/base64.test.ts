import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64, encodeBase64 } from '../../../src/core/json/base64.ts';
import { base64 as known } from '../../vectors/rfc4648.ts';

describe('strict base64', () => {
  it.each(known)('base64 of %j is %j, as RFC 4648 §10 says', (text, base64) => {
    expect(encodeBase64(Buffer.from(text))).toBe(base64);
    expect(decodeBase64(base64)).toEqual(Buffer.from(text));
  });

  it('base64 reads back the bytes that it writes', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(decodeBase64(encodeBase64(bytes))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it.each([
    'Zg',
    'Zg=',
    'Zh==',
    'Zm9',
    'Zm9=',
    'Zm9v\n',
    ' Zm9v',
    'Zm-_',
    'Zm9v=',
    '=',
    '====',
    'é',
    'Zg==Zg==',
  ])('strict base64 refuses %j', (text) => {
    expect(decodeBase64(text)).toBeNull();
  });
});
