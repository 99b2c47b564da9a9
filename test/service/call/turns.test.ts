import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { Turns, type Turn } from '../../../src/service/call/turns.ts';

afterEach(() => void vi.useRealTimers());

/** Turns of lanes that are names. `end` ends the oldest turn of a lane that runs. */
function turnsOf(atOnce: number) {
  const begun: string[] = [];
  const running: { lane: string; turn: PromiseWithResolvers<Turn> }[] = [];
  const turns = new Turns<string>({
    atOnce,
    now: () => Date.now(),
    turn: (lane) => {
      const turn = Promise.withResolvers<Turn>();
      begun.push(lane);
      running.push({ lane, turn });
      return turn.promise;
    },
  });
  const end = async (lane: string, left: Turn): Promise<void> => {
    const at = running.findIndex((each) => each.lane === lane);
    running.splice(at, 1)[0]!.turn.resolve(left);
    await nextTurn(); // the end of the turn takes effect
  };
  return { turns, begun, end };
}

it('at most so many lanes run at once, in the order in which they asked', async () => {
  const { turns, begun, end } = turnsOf(2);
  for (const lane of ['a', 'b', 'c', 'd', 'c']) turns.wake(lane);
  expect(begun).toEqual(['a', 'b']);
  await end('b', { next: 'wait' });
  expect(begun).toEqual(['a', 'b', 'c']);
  await end('a', { next: 'again' });
  expect(begun).toEqual(['a', 'b', 'c', 'd']);
  await end('c', { next: 'wait' });
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'a']);
  expect(['a', 'b', 'c', 'd'].filter((lane) => turns.isIdle(lane))).toEqual(['b', 'c']);
});

it('a wake during a turn causes one more turn after it', async () => {
  const { turns, begun, end } = turnsOf(1);
  turns.wake('a');
  turns.wake('a');
  turns.wake('a');
  await end('a', { next: 'wait' });
  expect(begun).toEqual(['a', 'a']);
  await end('a', { next: 'wait' });
  expect(begun).toEqual(['a', 'a']);
  expect(turns.isIdle('a')).toBe(true);
});

it('a lane that waits for its time is not woken earlier', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] });
  const { turns, begun, end } = turnsOf(1);
  turns.wake('a');
  await end('a', { next: 'later', atMs: Date.now() + 1000 });
  turns.wake('a');
  await vi.advanceTimersByTimeAsync(999);
  expect(begun).toEqual(['a']);
  await vi.advanceTimersByTimeAsync(1);
  expect(begun).toEqual(['a', 'a']);
});

it('stop waits for the turns that run, and no turn follows', async () => {
  const { turns, begun, end } = turnsOf(2);
  for (const lane of ['a', 'b', 'c']) turns.wake(lane);
  let isStopped = false;
  const stopped = turns.stop().then(() => (isStopped = true));
  await end('a', { next: 'again' });
  expect(isStopped).toBe(false);
  await end('b', { next: 'later', atMs: 0 });
  await stopped;
  turns.wake('d');
  expect(begun).toEqual(['a', 'b']);
});
