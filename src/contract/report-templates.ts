/** Templates of reports: the built-in ones, and custom ones, which choose sections of them (contract L4, L19). */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { formatList, reportFormats, reportTitle, templateId } from './report-parts.ts';
import { reportSectionIds } from './report-words.ts';
import { resource } from './resource.ts';
import {
  cursorQuery,
  exact,
  limitQuery,
  nullable,
  oneOf,
  readOnly,
  sha256Hash,
  timestamp,
} from './shapes.ts';
import { linePattern, namePattern, textPattern } from './text-patterns.ts';

const name = Type.String({
  minLength: 1,
  maxLength: limits.reportTemplateNameChars,
  pattern: namePattern,
  description: 'What people call it',
});
const sections = Type.Array(oneOf(reportSectionIds), {
  minItems: 1,
  maxItems: limits.reportTemplateSections,
  uniqueItems: true,
  description: 'In the order of the report; GET /reporting/sections lists them',
});
const title = Type.String({ ...reportTitle, description: 'Title of its reports; default: its name' });
const description = Type.String({
  maxLength: limits.reportTemplateDescriptionChars,
  pattern: linePattern,
  description: 'The question that its reports answer',
});
const introduction = nullable(
  Type.String({
    minLength: 1,
    maxLength: limits.reportTemplateIntroductionChars,
    pattern: textPattern,
    description: 'Plain text of the first section; an empty line begins a paragraph',
  }),
);
const formats = Type.Array(oneOf(reportFormats), {
  ...formatList,
  description: 'Formats of a report that names none; default: pdf',
});

const Input = exact({
  name,
  sections,
  title: Type.Optional(title),
  description: Type.Optional(description),
  introduction: Type.Optional(introduction),
  formats: Type.Optional(formats),
});
export type ReportTemplateInput = Static<typeof Input>;

const Template = Type.Object({
  reportTemplateId: Type.String(),
  builtIn: Type.Boolean({ description: 'Whether gov brings it; then nobody can change it' }),
  name: Type.String(),
  title: Type.String(),
  description: Type.String(),
  introduction: nullable(Type.String()),
  sections: Type.Array(Type.String()),
  formats: Type.Array(oneOf(reportFormats)),
  requiresRun: Type.Boolean({ description: 'Whether parameters.runId is required' }),
  takesRun: Type.Boolean({ description: 'Whether parameters.runId is allowed' }),
  version: nullable(
    Type.Integer({ minimum: 1, description: 'Each change adds 1; null for a built-in template' }),
  ),
  definitionHash: nullable(
    Type.String({
      ...sha256Hash,
      description:
        'SHA-256 of its name, title, introduction and sections as canonical JSON; its reports and the log have the same; null for a built-in template',
    }),
  ),
  createdAt: nullable(timestamp('When it was created; null for a built-in template')),
  updatedAt: nullable(timestamp('When it was last changed; null for a built-in template')),
});
export type ReportTemplateBody = Static<typeof Template>;

const Update = exact({
  ...Type.Partial(Input).properties,
  reportTemplateId: readOnly,
  builtIn: readOnly,
  requiresRun: readOnly,
  takesRun: readOnly,
  version: readOnly,
  definitionHash: readOnly,
  createdAt: readOnly,
  updatedAt: readOnly,
});
export type ReportTemplateUpdate = Partial<ReportTemplateInput>;

const Section = Type.Object({
  sectionId: Type.String(),
  title: Type.String(),
  reportTemplateId: Type.String({ description: 'The built-in template that builds it' }),
  tables: Type.Array(Type.String({ description: 'Title of a table' })),
  requiresRun: Type.Boolean({ description: 'Whether its report is about one run' }),
});

const params = exact({ reportTemplateId: templateId });
const row = { tag: 'Reporting', stability: 'beta', origin: 'extension' } as const;
const template = resource({
  ...row,
  path: '/reporting/templates',
  params,
  item: Template,
  reads: 'reporting:read',
  writes: 'reporting:write',
});

export const reportTemplates = {
  listReportTemplates: template.list({
    command: 'report templates list',
    summary: 'List the templates of reports: built-in ones, then custom ones, newest first',
    query: exact({ cursor: cursorQuery, limit: limitQuery(limits.pageMax, limits.pageMax) }),
    statuses: [400, 401, 402, 403, 500],
  }),
  createReportTemplate: template.create({
    summary: 'Create a custom template from sections of the built-in ones',
    body: Input,
    statuses: [400, 401, 402, 403, 409, 500],
  }),
  getReportTemplate: template.get({
    command: 'report templates show',
    summary: 'Get a template of reports, with its sections',
    tagged: true,
    statuses: [401, 402, 403, 404, 500],
  }),
  updateReportTemplate: template.update({
    summary: 'Change members of a custom template; the others stay, and so do its reports',
    body: Update,
    statuses: [400, 401, 402, 403, 404, 409, 500],
  }),
  deleteReportTemplate: template.delete({
    summary: 'Delete a custom template that no schedule uses; its reports stay',
    ifMatch: true,
    statuses: [401, 402, 403, 404, 409, 500],
  }),
  listReportSections: operation({
    ...row,
    scope: 'reporting:read',
    method: 'GET',
    path: '/reporting/sections',
    command: 'report sections',
    summary: 'List the sections that a custom template may choose',
    success: { 200: Type.Object({ data: Type.Array(Section) }) },
    statuses: [401, 402, 403, 500],
  }),
} as const;
