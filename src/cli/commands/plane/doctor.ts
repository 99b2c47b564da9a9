/** `gov plane doctor`: exit 3 if a check failed. Tested by `test/cli/commands/plane/init.test.ts`. */
import { resolve } from 'node:path';
import type { Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import { printChecks } from '../../terminal/checks.ts';
import type { planeDoctor as spec } from '../../specs/operate/plane.ts';

export const run: Run<typeof spec> = async ({ flags, out, session, io }) => {
  const { data, ...options } = flags;
  const dataDir = resolve(io.cwd, data ?? session.dataDir());
  const { planeDoctor } = await import('../../../../plane/serve/doctor.ts');
  const report = await planeDoctor({ ...options, dataDir, env: io.env });
  out.verdict = report.ok ? exit.ok : exit.checkFailed;
  // a failing check may concern reports only, so the note does not say "it cannot serve"
  await printChecks(report, out, '');
  return out.verdict;
};
