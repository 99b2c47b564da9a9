/** `gov service doctor`: exit 3 if a check failed. Tested by `test/cli/commands/service/serve.test.ts`. */
import type { Run } from '../../context/command.ts';
import { exit } from '../../program/exit.ts';
import { printChecks } from '../../terminal/checks.ts';
import type { serviceDoctor as spec } from '../../specs/operate/service.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { data: dataDir, ...options } = flags;
  const { doctor } = await import('../../../host/service/doctor.ts');
  const report = await doctor({ ...options, dataDir, env: io.env });
  out.verdict = report.ok ? exit.ok : exit.checkFailed;
  await printChecks(report, out);
  return out.verdict;
};
