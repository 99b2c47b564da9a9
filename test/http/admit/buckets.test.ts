import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Buckets } from '../../../src/http/admit/buckets.ts';

const buckets = (options: Partial<ConstructorParameters<typeof Buckets>[0]> = {}) => {
  const clock = { ms: 5000 };
  const made = new Buckets({ perSecond: 10, burst: 20, most: 1000, nowMs: () => clock.ms, ...options });
  return { made, clock };
};

/** How many of so many requests at once are let in. */
const letIn = (made: Buckets, name: string, count: number): number =>
  Array.from({ length: count }, () => made.take(name)).filter(({ taken }) => taken).length;

describe('a bucket', () => {
  it('lets a burst in, and no more than that', () => {
    expect(letIn(buckets().made, 'a', 21)).toBe(20);
  });

  it('fills up as fast as it is told, and not above its burst', () => {
    const { made, clock } = buckets();
    letIn(made, 'a', 20);
    clock.ms += 99;
    expect(letIn(made, 'a', 5)).toBe(0);
    clock.ms += 1;
    expect(letIn(made, 'a', 5)).toBe(1);
    clock.ms += 1000;
    expect(letIn(made, 'a', 50)).toBe(10);
    clock.ms += 3_600_000;
    expect(letIn(made, 'a', 50)).toBe(20);
  });

  it('is its own: others are not emptied with it', () => {
    const { made } = buckets();
    letIn(made, 'a', 30);
    expect(made.take('b')).toEqual({ taken: true, left: 19, waitSeconds: 1 });
  });

  it('can be looked at without taking from it', () => {
    const { made } = buckets({ burst: 1 });
    expect([made.look('a').taken, made.look('a').taken, made.take('a').taken]).toEqual([true, true, true]);
    expect([made.look('a').taken, made.take('a').taken]).toEqual([false, false]);
  });

  it('says how long to wait, and after that there is one', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0.01, max: 5000, noNaN: true }),
        fc.integer({ min: 1, max: 500 }),
        fc.array(fc.integer({ min: 0, max: 3000 }), { maxLength: 20 }),
        (perSecond, burst, pauses) => {
          const { made, clock } = buckets({ perSecond, burst });
          for (const pause of pauses) {
            letIn(made, 'a', 3);
            clock.ms += pause;
          }
          letIn(made, 'a', burst);
          let level = made.take('a');
          while (level.taken) level = made.take('a');
          clock.ms += level.waitSeconds * 1000;
          return made.take('a').taken;
        },
      ),
    );
  });

  it('never lets more in than burst and rate allow, however requests are spread', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 400 }), { maxLength: 200 }), (pauses) => {
        const { made, clock } = buckets();
        const startMs = clock.ms;
        let taken = 0;
        for (const pause of pauses) {
          clock.ms += pause;
          if (made.take('a').taken) taken += 1;
        }
        return taken <= 20 + ((clock.ms - startMs) / 1000) * 10 + 1e-6;
      }),
    );
  });

  it('is dropped once too many others were used after it, so that memory is bounded', () => {
    const { made } = buckets({ most: 100, burst: 1 });
    made.take('first');
    for (let at = 0; at < 10_000; at++) {
      made.take(`attacker ${at}`);
      made.take('regular');
      expect(made.size).toBeLessThanOrEqual(100);
    }
    expect(made.take('first').taken).toBe(true);
    expect(made.take('regular').taken).toBe(false);
  });
});
