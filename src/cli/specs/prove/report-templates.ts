/** Commands of gov report templates, as data. Tested by `test/cli/commands/report/templates.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { reportFormats } from '../../../contract/report-parts.ts';
import { command, flag } from '../../program/spec.ts';

const reportTemplateId = { name: 'reportTemplateId', description: 'Custom template, such as tpl_…' } as const;

const members = {
  title: flag.text('TEXT', 'Title of its reports; default: its name', { maxLength: limits.reportTitleChars }),
  description: flag.text('TEXT', 'The question that its reports answer', {
    maxLength: limits.reportTemplateDescriptionChars,
  }),
  introduction: flag.text('TEXT', 'Plain text of the first section', {
    maxLength: limits.reportTemplateIntroductionChars,
  }),
  introductionFile: flag.text(
    'FILE',
    'File with that text; an empty line begins a paragraph; - is standard input',
  ),
  format: flag.list('A,B', 'Formats of a report that names none; default: pdf', {
    separator: ',',
    choices: reportFormats,
  }),
  file: flag.text('FILE', 'JSON of a template, as show -o json prints it; flags win; - is standard input'),
} as const;

export const reportTemplatesCreate = command({
  name: 'report templates create',
  prints: '=createReportTemplate',
  summary: 'Create a custom template from sections of the built-in ones',
  changes: true,
  details: [
    'A report has the sections in the order in which you name them. gov report sections lists them. --from takes the sections, the description and the introduction of another template; --section adds to them, and --without takes some out.',
    'A report of a custom template proves what the built-in ones prove. It names the version and the hash of the template, so it still verifies after you change or delete the template.',
  ],
  args: [{ name: 'name', description: 'What people call it; not needed with --file', optional: true }],
  flags: {
    section: flag.list('SECTION', 'Section; several with commas', { separator: ',' }),
    from: flag.text('TEMPLATE', 'Begin with this template'),
    without: flag.list('SECTION', 'Not this section of --from or --file', { separator: ',' }),
    ...members,
  },
  examples: [
    'gov report templates create "Board pack" --section executive-summary/summary --section decisions-exceptions/approvals',
    'gov report templates create "Run file" --from run-evidence --without run-evidence/proofs --introduction "For the file of the case."',
    'gov report templates create --file template.json',
  ],
});

export const reportTemplatesUpdate = command({
  name: 'report templates update',
  prints: '=updateReportTemplate',
  summary: 'Change a custom template; what you do not name stays, and so do its reports',
  changes: true,
  details: ['A section replaces all sections of the template.'],
  args: [reportTemplateId],
  flags: {
    name: flag.text('NAME', 'New name', { maxLength: limits.reportTemplateNameChars }),
    section: flag.list('SECTION', 'Section; several with commas', { separator: ',' }),
    ...members,
    withoutIntroduction: flag.on('Remove the introduction'),
  },
  examples: [
    'gov report templates update tpl_01jq3v5k8hf7wb3c9x2m4n6p8r --title "Board pack 2027" --format pdf,json',
    'gov report templates update tpl_01jq3v5k8hf7wb3c9x2m4n6p8r --section executive-summary/summary,tool-access/tools',
  ],
  exitCodes: { 6: 'a schedule could make no report with these sections, or the template is built in' },
});

export const reportTemplatesDelete = command({
  name: 'report templates delete',
  prints: 'none',
  summary: 'Delete a custom template that no schedule uses; its reports stay',
  changes: true,
  args: [reportTemplateId],
  examples: ['gov report templates delete tpl_01jq3v5k8hf7wb3c9x2m4n6p8r --yes'],
  exitCodes: { 6: 'a schedule uses it, or it is built in' },
});
