/** `gov report templates delete ID`. Tested by `test/cli/commands/report/templates.test.ts`. */
import { confirm } from '../../terminal/ask.ts';
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { reportTemplatesDelete as spec } from '../../specs/prove/report-templates.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, out, session } = call;
  await confirm(`this deletes the template ${args.reportTemplateId}; its reports stay`, '--yes', call);
  const client = await session.client();
  await client.deleteReportTemplate({ params: args });
  await out.note(safe`deleted ${args.reportTemplateId}`);
};
