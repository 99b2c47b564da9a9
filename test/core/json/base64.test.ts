import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeBase64, encodeBase64 } from '../../../src/core/json/base64.ts';

describe('strict base64', () => {
  it('reads back what it writes, and RFC 4648 §10', () => {
    const vectors = {
      '': '',
      f: 'Zg==',
      fo: 'Zm8=',
      foo: 'Zm9v',
      foob: 'Zm9vYg==',
      fooba: 'Zm9vYmE=',
      foobar: 'Zm9vYmFy',
    };
    for (const [text, base64] of Object.entries(vectors)) {
      expect(encodeBase64(Buffer.from(text))).toBe(base64);
      expect(decodeBase64(base64)).toEqual(Buffer.from(text));
    }
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
  ])('refuses %j', (text) => {
    expect(decodeBase64(text)).toBeNull();
  });
});
