import * as fc from 'fast-check';
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { Cursors, type CursorScope, type Position } from '../../../src/service/call/cursors.ts';
import { deriveSecrets } from '../../../src/service/call/secrets.ts';

const { cursorKey } = deriveSecrets(Buffer.alloc(32, 1));
const cursors = new Cursors(cursorKey, randomBytes);
const scope: CursorScope = {
  list: 'events',
  projectId: 'prj_a',
  filters: { runId: 'r', eventType: undefined },
};

const position: fc.Arbitrary<Position> = fc.oneof(
  fc.nat(),
  fc.record({ ms: fc.nat(), id: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$/) }),
);

describe('a cursor', () => {
  it('opens in its own list to the position it was sealed with, within its length', () => {
    fc.assert(
      fc.property(position, (place) => {
        const sealed = cursors.seal(scope, place);
        expect(sealed.length).toBeLessThanOrEqual(limits.cursorChars);
        expect(cursors.open(scope, sealed)).toEqual(place);
      }),
    );
  });

  it('is fresh each time and outlives a restart', () => {
    expect(cursors.seal(scope, 7)).not.toBe(cursors.seal(scope, 7));
    const again = new Cursors(deriveSecrets(Buffer.alloc(32, 1)).cursorKey, randomBytes);
    expect(again.open(scope, cursors.seal(scope, 7))).toBe(7);
    const other = new Cursors(deriveSecrets(Buffer.alloc(32, 2)).cursorKey, randomBytes);
    expect(() => other.open(scope, cursors.seal(scope, 7))).toThrow(/nextCursor/);
  });

  it('does not open for another list, tenant or filter; an absent filter is no filter', () => {
    const sealed = cursors.seal(scope, 7);
    const others: CursorScope[] = [
      { ...scope, list: 'runs' },
      { ...scope, projectId: 'prj_b' },
      { ...scope, filters: { runId: 's' } },
      { ...scope, filters: { runId: 'r', eventType: 'x' } },
      { ...scope, filters: {} },
    ];
    for (const other of others) expect(() => cursors.open(other, sealed)).toThrow(/nextCursor/);
    expect(cursors.open({ ...scope, filters: { runId: 'r' } }, sealed)).toBe(7);
  });

  it('with any bit flipped, cut or made up does not open', () => {
    const bytes = Buffer.from(cursors.seal(scope, 123_456), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(() => cursors.open(scope, flipped.toString('base64url'))).toThrow(/nextCursor/);
    }
    for (let length = 0; length < bytes.length; length += 1) {
      expect(() => cursors.open(scope, bytes.subarray(0, length).toString('base64url'))).toThrow(
        /nextCursor/,
      );
    }
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(() => cursors.open(scope, text)).toThrow(/nextCursor/);
      }),
    );
  });
});

describe('derived secrets', () => {
  it('differ by label and key, and fingerprints are keyed', () => {
    const one = deriveSecrets(Buffer.alloc(32, 1));
    const two = deriveSecrets(Buffer.alloc(32, 2));
    expect(one.fingerprint('x')).toBe(deriveSecrets(Buffer.alloc(32, 1)).fingerprint('x'));
    expect(one.fingerprint('x')).not.toBe(two.fingerprint('x'));
    expect(one.fingerprint('x')).not.toBe(one.fingerprint('y'));
    expect(one.fingerprint('x')).toMatch(/^[0-9a-f]{64}$/);
    expect(Buffer.from(one.cursorKey).equals(Buffer.from(two.cursorKey))).toBe(false);
  });
});
