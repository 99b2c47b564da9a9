/** Turns flags and a file into the members of a custom template. Tested by `test/cli/commands/report/templates.test.ts`. */
import type { ReportFormat } from '../../contract/report-parts.ts';
import type { ReportTemplateInput } from '../../contract/report-templates.ts';
import { usage } from '../program/exit.ts';
import { objectOf, readInput, type InputIo } from '../terminal/input.ts';

interface Flags {
  readonly title: string | undefined;
  readonly description: string | undefined;
  readonly introduction: string | undefined;
  readonly introductionFile: string | undefined;
  readonly format: readonly ReportFormat[];
}

/** Members that were given, but for name and sections. Errors: exit 2. */
export async function membersOf(flags: Flags, place: InputIo) {
  const { title, description, introduction, introductionFile, format } = flags;
  if (introduction !== undefined && introductionFile !== undefined)
    throw usage('expected one of --introduction and --introduction-file, got both');
  const text = introductionFile === undefined ? introduction : await introductionIn(introductionFile, place);
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(text === undefined ? {} : { introduction: text }),
    ...(format.length === 0 ? {} : { formats: [...format] }),
  };
}

/** An editor ends a file with a line feed, and lines of Windows with two characters. */
async function introductionIn(file: string, place: InputIo): Promise<string> {
  const { bytes } = await readInput(file, place);
  return Buffer.from(bytes).toString().replaceAll('\r\n', '\n').trim();
}

/** The members of a file, as `gov report templates show -o json` prints them. The service checks them. */
export async function templateIn(file: string, place: InputIo): Promise<Partial<ReportTemplateInput>> {
  return objectOf(await readInput(file, place)) as Partial<ReportTemplateInput>;
}

/** Members of an answer that a new template does not take. */
const answered = new Set([
  'reportTemplateId',
  'builtIn',
  'requiresRun',
  'takesRun',
  'version',
  'definitionHash',
  'createdAt',
  'updatedAt',
]);

/** Without what belongs to the template that the file shows, so that a copy can be made of it. */
export const copied = (members: Partial<ReportTemplateInput>): Partial<ReportTemplateInput> =>
  Object.fromEntries(Object.entries(members).filter(([name]) => !answered.has(name)));
