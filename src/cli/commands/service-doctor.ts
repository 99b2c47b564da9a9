/** `gov service doctor`: exit 3 where a check failed. */
import type { Run } from '../command.ts';
import { exit } from '../exit.ts';
import { tellChecks } from '../serviceoutput.ts';
import type { serviceDoctor as spec } from '../specs/service.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { data: dataDir, ...options } = flags;
  const { doctor } = await import('../../host/doctor.ts');
  const report = await doctor({ ...options, dataDir, env: io.env });
  out.verdict = report.ok ? exit.ok : exit.checkFailed;
  await tellChecks(report, out);
  return out.verdict;
};
