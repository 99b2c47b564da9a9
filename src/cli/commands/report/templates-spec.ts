/** Commands of gov report templates, as data. Tested by `test/cli/commands/report/templates.test.ts`. */
import { limits } from '../../../contract/limits.ts';
import { reportFormats } from '../../../contract/report-parts.ts';
import { command } from '../../program/spec.ts';

const reportTemplateId = { name: 'reportTemplateId', description: 'Custom template, such as tpl_…' } as const;

const members = {
  title: {
    type: 'string',
    value: 'TEXT',
    maxLength: limits.reportTitleChars,
    description: 'Title of its reports; default: its name',
  },
  description: {
    type: 'string',
    value: 'TEXT',
    maxLength: limits.reportTemplateDescriptionChars,
    description: 'The question that its reports answer',
  },
  introduction: {
    type: 'string',
    value: 'TEXT',
    maxLength: limits.reportTemplateIntroductionChars,
    description: 'Plain text of the first section',
  },
  introductionFile: {
    type: 'string',
    value: 'FILE',
    description: 'File with that text; an empty line begins a paragraph; - is standard input',
  },
  format: {
    type: 'strings',
    separator: ',',
    choices: reportFormats,
    value: 'A,B',
    description: 'Formats of a report that names none; default: pdf',
  },
  file: {
    type: 'string',
    value: 'FILE',
    description: 'JSON of a template, as show -o json prints it; flags win; - is standard input',
  },
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
    section: {
      type: 'strings',
      separator: ',',
      value: 'SECTION',
      description: 'Section; several with commas',
    },
    from: { type: 'string', value: 'TEMPLATE', description: 'Begin with this template' },
    without: {
      type: 'strings',
      separator: ',',
      value: 'SECTION',
      description: 'Not this section of --from or --file',
    },
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
    name: {
      type: 'string',
      value: 'NAME',
      maxLength: limits.reportTemplateNameChars,
      description: 'New name',
    },
    section: {
      type: 'strings',
      separator: ',',
      value: 'SECTION',
      description: 'Section; several with commas',
    },
    ...members,
    withoutIntroduction: { type: 'boolean', description: 'Remove the introduction' },
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
