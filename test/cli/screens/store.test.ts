import { expect, it } from 'vitest';
import { Store } from '../../../src/cli/screens/store.ts';

function counting() {
  let ms = 0;
  const timers: { readonly at: number; readonly call: () => void }[] = [];
  const store = new Store(0, (sum: number, add: number) => sum + add, {
    now: () => ms,
    after: (wait, call) => {
      const timer = { at: ms + wait, call };
      timers.push(timer);
      return () => void timers.splice(timers.indexOf(timer), 1);
    },
  });
  let heard = 0;
  store.subscribe(() => (heard += 1));
  const pass = (to: number): void => {
    ms = to;
    for (const timer of timers.filter(({ at }) => at <= to)) {
      timers.splice(timers.indexOf(timer), 1);
      timer.call();
    }
  };
  return { store, pass, heard: () => heard, waiting: () => timers.length };
}

it('the store tells listeners of the first change at once and of later ones at most ten times a second', () => {
  const { store, pass, heard } = counting();
  for (let ms = 0; ms < 1000; ms += 1) {
    pass(ms);
    store.dispatch(1);
  }
  expect(heard()).toBe(10);
  pass(1000);
  expect([heard(), store.get()]).toEqual([11, 1000]);
});

it('the store tells nobody of an event that changes nothing, or after its end', () => {
  const { store, pass, heard, waiting } = counting();
  store.dispatch(0);
  expect(heard()).toBe(0);
  store.dispatch(1);
  store.dispatch(1);
  expect(waiting()).toBe(1);
  store.close();
  pass(5000);
  expect([heard(), waiting()]).toEqual([1, 0]);
});
