import { defineConfig } from 'vitest/config';

// Tests run on two cores beside real daemons: a few forks, generous time-outs, no retries.
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
});
