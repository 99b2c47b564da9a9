/** `gov plane doctor`: exit 3 where a check failed. */
import { resolve } from 'node:path';
import type { Run } from '../../program/command.ts';
import { exit } from '../../program/exit.ts';
import { tellChecks } from '../../terminal/checks.ts';
import type { planeDoctor as spec } from './operate-spec.ts';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const { data, ...options } = flags;
  const dataDir = resolve(io.cwd, data ?? session.dataDir());
  const { planeDoctor } = await import('../../../../plane/serve/doctor.ts');
  const report = await planeDoctor({ ...options, dataDir, env: io.env });
  out.verdict = report.ok ? exit.ok : exit.checkFailed;
  // what stops reports stops nothing else
  await tellChecks(report, out, '');
  return out.verdict;
};
