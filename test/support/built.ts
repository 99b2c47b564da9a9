/**
 * Once per run of the tests, and before each run in watch mode: builds what is published. Tests of the tool start it as
 * processes, and threads under test load it (`vitest.config.ts`).
 */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { projectRoot } from '../paths.ts';

const build = (): void => {
  execFileSync(process.execPath, [join(projectRoot, 'scripts/build.ts')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
};

export const setup = (project: TestProject): void => {
  build();
  project.onTestsRerun(async () => build());
};
