import { join } from 'node:path';
import { defineConfig } from 'vitest/config';

// Tests run on two cores beside real daemons: a few forks, generous time-outs, no retries.
// GOV_TEST_REPORT names a file for the machine-readable report that .ci/run counts from.
const report = process.env['GOV_TEST_REPORT'];

// Threads and child processes load TypeScript, which takes most of their start where it is stripped and compiled anew.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

// What a plane does on SQLite, a hosted service does on PostgreSQL: these run a second time with test/onpostgres.ts.
const onBoth = [
  'service/events',
  'service/proofs',
  'service/graphs',
  'service/logread',
  'service/policies',
  'service/policylists',
  'service/evaluate',
  'service/simulate',
  'service/snapshots',
  'service/risk',
  'service/tools',
  'service/approvals',
  'service/compliance',
  'service/replays',
  'service/jobs',
  'http/idempotency',
  'http/stream',
];

// These begin in a process of their own: they measure its memory, look at the statements that it has prepared, or load
// tests that every engine is put to. All others share two processes, since loading the project anew takes longer than most
// of them run.
const alone = [
  'core/replay/collector',
  'http/unsent',
  'store/tenantstatements',
  'store/sqlite',
  'store/thread',
  'store/sealed',
  'store/postgres',
  'store/postgres/sealed',
  'store/postgres/statements',
];

// What takes longest: each step of a commit, a build, a rotation failing or killed, disks filled, ninety days without the
// service, each byte of a bundle flipped, each row altered, each export of all real runs, downloads cut after seconds.
// `npm run test:long` runs these alone; .ci/run has not the time on a slow machine.
const long = [
  'cli/device',
  'host/tamperreceipts',
  'host/tampertenants',
  'http/downloadended',
  'plane/configcrash',
  'plane/exportsfull',
  'plane/full',
  'plane/rotatecrash',
  'plane/rotateserving',
  'plane/telemetrykill',
  'plane/telemetryoutage',
  'plane/witnessed',
  'real/airline',
  'real/bytes',
  'real/exports',
  'service/exportaltered',
  'service/exportfull',
  'service/exportkilled',
  'service/exportpruned',
  'service/exportsnapshot',
  'service/policylimits',
  'store/faults',
  'store/faultserased',
  'store/faultssubjects',
  'store/recentlogs',
  'store/rewrite',
];
const isLong = process.env['GOV_TEST_LONG'] !== undefined;
const files = (names: readonly string[]) => names.map((name) => `test/${name}.test.ts`);

const longProject = {
  extends: true as const,
  test: { name: 'long', include: files(long), setupFiles: ['test/setup.ts'] },
};

export default defineConfig({
  test: {
    pool: 'forks',
    maxWorkers: 2,
    // Worker threads that load TypeScript strip its types by WebAssembly, whose calls to JavaScript V8 compiles anew after
    // a thousand; in Node 24 that now and then frees what another thread has freed, and the process ends with SIGSEGV.
    // What is published is bundled JavaScript and has no part in it.
    execArgv: ['--wasm-wrapper-tiering-budget=2000000000'],
    globalSetup: ['test/built.ts', 'test/store/postgres/shared.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }]],
    isolate: false,
    projects: isLong
      ? [longProject]
      : [
          {
            extends: true,
            test: {
              name: 'own',
              include: ['test/**/*.test.ts'],
              exclude: files([...alone, ...long]),
              setupFiles: ['test/setup.ts'],
            },
          },
          {
            extends: true,
            test: { name: 'alone', include: files(alone), isolate: true, setupFiles: ['test/setup.ts'] },
          },
          {
            extends: true,
            test: {
              name: 'postgres',
              include: files(onBoth),
              setupFiles: ['test/setup.ts', 'test/onpostgres.ts'],
            },
          },
        ],
  },
});
