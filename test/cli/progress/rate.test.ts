import { array, assert, nat, property, tuple } from 'fast-check';
import { expect, it } from 'vitest';
import { Rate } from '../../../src/cli/progress/rate.ts';

it('a steady growth gives its exact rate from the first sample on', () => {
  const rate = new Rate();
  rate.add(100, 0);
  expect(rate.perSecond).toBeNull();
  for (let ms = 200; ms <= 10_000; ms += 200) {
    rate.add(100 + ms * 2, ms);
    expect(rate.perSecond).toBeCloseTo(2000, 6);
  }
});

it('a stall lowers the rate step by step, and growth raises it again', () => {
  const rate = new Rate();
  rate.add(0, 0);
  rate.add(10_000, 10_000);
  expect(rate.perSecond).toBeCloseTo(1000, 6);
  rate.add(10_000, 11_000);
  expect(rate.perSecond).toBeGreaterThan(700);
  rate.add(10_000, 40_000);
  expect(rate.perSecond).toBeGreaterThan(0);
  expect(rate.perSecond).toBeLessThan(5);
  rate.add(20_000, 50_000);
  expect(rate.perSecond).toBeGreaterThan(800);
});

it('a value that falls starts a new measurement, so that no rate is negative', () => {
  const rate = new Rate();
  rate.add(5000, 0);
  rate.add(6000, 1000);
  rate.add(10, 2000);
  expect(rate.perSecond).toBeNull();
  rate.add(110, 3000);
  expect(rate.perSecond).toBeCloseTo(100, 6);
  const samples = array(tuple(nat(1e9), nat(5000)), { maxLength: 40 });
  assert(
    property(samples, (values) => {
      const any = new Rate();
      let ms = 0;
      for (const [value, later] of values) {
        any.add(value, (ms += later));
        expect(any.perSecond ?? 0).toBeGreaterThanOrEqual(0);
        expect(any.perSecond ?? 0).toBeLessThan(Infinity);
      }
    }),
  );
});
