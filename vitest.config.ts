import { defineConfig } from 'vitest/config';

// Tests run on two cores beside real daemons: a few forks, generous time-outs, no retries.
// GOV_TEST_REPORT names a file for the machine-readable report that .ci/run counts from.
const report = process.env['GOV_TEST_REPORT'];

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    setupFiles: ['test/setup.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
  },
});
