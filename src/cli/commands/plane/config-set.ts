/** `gov plane config set`: whose configurations a plane takes, and what they count for. */
import { resolve } from 'node:path';
import type { Run } from '../../program/command.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeConfigSet as spec } from './config-spec.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const { key, projectId, policies, every } = flags;
  const given = {
    ...(policies === undefined ? {} : { policies }),
    ...(projectId === undefined ? {} : { projectId }),
    ...(key === undefined || key.length === 0 ? {} : { keys: key }),
    ...(every === undefined ? {} : { intervalSeconds: Math.round(every / 1000) }),
  };
  if (Object.keys(given).length === 0) {
    throw usage('nothing to set', 'give --policies, --project-id with --key, or --every');
  }
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { setPlaneConfig } = await import('../../../../plane/config/set.ts');
  const config = setPlaneConfig(dataDir, given);
  if (!out.isHuman) return out.one(config, plainView(Object.keys(config)));
  await out.lines(Object.entries(config).map(([name, value]) => safe`${name.padEnd(16)} ${String(value)}`));
  return out.note(safe`a plane that serves has it from its next start on`);
};
