/** Runs before each test file: a warning of the process (a leak, a deprecation) fails the run. */
import { afterAll } from 'vitest';

const fail = (warning: Error): never => {
  throw warning;
};
process.on('warning', fail);
afterAll(() => void process.off('warning', fail));
