import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { defineConfig } from 'vitest/config';
import { watchdog } from './test/support/watchdog/stuck.ts';

// Tests run on two cores beside real daemons, and often wait for them: three forks, generous time-outs, no retries.
// GOV_TEST_REPORT names a file for the machine-readable report that .ci/run counts from.
const report = process.env['GOV_TEST_REPORT'];

// Threads and child processes load TypeScript, which takes most of their start where Node strips and compiles it again.
process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, 'node_modules/.cache/compiled');

// Groups by file suffix:
//   *.engines.test.ts  runs twice: on SQLite, and on PostgreSQL by test/support/on-postgres.ts
//   *.alone.test.ts    runs in a process of its own: it measures memory, reads prepared statements, or loads a whole suite
//   *.long.test.ts     takes long (every step of a commit fails, disks fill, stories of several services, fuzzing, waits): `npm run test:long` runs these alone
// All other files share three processes, since loading the project takes longer than most of them run.
const isLong = process.env['GOV_TEST_LONG'] !== undefined;
const built = (name: string): string => pathToFileURL(join(import.meta.dirname, 'dist', name)).href;
const setup = 'test/support/setup.ts';

// each file in a process of its own: two of them load the whole suite of the store
const longProjects = [
  {
    name: 'long',
    include: ['test/**/*.long.test.ts'],
    exclude: ['test/**/*.alone.long.test.ts'],
    setupFiles: [setup],
  },
  {
    name: 'long-postgres',
    include: ['test/**/*.engines.long.test.ts'],
    setupFiles: [setup, 'test/support/on-postgres.ts'],
  },
  // after all others: they assert times
  {
    name: 'long-alone',
    include: ['test/**/*.alone.long.test.ts'],
    setupFiles: [setup],
    maxWorkers: 1,
    sequence: { groupOrder: 1 },
  },
].map((test) => ({ extends: true as const, test: { ...test, isolate: true } }));

/** A plugin that changes one text of one source while tests run; a source without the text ends the run. */
const changed = (name: string, file: string, from: string, to: string) => ({
  name,
  enforce: 'pre' as const,
  transform: (code: string, id: string) => {
    if (!id.endsWith(file)) return null;
    if (!code.includes(from)) throw new Error(`expected ${file} to contain ${from}`);
    return code.replace(from, to);
  },
});

/** Threads run what is published: they load one built file instead of hundreds of sources, and tests start ten times as many. */
const builtThreads = {
  name: 'built-threads',
  enforce: 'pre' as const,
  transform: (code: string, id: string) =>
    id.includes('/src/')
      ? code
          .replace(
            `new URL('./thread.ts', import.meta.url)`,
            `new URL(${JSON.stringify(built('writer.cjs'))})`,
          )
          .replace(
            `new URL('./worker.ts', import.meta.url)`,
            `new URL(${JSON.stringify(built('worker.js'))})`,
          )
      : null,
};

/** Each start of a store writes the reserve for a full disk, which took a fifth of the start: here it is a small one. */
const smallReserve = changed(
  'small-reserve',
  '/src/store/sqlite/store.ts',
  'reserveBytes = limits.diskReserveBytes',
  'reserveBytes = 2 ** 20',
);

/** A process of tests keeps what hundreds of files left in its memory, and a server in it would refuse requests for it. */
const noMemoryLimit = changed(
  'no-memory-limit',
  '/src/http/admit/overload.ts',
  '?? limits.memoryBytes',
  '?? Infinity',
);

export default defineConfig({
  plugins: [builtThreads, noMemoryLimit, ...(isLong ? [] : [smallReserve])],
  // the examples import the library as a program does
  resolve: {
    alias: [
      { find: /^gov$/, replacement: join(import.meta.dirname, 'src/client/index.ts') },
      { find: /^gov\/verify$/, replacement: join(import.meta.dirname, 'src/client/verify.ts') },
    ],
  },
  test: {
    pool: 'forks',
    maxWorkers: 3,
    // of tests that wait for processes of their own, such as the pages of the documentation
    maxConcurrency: 3,
    // Worker threads that load TypeScript strip its types by WebAssembly, whose calls to JavaScript V8 compiles anew after
    // a thousand; in Node 24 that now and then frees what another thread has freed, and the process ends with SIGSEGV.
    // What is published is bundled JavaScript and has no part in it.
    execArgv: ['--wasm-wrapper-tiering-budget=2000000000'],
    globalSetup: [
      'test/support/temporary.ts',
      'test/support/required.ts',
      'test/support/built.ts',
      'test/store/postgres/support/shared.ts',
    ],
    testTimeout: 60_000,
    // one second by default, which a busy machine needs for the start of a process
    expect: { poll: { timeout: 20_000 } },
    hookTimeout: 60_000,
    reporters: report === undefined ? ['default'] : ['default', ['json', { outputFile: report }], watchdog()],
    isolate: false,
    projects: isLong
      ? longProjects
      : [
          {
            extends: true,
            test: {
              name: 'own',
              include: ['test/**/*.test.ts'],
              exclude: ['test/**/*.{alone,long}.test.ts'],
              setupFiles: [setup],
            },
          },
          {
            extends: true,
            test: {
              name: 'alone',
              include: ['test/**/*.alone.test.ts'],
              isolate: true,
              setupFiles: [setup],
            },
          },
          {
            extends: true,
            test: {
              name: 'postgres',
              include: ['test/**/*.engines.test.ts'],
              setupFiles: [setup, 'test/support/on-postgres.ts'],
            },
          },
        ],
  },
});
