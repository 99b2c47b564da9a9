import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Changes, digest, fitMetadata, line, repair } from '../../../src/core/intake/fit.ts';
import { limits } from '../../../src/contract/limits.ts';
import { canonicalize, parseJson, type Json } from '../../../src/core/json/parse.ts';

const nested = (levels: number): Json => (levels === 0 ? 'leaf' : { in: nested(levels - 1) });
const depth = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depth)) : 0;
const fitted = (source: Record<string, unknown>) => {
  const changes = new Changes();
  return { metadata: fitMetadata(source, changes), changes: Object.fromEntries(changes.counts) };
};

describe('content over a limit', () => {
  it('content over a limit is kept as hash, size and beginning of its UTF-8 bytes', () => {
    const text = 'é'.repeat(limits.stringBytes / 2 + 1);
    const { metadata, changes } = fitted({ content: text });
    expect(metadata['content']).toEqual({
      sha256: createHash('sha256').update(text).digest('hex'),
      size: limits.stringBytes + 2,
      truncated: true,
      head: 'é'.repeat(1024),
    });
    expect(changes).toEqual({ kept_by_hash: 1 });
  });

  it('content is hashed from one byte over the string limit, or to fit the metadata limit', () => {
    const half = 'x'.repeat(limits.metadataBytes / 2);
    expect(fitted({ a: half }).metadata['a']).toBe(half);
    const both = fitted({ a: half, b: `${half}y` });
    expect(both.metadata['a']).toBe(half);
    expect(both.metadata['b']).toMatchObject({ truncated: true, size: half.length + 1 });
  });

  it('content that nests too deep is replaced by the hash of its canonical JSON', () => {
    expect(fitted({ a: nested(limits.metadataDepth - 2) }).changes).toEqual({});
    const { metadata, changes } = fitted({ a: nested(limits.metadataDepth + 10) });
    expect(depth(metadata)).toBeLessThanOrEqual(limits.metadataDepth);
    expect(changes).toEqual({ kept_by_hash: 1 });
    expect(canonicalize(metadata)).toContain(digest(nested(12))['sha256']);
  });

  it('a value with too many members, or an object with too long a name, is replaced by its hash', () => {
    expect(fitted({ a: Array.from({ length: limits.jsonValues }, () => 1) }).changes).toEqual({
      kept_by_hash: 1,
    });
    expect(fitted({ a: { ['n'.repeat(limits.memberNameChars)]: 1 } }).changes).toEqual({});
    expect(fitted({ a: { ['n'.repeat(limits.memberNameChars + 1)]: 1 } }).changes).toEqual({
      kept_by_hash: 1,
    });
  });

  it('the beginning of hashed content never cuts a character in half', () => {
    const head = digest(`${'x'.repeat(1023)}😀`)['head'];
    expect(head).toBe('x'.repeat(1023));
  });
});

describe('content that JSON cannot represent', () => {
  it('lone surrogates, U+0000 and unsafe numbers are repaired and counted', () => {
    const { metadata, changes } = fitted({
      a: 'x\ud800y\0z',
      b: Number.NaN,
      c: 2 ** 60,
      d: { '\udc00': 1, '\ufffd': 2 },
    });
    expect(metadata).toEqual({
      a: 'x\ufffdy\u2400z',
      b: 'NaN',
      c: '1152921504606847000',
      d: { '\ufffd': 1, '\ufffd\ufffd': 2 },
    });
    expect(changes).toEqual({ text_repaired: 2, number_as_text: 2 });
  });

  it('valid text is not changed', () => {
    const changes = new Changes();
    expect(repair('fit 😀\n', changes)).toBe('fit 😀\n');
    expect(changes.counts.size).toBe(0);
  });

  it('the name __proto__ is kept like any other name', () => {
    const { metadata } = fitted({ a: JSON.parse('{"__proto__":{"x":1},"b":2}') });
    expect(canonicalize(metadata)).toBe('{"a":{"__proto__":{"x":1},"b":2}}');
  });

  it('imported metadata is always strict JSON, whatever the source contains', () => {
    const anything = fc.dictionary(
      fc.stringMatching(/^[a-z]{1,8}$/),
      fc.jsonValue({ noUnicodeString: false, maxDepth: 20 } as never),
      { maxKeys: 8 },
    );
    fc.assert(
      fc.property(anything, (source) => {
        const { metadata } = fitted(source);
        const text = canonicalize(metadata);
        expect(parseJson(Buffer.from(text))).toEqual(JSON.parse(text));
        expect(depth(metadata)).toBeLessThanOrEqual(limits.metadataDepth);
      }),
    );
  });
});

describe('imported names and actions', () => {
  const options = () => ({ fallback: 'unnamed', changes: new Changes() });
  it('imported names and actions are one line without control characters, of limited length', () => {
    expect(line(' a\tb\r\nc\u0085d ', 256, options())).toBe('a b c d');
    expect(line('\u0007', 256, options())).toBe('unnamed');
    expect(line('x'.repeat(256), 256, options())).toBe('x'.repeat(256));
    expect(line('x'.repeat(257), 256, options())).toBe(`${'x'.repeat(255)}…`);
  });
});
