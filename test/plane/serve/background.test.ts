/** Background work that is loaded after startup. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { lazyBackground } from '../../../plane/serve/background.ts';
import { silentLog } from '../../../src/service/call/log.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Work that records its calls, and whose loading ends when `loaded` is called. */
function recorded({ afterMs = 100, fails = false } = {}) {
  const calls: string[] = [];
  const errors: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  const work = lazyBackground(
    async () => {
      calls.push('load');
      await promise;
      if (fails) throw new Error('no such file');
      return () => ({
        start: () => void calls.push('start'),
        stop: async () => void calls.push('stop'),
        reasons: () => ['a reason'],
        metrics: () => ['a metric'],
      });
    },
    {
      afterMs,
      log: { ...silentLog, error: (_fields: object, text: string) => void errors.push(text) },
      failure: 'telemetry could not start',
    },
  );
  return { work, calls, errors, loaded: resolve };
}

it('loads background work only after its delay, and reports nothing before', async () => {
  const { work, calls, loaded } = recorded();
  work.start();
  await vi.advanceTimersByTimeAsync(99);
  expect([calls, work.reasons(), work.metrics?.()]).toEqual([[], [], []]);
  loaded();
  await vi.advanceTimersByTimeAsync(1);
  expect([calls, work.reasons(), work.metrics?.()]).toEqual([['load', 'start'], ['a reason'], ['a metric']]);
  await work.stop();
  expect(calls).toEqual(['load', 'start', 'stop']);
});

it('loads nothing when the plane stops before the delay is over', async () => {
  const { work, calls } = recorded();
  work.start();
  await work.stop();
  await vi.advanceTimersByTimeAsync(1000);
  expect(calls).toEqual([]);
});

it('creates nothing when the plane stops while the work is being loaded', async () => {
  const { work, calls, loaded } = recorded({ afterMs: 0 });
  work.start();
  await vi.advanceTimersByTimeAsync(0);
  const stopped = work.stop();
  loaded();
  await stopped;
  expect(calls).toEqual(['load']);
});

it('logs that background work could not be loaded, and stops all the same', async () => {
  const { work, errors, loaded } = recorded({ fails: true });
  work.start();
  loaded();
  await vi.advanceTimersByTimeAsync(100);
  expect(errors).toEqual(['telemetry could not start']);
  await work.stop();
});
