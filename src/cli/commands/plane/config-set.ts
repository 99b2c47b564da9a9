/**
 * `gov plane config set`: whose configurations a plane accepts, and how their policies apply.
 * Tested by `test/cli/context/plane-directory.test.ts`.
 */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { safe } from '../../terminal/safe.ts';
import type { planeConfigSet as spec } from '../../specs/operate/plane.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const { key, projectId, policies, every, maxAge, anyAge } = flags;
  if (maxAge !== undefined && anyAge === true) throw usage('expected one of --max-age and --any-age');
  const given = {
    ...(policies === undefined ? {} : { policies }),
    ...(projectId === undefined ? {} : { projectId }),
    ...(key === undefined || key.length === 0 ? {} : { keys: key }),
    ...(every === undefined ? {} : { intervalSeconds: Math.round(every / 1000) }),
    ...(maxAge === undefined ? {} : { maxAgeSeconds: Math.round(maxAge / 1000) }),
    ...(anyAge === true ? { maxAgeSeconds: null } : {}),
  };
  if (Object.keys(given).length === 0) {
    throw usage(
      'expected a setting to change',
      'give --policies, --project-id with --key, --every, --max-age, or --any-age',
    );
  }
  const dataDir = resolve(io.cwd, flags.data ?? session.dataDir());
  const { refusesUntilConfigured, setPlaneConfig } = await import('../../../../plane/config/set.ts');
  const config = setPlaneConfig(dataDir, given);
  if (refusesUntilConfigured(dataDir, config)) {
    await out.warn(
      safe`this plane knows no service: it refuses every evaluation until it has a configuration. Enrol it, or remove the limit with --any-age`,
    );
  }
  if (!out.isHuman) return out.one(config, plainView(Object.keys(config)));
  await out.lines(Object.entries(config).map(([name, value]) => safe`${name.padEnd(16)} ${String(value)}`));
  return out.note(safe`a serving plane uses this after its next start`);
};
