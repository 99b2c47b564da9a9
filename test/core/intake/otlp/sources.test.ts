import { describe, expect, it } from 'vitest';
import {
  extendSequence,
  extendSource,
  observed,
  sourceId,
  sourceNameOf,
  type SequenceState,
} from '../../../../src/core/intake/otlp/sources.ts';

describe('the numbers of a session', () => {
  /** The state and the count of missing numbers after requests with these numbers. */
  const after = (...requests: number[][]) => {
    let state: SequenceState | null = null;
    let missing = 0;
    for (const numbers of requests) {
      const extended = extendSequence(state, numbers);
      state = extended.state;
      missing += extended.missing;
    }
    return { ...state, missing };
  };

  it('have no gap in any order, and none when they come twice', () => {
    expect(after([0, 1, 2], [3])).toEqual({ next: 4, gaps: [], missing: 0 });
    expect(after([3, 1, 0, 2])).toEqual({ next: 4, gaps: [], missing: 0 });
    expect(after([0, 1], [0, 1], [1, 2])).toEqual({ next: 3, gaps: [], missing: 0 });
  });

  it('have a gap until the late ones come, whichever part of it they close', () => {
    expect(after([0, 4])).toEqual({ next: 5, gaps: [[1, 3]], missing: 3 });
    expect(after([0, 4], [2])).toEqual({
      next: 5,
      gaps: [
        [1, 1],
        [3, 3],
      ],
      missing: 2,
    });
    expect(after([0, 4], [2], [3, 1])).toEqual({ next: 5, gaps: [], missing: 0 });
    expect(after([2])).toEqual({ next: 3, gaps: [[0, 1]], missing: 2 });
  });

  it('agree with counting them, in any order and any requests', () => {
    let seed = 7;
    const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
    for (let round = 0; round < 200; round++) {
      const requests = Array.from({ length: 5 }, () => Array.from({ length: random(6) }, () => random(20)));
      const seen = new Set(requests.flat());
      const last = Math.max(-1, ...seen);
      const { missing } = after(...requests);
      expect(missing, JSON.stringify(requests)).toBe(last + 1 - seen.size);
    }
  });

  it('are bounded: a jump is another numbering, and many gaps keep their count', () => {
    expect(after([0, 5_000_000])).toEqual({ next: 5_000_001, gaps: [], missing: 0 });
    expect(after([0, -1, 1.5, NaN, 1])).toEqual({ next: 2, gaps: [], missing: 0 });
    const odd = after(Array.from({ length: 1000 }, (_, n) => 2 * n + 1));
    expect([odd.gaps?.length, odd.missing]).toEqual([200, 1000]);
  });
});

describe('a source', () => {
  it('is named by service and instance, without control characters, and unknown without a name', () => {
    expect(sourceNameOf({ 'service.name': 'a\u0007b', 'service.instance.id': 'i' })).toEqual({
      service: 'a b',
      instance: 'i',
    });
    expect(sourceNameOf({ 'service.name': 7 })).toEqual({ service: 'unknown_service', instance: null });
    const ids = [sourceId({ service: 'a', instance: null }), sourceId({ service: 'a', instance: 'null' })];
    expect(new Set(ids).size).toBe(2);
  });

  it('adds up its requests, and takes the smallest delay as the difference of the clocks', () => {
    const name = { service: 'a', instance: null };
    const first = extendSource(null, { ...observed(name), kept: 2, missing: 1, newestMs: 900 }, 1000);
    expect(first).toMatchObject({ firstSeenMs: 1000, lastSeenMs: 1000, kept: 2, missing: 1, offsetMs: 100 });
    const second = extendSource(first, { ...observed(name), kept: 1, missing: -1, newestMs: 1990 }, 2000);
    expect(second).toMatchObject({ firstSeenMs: 1000, lastSeenMs: 2000, kept: 3, missing: 0, offsetMs: 10 });
    expect(extendSource(second, observed(name), 3000).offsetMs).toBe(10);
  });
});
