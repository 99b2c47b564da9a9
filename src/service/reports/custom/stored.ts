/**
 * Custom templates of reports as documents (`src/store/port/documents.ts`). The version of a definition is in the data: a
 * schedule that begins to use the template saves its document, too. Proven by `test/service/reports/custom/handlers.test.ts`.
 */
import type { ReportFormat } from '../../../contract/report-parts.ts';
import type { ReportTemplateBody } from '../../../contract/report-templates.ts';
import { templateOfSection, type ReportSectionId } from '../../../contract/report-words.ts';
import type { ReportTemplate } from '../../../core/reports/model.ts';
import { templateHash } from '../../../core/reports/template-hash.ts';
import { formatTimestamp } from '../../../core/time.ts';
import type { StoredDocument } from '../../../store/port/store.ts';
import { dataOf } from '../stored.ts';
import { templates } from '../templates/list.ts';
import type { Template } from '../templates/sections.ts';

export const templateKind = 'report_template';

export interface StoredTemplate extends ReportTemplate {
  readonly description: string;
  readonly sections: readonly ReportSectionId[];
  readonly formats: readonly ReportFormat[];
  readonly updatedMs: number;
}

/** What a report keeps of its template. */
export const definitionOf = ({
  version,
  name,
  title,
  introduction,
  sections,
}: StoredTemplate): ReportTemplate => ({
  version,
  name,
  title,
  introduction,
  sections,
});

/** A report is about one run where a section is, and may be about one where a section can. */
export function runOf(sections: readonly ReportSectionId[]): Template['run'] {
  const runs = sections.map((id) => templates[templateOfSection(id)].run);
  return runs.includes('required') ? 'required' : runs.find((run) => run !== undefined);
}

export function templateBody(document: StoredDocument): ReportTemplateBody {
  const stored = dataOf<StoredTemplate>(document);
  const { name, title, description, introduction, sections, formats, version, updatedMs } = stored;
  const run = runOf(sections);
  return {
    reportTemplateId: document.documentId,
    builtIn: false,
    name,
    title,
    description,
    introduction,
    sections: [...sections],
    formats: [...formats],
    requiresRun: run === 'required',
    takesRun: run !== undefined,
    version,
    definitionHash: templateHash(stored),
    createdAt: formatTimestamp(document.createdMs),
    updatedAt: formatTimestamp(updatedMs),
  };
}
