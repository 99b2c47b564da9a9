/** `gov report templates update ID`. Tested by `test/cli/commands/report/templates.test.ts`. */
import type { ReportTemplateUpdate } from '../../../contract/report-templates.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { membersOf, templateIn } from '../../reports/template.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import type { reportTemplatesUpdate as spec } from '../../specs/prove/report-templates.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session } = call;
  const { name, section, file, withoutIntroduction } = flags;
  const members = await membersOf(flags, call);
  if (withoutIntroduction && members.introduction !== undefined)
    throw usage('expected a text or --without-introduction, got both');
  const body = {
    ...(file === undefined ? {} : await templateIn(file, call)),
    ...members,
    ...(withoutIntroduction ? { introduction: null } : {}),
    ...(name === undefined ? {} : { name }),
    ...(section.length === 0 ? {} : { sections: [...section] }),
  };
  if (Object.keys(body).length === 0)
    throw usage('expected a change, such as --title TEXT or --section SECTION');
  const client = await session.client();
  const { body: template } = await client.updateReportTemplate({
    params: args,
    // the service checks the sections, and lists those that there are
    body: body as ReportTemplateUpdate,
  });
  await out.one(template, viewOf('updateReportTemplate'));
};
