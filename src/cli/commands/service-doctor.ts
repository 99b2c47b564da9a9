/** `gov service doctor`: exit 3 where a check failed. */
import type { Run } from '../command.ts';
import { exit } from '../exit.ts';
import { safe } from '../safe.ts';
import { told } from '../serviceoutput.ts';
import type { serviceDoctor as spec } from '../specs/service.ts';
import { plainView } from '../view.ts';

export const run: Run<typeof spec> = async ({ flags, out, io }) => {
  const { data: dataDir, ...options } = flags;
  const { doctor } = await import('../../host/doctor.ts');
  const report = await doctor({ ...options, dataDir, env: io.env });
  out.verdict = report.ok ? exit.ok : exit.checkFailed;
  const { checks, ok } = report;
  if (out.isHuman) {
    await out.lines(told(checks, out.styles));
    const worst = checks.filter(({ status }) => status === 'fail').length;
    await out.note(
      ok ? safe`it can serve` : safe`it cannot serve: ${worst} of ${checks.length} checks failed`,
    );
  } else if (out.format === 'tsv' || out.format === 'csv') {
    await out.table(
      checks.map((each) => ({ ...each })),
      columns,
    );
  } else await out.one(report, plainView(Object.keys(report)));
  return out.verdict;
};

const { columns } = plainView(['name', 'status', 'detail', 'advice']);
