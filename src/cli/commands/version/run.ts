/** `gov version`. Tested by `test/cli/main.test.ts`. */
import { build, version, versionLine } from '../../../client/version.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { version as spec } from '../../specs/tool/version.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ out }) => {
  const value = {
    version,
    build,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  };
  if (out.isHuman || out.format === 'tsv') await out.line(safe`${versionLine}`);
  else await out.one(value, plainView(['version', 'node', 'platform', 'build']));
};
