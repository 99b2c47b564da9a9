/**
 * Runs once before all tests. Names the test files that run in part only because a folder outside the repository is
 * missing; with GOV_TEST_REQUIRED=1, as `.ci/run` sets it, a missing folder fails the run.
 */
import { globSync, readFileSync } from 'node:fs';
import { hasData, hasVectors, projectRoot } from '../paths.ts';

const folders = [
  { name: 'the official test vectors', flag: 'hasVectors', isThere: hasVectors, variable: 'GOV_VECTORS' },
  { name: 'the recorded runs', flag: 'hasData', isThere: hasData, variable: 'GOV_DATA' },
];

export const setup = (): void => {
  for (const { name, flag, isThere, variable } of folders) {
    if (isThere) continue;
    const needing = globSync('test/**/*.test.ts', { cwd: projectRoot }).filter((path) =>
      readFileSync(`${projectRoot}/${path}`, 'utf8').includes(flag),
    );
    if (process.env['GOV_TEST_REQUIRED'] === '1') {
      throw new Error(
        `expected ${name} for ${needing.length} test files, found none; set ${variable} to their folder`,
      );
    }
    for (const path of needing.toSorted())
      console.log(`skipped in part, needs ${name} (${variable}): ${path}`);
  }
};
