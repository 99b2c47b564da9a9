/** Runs before each test file: a warning of the process (a leak, a deprecation) fails the run. */
import { afterAll, expect } from 'vitest';
import { syncBuiltinESMExports } from 'node:module';
import os from 'node:os';
import { makeVisible } from './watchdog/stuck.ts';

makeVisible(expect.getState().testPath ?? '');

const fail = (warning: Error): never => {
  throw warning;
};
process.on('warning', fail);
afterAll(() => void process.off('warning', fail));

// Many tests let time pass by setting the clock ahead or back. To a serving process that is as if the machine had slept;
// otherwise it would not follow (`src/host/process/steady-clock.ts`).
os.uptime = () => Date.now() / 1000;
syncBuiltinESMExports();
