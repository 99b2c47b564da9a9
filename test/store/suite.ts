/**
 * What every engine of the store port must do, told through the port alone. `storeSuite(name, open)` runs it
 * against one engine; `open` gives an empty store, and can open the same data again.
 */
import { describe } from 'vitest';
import type { Store } from '../../src/store/port.ts';
import type { HandClock } from './fixture.ts';
import { appendSuite } from './suite/append.ts';
import { checkpointSuite } from './suite/checkpoints.ts';
import { jobSuite } from './suite/jobs.ts';
import { readSuite } from './suite/reads.ts';
import { repeatSuite } from './suite/repeats.ts';
import { workSuite } from './suite/work.ts';

export interface Opened {
  readonly store: Store;
  readonly clock: HandClock;
  /** Closes the store and opens the same data again. */
  reopen(): Promise<Store>;
  /** Closes and removes everything. */
  drop(): Promise<void>;
}

/** An empty store, with project `prj_a` made where `project` is not false. */
export type Open = (options?: { readonly project?: false }) => Promise<Opened>;

export function storeSuite(name: string, open: Open): void {
  describe(`the store port on ${name}`, () => {
    appendSuite(open);
    repeatSuite(open);
    readSuite(open);
    workSuite(open);
    jobSuite(open);
    checkpointSuite(open);
  });
}
