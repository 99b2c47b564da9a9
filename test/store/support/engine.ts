/** The engine that the store suite runs against in this test file. */
import type { Store } from '../../../src/store/port/store.ts';
import type { HandClock } from './fixture.ts';

interface Opened {
  readonly store: Store;
  readonly clock: HandClock;
  /** Closes the store and opens the same data again. */
  reopen(): Promise<Store>;
  /** Closes and removes everything. */
  drop(): Promise<void>;
}

/** A store that is empty but for project `prj_a`. */
export type Open = () => Promise<Opened>;

let current: Open | undefined;

/** Once in a process: the tests of the suite are told to vitest while its modules load, which they do once. */
export const setEngine = (open: Open): void => {
  if (current !== undefined)
    throw new Error('expected a process of its own: see `alone` in vitest.config.ts');
  current = open;
};

export const open: Open = () => {
  if (current === undefined) throw new Error('no engine was set');
  return current();
};
