/** `gov report templates create [NAME]`. Tested by `test/cli/commands/report/templates.test.ts`. */
import type { Client } from '../../../client/create.ts';
import type { ReportTemplateInput } from '../../../contract/report-templates.ts';
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { copied, membersOf, templateIn } from '../../reports/template.ts';
import { viewOf } from '../../terminal/answer-view.ts';
import { safe } from '../../terminal/safe.ts';
import type { reportTemplatesCreate as spec } from '../../specs/prove/report-templates.ts';

export const run: Run<typeof spec> = async (call) => {
  const { args, flags, out, session, settings } = call;
  const { from, file, section, without } = flags;
  if (from !== undefined && file !== undefined) throw usage('expected one of --from and --file, got both');
  const given = await membersOf(flags, call);
  const read = file === undefined ? {} : copied(await templateIn(file, call));
  const name = args.name ?? read.name;
  if (name === undefined)
    throw usage('expected a name', 'gov report templates create "Board pack" --section SECTION');
  const client = await session.client();
  const begin = from === undefined ? read : await begun(client, from);
  // a file may lack them, or have other JSON there: the service says so
  const sections = Array.isArray(begin.sections) ? begin.sections : [];
  const refused = without.find((id) => !(sections as readonly string[]).includes(id));
  if (refused !== undefined)
    throw usage(
      `--without: expected one of ${sections.join(', ') || 'the sections of --from or --file'}, got ${JSON.stringify(refused)}`,
    );
  const chosen = [...new Set<string>([...sections, ...section])].filter((id) => !without.includes(id));
  if (chosen.length === 0 && file === undefined)
    throw usage('expected --section SECTION or --from TEMPLATE', 'see what there is: gov report sections');
  const { body } = await client.createReportTemplate({
    body: {
      ...begin,
      ...given,
      name,
      // the service checks them, and lists those that there are
      ...(chosen.length === 0 ? {} : { sections: chosen }),
    } as ReportTemplateInput,
    idempotencyKey: settings.idempotencyKey,
  });
  await out.one(body, viewOf('createReportTemplate'));
  if (out.isHuman) await out.note(safe`make a report: gov report create ${shellWord(body.reportTemplateId)}`);
};

/** What a new template takes of another one: not its name and title. */
async function begun(client: Client, reportTemplateId: string): Promise<Partial<ReportTemplateInput>> {
  const { body } = await client.getReportTemplate({ params: { reportTemplateId } });
  const { sections, description, introduction, formats } = body;
  return { sections: sections as ReportTemplateInput['sections'], description, introduction, formats };
}
