import { describe, expect, it } from 'vitest';
import type { Batch } from '../../../src/client/sending/batch.ts';
import { pump, type PumpOptions } from '../../../src/client/sending/pump.ts';
import { MemoryQueue, type BatchQueue } from '../../../src/client/sending/queue.ts';
import { limits } from '../../../src/contract/limits.ts';
import { apiError, event, FakeService, numbers, unreachable } from '../../cli/push/service.ts';

const batch = (n: number, lane = 0): Batch => ({
  key: `k${n}`,
  lane,
  source: 0,
  sourceName: 'in',
  lines: [n + 1],
  events: [event(n)],
  positions: [n],
  last: n,
});

function options(queue: BatchQueue, service: FakeService, more: Partial<PumpOptions> = {}): PumpOptions {
  return {
    queue,
    sink: service,
    lanes: 1,
    retries: 0,
    signal: new AbortController().signal,
    inputEnded: new AbortController().signal,
    delivered: async () => {},
    waiting: () => {},
    ...more,
  };
}

/** A queue that says it is durable, which is all that the pump asks. */
class Durable extends MemoryQueue {
  override readonly durable = true as never;
}

describe('the pump', () => {
  it('the pump sends each lane in order, and lanes in parallel', async () => {
    const queue = new MemoryQueue(2);
    const service = new FakeService();
    // the first lane's first request waits for the second lane's: side by side, or never
    let open = (): void => {};
    const other = new Promise<void>((resolve) => (open = resolve));
    service.before = (_request, [first]) => {
      if ((first as { metadata: { n: number } }).metadata.n === 1) open();
      else return other;
    };
    const sent = pump(options(queue, service, { lanes: 2 }));
    for (const n of numbers(6)) await queue.put(batch(n, n % 2));
    queue.close();
    await sent;
    const even = service.keys.filter((key) => Number(key.slice(1)) % 2 === 0);
    expect(even).toEqual(['k0', 'k2', 'k4']);
    expect(service.keys.length).toBe(6);
  });

  it('the pump makes the reader wait while a lane in memory is full', async () => {
    const queue = new MemoryQueue(1);
    for (const n of numbers(limits.pushQueuedBatches)) await queue.put(batch(n));
    let put = false;
    const waiting = queue.put(batch(9)).then(() => (put = true));
    await new Promise(setImmediate);
    expect(put).toBe(false);
    queue.close();
    await pump(options(queue, new FakeService()));
    await waiting;
    expect(put).toBe(true);
  });

  it('the pump stops at a failure, and the reader stops too', async () => {
    const queue = new MemoryQueue(2);
    const service = new FakeService();
    service.before = () => {
      throw unreachable();
    };
    const sent = pump(options(queue, service, { lanes: 2 }));
    const failed = expect(sent).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    for (const n of numbers(10)) await queue.put(batch(n, 0));
    await failed;
    expect(service.recorded).toEqual([]);
  });

  it('the pump with a durable queue waits for the service, and gives up after one attempt past the input', async () => {
    const queue = new Durable(1);
    const service = new FakeService();
    const ended = new AbortController();
    const waits: unknown[] = [];
    service.before = (request) => {
      if (request === 3) ended.abort();
      throw unreachable();
    };
    await queue.put(batch(0));
    queue.close();
    const waiting = (failure: unknown): void => {
      waits.push(failure);
      // the pause ends with the input
      if (waits.length === 1) ended.abort();
    };
    await expect(pump(options(queue, service, { inputEnded: ended.signal, waiting }))).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    });
    expect(waits.length).toBe(1);
    expect(service.keys).toEqual(['k0', 'k0']);
  });

  it('the pump continues when the service is back', async () => {
    const queue = new Durable(1);
    const service = new FakeService();
    const ended = new AbortController();
    service.before = (request) => {
      if (request === 1) throw unreachable();
    };
    await queue.put(batch(0));
    await queue.put(batch(1));
    queue.close();
    await pump(options(queue, service, { inputEnded: ended.signal, waiting: () => ended.abort() }));
    expect(service.keys).toEqual(['k0', 'k0', 'k1']);
    expect(service.recorded.length).toBe(2);
  });

  it('the pump does not wait for an error that waiting cannot repair', async () => {
    const queue = new Durable(1);
    const service = new FakeService();
    service.before = () => {
      throw apiError('INVALID_CREDENTIAL', 401);
    };
    await queue.put(batch(0));
    await expect(pump(options(queue, service))).rejects.toMatchObject({ code: 'INVALID_CREDENTIAL' });
  });

  it('the pump ends at the signal with its reason', async () => {
    const queue = new MemoryQueue(1);
    const stop = new AbortController();
    const service = new FakeService();
    service.before = () => stop.abort(new Error('enough'));
    await queue.put(batch(0));
    await expect(pump(options(queue, service, { signal: stop.signal }))).rejects.toThrow('enough');
  });
});
