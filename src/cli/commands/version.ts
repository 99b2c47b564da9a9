/** `gov version`. */
import { version } from '../../client/version.ts';
import type { Run } from '../command.ts';
import { safe } from '../safe.ts';
import type { version as spec } from '../specs/general.ts';
import { plainView } from '../view.ts';

export const run: Run<typeof spec> = async ({ out }) => {
  const value = { version, node: process.versions.node, platform: `${process.platform}-${process.arch}` };
  if (out.isHuman || out.format === 'tsv') await out.line(safe`gov ${version}`);
  else await out.one(value, plainView(['version', 'node', 'platform']));
};
