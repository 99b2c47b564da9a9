/** FIPS 180-4 known answers, the text form of hashes, and labelled hashes. */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { equalHash, hashText, labelled, parseHash, sha256, sha256Text } from '../../src/core/hash.ts';
import { sha256Hashes as known } from '../vectors/fips180.ts';

describe('sha256', () => {
  test.each(known)('the SHA-256 hash of %j is the known answer', (message, hex) => {
    expect(sha256(message).toString('hex')).toBe(hex);
    expect(sha256(Buffer.from(message)).toString('hex')).toBe(hex);
    expect(sha256Text(message)).toBe(`sha256:${hex}`);
  });

  test('the SHA-256 hash of a text is the hash of its UTF-8 bytes and has 32 bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const expected = createHash('sha256').update(Buffer.from(text)).digest('hex');
        expect(sha256(text).toString('hex')).toBe(expected);
        expect(sha256(new Uint8Array(Buffer.from(text))).toString('hex')).toBe(expected);
      }),
    );
  });
});

describe('hashes as text', () => {
  test('any hash is read back from its text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (hash) => {
        expect(parseHash(hashText(hash))).toEqual(Buffer.from(hash));
      }),
    );
  });

  test('a hash of another length cannot be written as text', () => {
    expect(() => hashText(new Uint8Array(31))).toThrow('32 bytes, got 31');
  });

  const good = `sha256:${known[1][1]}`;
  test.each([
    '',
    good.slice(0, -1),
    `${good}0`,
    `${good}\n`,
    ` ${good}`,
    good.toUpperCase(),
    good.replace('sha256:', 'sha512:'),
    good.replace('sha256:', ''),
    good.replace('b', 'B'),
    good.replace('b', 'g'),
  ])('%j is not the text of a hash', (text) => {
    expect(parseHash(text)).toBeNull();
  });

  test('equalHash compares content and length', () => {
    const hash = sha256('abc');
    expect(equalHash(hash, new Uint8Array(hash))).toBe(true);
    expect(equalHash(hash, sha256('abd'))).toBe(false);
    expect(equalHash(hash, hash.subarray(1))).toBe(false);
  });
});

describe('labelled hashes', () => {
  test('a labelled hash is the hash of label, line feed and JCS', () => {
    const { preimage, hash } = labelled('gov.layer/v1', { b: 1, a: [true] });
    expect(preimage).toBe('gov.layer/v1\n{"a":[true],"b":1}');
    // printf 'gov.layer/v1\n{"a":[true],"b":1}' | sha256sum
    expect(hash).toBe('sha256:303c82388595d038b9ee699f33460ead7fa40389589396a9b6bec3c00386843d');
  });

  test.each(['layer/v1', 'gov', 'Gov.layer', '', 'gov.a\nb'])(
    'a labelled hash refuses the label %j',
    (label) => {
      expect(() => labelled(label, null)).toThrow('label');
    },
  );
});
