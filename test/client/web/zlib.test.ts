import { deflateSync, inflateSync as ofNode } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inflateSync } from '../../../src/client/web/zlib.ts';

/** The content, and whether bytes follow the stream. */
const shown = ({ buffer, engine }: ReturnType<typeof inflateSync>, length: number): string =>
  `${Buffer.from(buffer).toString('hex')}${engine.bytesWritten < length ? ' and more' : ''}`;

const open = (of: typeof inflateSync, bytes: Uint8Array, maxOutputLength = 1 << 20): string | null => {
  try {
    return shown(of(bytes, { maxOutputLength, info: true }), bytes.length);
  } catch {
    return null;
  }
};
const both = (bytes: Uint8Array, most?: number): (string | null)[] => [
  open(inflateSync, bytes, most),
  open(ofNode as unknown as typeof inflateSync, bytes, most),
];

describe('inflating without Node', () => {
  it('content of any length and level comes back as in Node', () => {
    for (const length of [0, 1, 3799, 3800, 3801, 200_000]) {
      const content = Buffer.alloc(length, 'a report, ');
      for (const level of [0, 1, 6, 9])
        expect(both(deflateSync(content, { level }))).toEqual(Array(2).fill(content.toString('hex')));
    }
  });

  it('a stream with any changed byte, and one that is cut, is refused exactly where Node refuses it', () => {
    const stream = deflateSync(Buffer.from('figures '.repeat(40)), { level: 9 });
    for (let at = 0; at < stream.length; at++) {
      const changed = Buffer.from(stream);
      changed[at]! ^= 0x11;
      const [one, other] = both(changed);
      expect(one, `byte ${at}`).toBe(other);
      expect(both(stream.subarray(0, at)), `cut at ${at}`).toEqual([null, null]);
    }
  });

  it('bytes after the stream are reported or refused, also a copy of its checksum', () => {
    const stream = deflateSync(Buffer.from('figures '.repeat(40)), { level: 9 });
    expect(both(Buffer.concat([stream, Buffer.from('hidden')]))[0]).toBeNull();
    const copied = both(Buffer.concat([stream, stream.subarray(-4)]));
    expect(copied[0]).toMatch(/ and more$/);
    expect(copied[0]).toBe(copied[1]);
  });

  it('content of at most as many bytes as allowed is returned, and one more is refused early', () => {
    const stream = deflateSync(Buffer.alloc(50_000_000));
    expect(both(stream, 49_999_999)).toEqual([null, null]);
    const small = deflateSync(Buffer.alloc(1000));
    expect(both(small, 1000)[0]).toHaveLength(2000);
    expect(both(small, 999)).toEqual([null, null]);
  });

  it('random bytes are refused and never returned', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => open(inflateSync, bytes) === null));
  });
});
