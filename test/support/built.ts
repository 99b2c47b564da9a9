/** Once per run of the tests: builds what is published, which the tests of the tool start as processes. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { projectRoot } from '../paths.ts';

export const setup = (): void => {
  execFileSync(process.execPath, [join(projectRoot, 'scripts/build.ts')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
};
