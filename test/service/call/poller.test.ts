import { afterEach, expect, it, vi } from 'vitest';
import { silentLog } from '../../../src/service/call/log.ts';
import { Poller } from '../../../src/service/call/poller.ts';

const opened: Poller[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(opened.splice(0).map((poller) => poller.stop()));
});

function pollerOf(poll: () => Promise<unknown>, { everyMs = 3_600_000, log = silentLog } = {}): Poller {
  const poller = new Poller({ everyMs, poll, log, failed: 'nothing could be claimed' });
  opened.push(poller);
  return poller;
}

it('a wake during a poll causes one more poll after it, however often it comes', async () => {
  const polls: PromiseWithResolvers<void>[] = [];
  const poller = pollerOf(() => {
    const poll = Promise.withResolvers<void>();
    polls.push(poll);
    return poll.promise;
  });
  poller.start();
  expect(polls).toHaveLength(1);
  poller.wake();
  poller.wake();
  expect(polls).toHaveLength(1);
  polls[0]!.resolve();
  await expect.poll(() => polls.length).toBe(2);
  polls[1]!.resolve();
  await poller.stop();
  expect(polls).toHaveLength(2);
});

it('a wake at the moment when a poll ends is not lost', async () => {
  let polls = 0;
  const poller = pollerOf(async () => {
    polls += 1;
  });
  for (let turns = 0; turns < 20; turns += 1) {
    const before = polls;
    poller.wake();
    for (let ticks = 0; ticks < turns; ticks += 1) await Promise.resolve();
    poller.wake();
    await expect.poll(() => polls).toBeGreaterThan(before);
  }
  await poller.stop();
  poller.wake();
  expect(poller.isStopped).toBe(true);
});

it('a failure is logged once, and again after a poll that succeeded', async () => {
  const logged: string[] = [];
  const log = { ...silentLog, error: (_: unknown, message: string) => void logged.push(message) };
  const outcomes = ['down', 'down', '', 'down'];
  let polls = 0;
  const poller = pollerOf(
    () => {
      const outcome = outcomes[polls++] ?? '';
      return outcome === '' ? Promise.resolve() : Promise.reject(new Error(outcome));
    },
    { everyMs: 1, log },
  );
  poller.start();
  await expect.poll(() => polls).toBeGreaterThan(4);
  expect(logged).toEqual(['nothing could be claimed', 'nothing could be claimed']);
});

it('stop waits for the poll that runs, and no poll follows', async () => {
  const poll = Promise.withResolvers<void>();
  let polls = 0;
  const poller = pollerOf(() => {
    polls += 1;
    return poll.promise;
  });
  poller.start();
  const stopped = poller.stop();
  poller.wake();
  poll.resolve();
  await stopped;
  expect(polls).toBe(1);
});

it('the first poll follows the start when the queue says, and each next one the end of the one before', async () => {
  vi.useFakeTimers();
  const polls: PromiseWithResolvers<void>[] = [];
  const poll = () => {
    const made = Promise.withResolvers<void>();
    polls.push(made);
    return made.promise;
  };
  const poller = new Poller({ everyMs: 10, firstAfterMs: 30, poll, log: silentLog, failed: '' });
  poller.start();
  await vi.advanceTimersByTimeAsync(29);
  expect(polls).toHaveLength(0);
  await vi.advanceTimersByTimeAsync(100);
  expect(polls).toHaveLength(1);
  polls[0]!.resolve();
  await vi.advanceTimersByTimeAsync(9);
  expect(polls).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(polls).toHaveLength(2);
  polls[1]!.resolve();
  await poller.stop();
});

it('a poller that is woken without a start polls once', async () => {
  vi.useFakeTimers();
  let polls = 0;
  const poller = pollerOf(async () => void (polls += 1), { everyMs: 10 });
  poller.wake();
  await vi.advanceTimersByTimeAsync(100);
  expect(polls).toBe(1);
});
