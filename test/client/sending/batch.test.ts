import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Batcher, laneOf, type Batch, type BatcherOptions } from '../../../src/client/sending/batch.ts';
import { sendable } from '../../../src/cli/push/record.ts';
import { limits } from '../../../src/contract/limits.ts';
import type { Json } from '../../../src/core/json/parse.ts';
import { event, numbers } from '../../cli/push/service.ts';

const source = { index: 0, name: 'in' };
const options: BatcherOptions = { batchSize: 500, lanes: 1, keyPrefix: 'push-' };

function cut(events: readonly Json[], more: Partial<BatcherOptions> = {}, from = source): Batch[] {
  const batcher = new Batcher(from, { ...options, ...more });
  const batches = events.flatMap((each, position) => batcher.add(sendable(position + 1, each), position));
  return [...batches, ...batcher.flush()];
}
const sizes = (batches: readonly Batch[]): number[] => batches.map(({ events }) => events.length);
const bodyOf = ({ events }: Batch): Buffer => Buffer.from(JSON.stringify({ events }));

describe('batches', () => {
  it('a batch contains as many events as allowed, and one more starts a second batch', () => {
    expect(sizes(cut(numbers(500).map((n) => event(n))))).toEqual([500]);
    expect(sizes(cut(numbers(501).map((n) => event(n))))).toEqual([500, 1]);
    expect(
      sizes(
        cut(
          numbers(5).map((n) => event(n)),
          { batchSize: 2 },
        ),
      ),
    ).toEqual([2, 2, 1]);
    expect(cut([])).toEqual([]);
  });

  it('a batch fits the limit of a body to the byte', () => {
    const half = (limits.batchBodyBytes - '{"events":["",""]}'.length) / 2;
    const [a, b] = ['x'.repeat(Math.floor(half)), 'y'.repeat(Math.ceil(half))];
    const batches = cut([a, b]);
    expect(sizes(batches)).toEqual([2]);
    expect(bodyOf(batches[0]!).length).toBe(limits.batchBodyBytes);
    expect(sizes(cut([a, `${b}z`]))).toEqual([1, 1]);
  });

  it('a batch stays within the allowed number of values in a body', () => {
    const many = (count: number): Json => Array.from({ length: count - 1 }, () => 1);
    const room = limits.jsonValuesLarge - 2;
    expect(sizes(cut([many(room / 2), many(room / 2)]))).toEqual([2]);
    expect(sizes(cut([many(room / 2), many(room / 2 + 1)]))).toEqual([1, 1]);
    expect(sizes(cut(numbers(500).map(() => many(390))))).toEqual([500]);
  });

  it('a batch has the line of each event and the position of the last', () => {
    const [first, second] = cut(
      numbers(3).map((n) => event(n)),
      { batchSize: 2 },
    );
    expect(first).toMatchObject({ lines: [1, 2], last: 1, source: 0, sourceName: 'in', lane: 0 });
    expect(second).toMatchObject({ lines: [3], last: 2 });
  });
});

describe('idempotency keys', () => {
  const keys = (events: readonly Json[], more: Partial<BatcherOptions> = {}, from = source) =>
    cut(events, { batchSize: 2, ...more }, from).map(({ key }) => key);
  const same = [event(1), event(1), event(1), event(1)];

  it('idempotency keys are equal for equal input, and differ by place, content and source', () => {
    expect(keys(same)).toEqual(keys(same));
    expect(new Set(keys(same)).size).toBe(2);
    expect(keys([event(2), ...same.slice(1)])[0]).not.toBe(keys(same)[0]);
    expect(keys(same, {}, { index: 1, name: 'in' })).not.toEqual(keys(same));
    expect(keys(same, {}, { index: 0, name: 'moved' })).toEqual(keys(same));
  });

  it('idempotency keys are short visible ASCII with their prefix', () => {
    expect(keys(same, { keyPrefix: 'mine-' })[0]).toMatch(/^mine-[0-9a-f]{40}$/);
  });
});

describe('lanes', () => {
  it('lanes keep the events of a run together and in order', () => {
    const runs = fc.array(fc.record({ runId: fc.constantFrom('a', 'b', 'c', 'd', 'e'), n: fc.nat() }), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(
        runs,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 7 }),
        (events, lanes, batchSize) => {
          const batches = cut(events, { lanes, batchSize });
          const again = batches.toSorted((x, y) => x.lane - y.lane).flatMap((batch) => batch.events);
          for (const runId of 'abcde') {
            const own = (list: readonly Json[]) =>
              list.filter((each) => (each as { runId: string }).runId === runId);
            expect(own(again)).toEqual(own(events));
            expect(new Set(own(events).map((each) => laneOf(each, lanes))).size).toBeLessThanOrEqual(1);
          }
          expect(again.length).toBe(events.length);
        },
      ),
    );
  });

  it('values that are not events go to the first lane', () => {
    for (const value of [null, 7, 'x', [], {}, { runId: 7 }]) expect(laneOf(value, 4)).toBe(0);
  });
});
