/**
 * The template that a caller names: a built-in one, or a custom one of the project. Proven by
 * `test/service/reports/custom/handlers.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { ReportFormat } from '../../../contract/report-parts.ts';
import type { DocumentChange, StoredDocument } from '../../../store/port/store.ts';
import { notFound } from '../../call/answer.ts';
import type { Services } from '../../port/services.ts';
import { scheduleKind, type StoredSchedule } from '../schedules/stored.ts';
import { dataOf } from '../stored.ts';
import { templateOf } from '../templates/list.ts';
import type { Template } from '../templates/sections.ts';
import { runOf, templateKind, type StoredTemplate } from './stored.ts';

export interface KnownTemplate extends Pick<Template, 'title' | 'run'> {
  readonly reportTemplateId: string;
  /** Of a report that names none. */
  readonly formats: readonly ReportFormat[];
  readonly custom: { readonly document: StoredDocument; readonly stored: StoredTemplate } | null;
}

/** NOT_FOUND. */
export async function knownTemplate(
  { store }: Pick<Services, 'store'>,
  projectId: string,
  reportTemplateId: string,
): Promise<KnownTemplate> {
  const builtIn = templateOf(reportTemplateId);
  if (builtIn !== null) {
    const { title, run } = builtIn;
    return { reportTemplateId, title, ...(run === undefined ? {} : { run }), formats: ['pdf'], custom: null };
  }
  const document = await store.document(projectId, templateKind, reportTemplateId);
  if (document === null) throw notFound('report template');
  const stored = dataOf<StoredTemplate>(document);
  const { title, formats, sections } = stored;
  const run = runOf(sections);
  const custom = { document, stored };
  return { reportTemplateId, title, ...(run === undefined ? {} : { run }), formats, custom };
}

/**
 * Saves a custom template as it is, in the transaction of a schedule that uses it: then nobody deletes the template
 * meanwhile without reading the schedule.
 */
export function usesOf({ custom }: KnownTemplate): DocumentChange[] {
  if (custom === null) return [];
  const { projectId: _own, ...document } = custom.document;
  return [{ save: document }];
}

/** The schedules of a template, newest first. Cost: the schedules of the project. */
export async function schedulesOf(
  { store }: Pick<Services, 'store'>,
  projectId: string,
  reportTemplateId: string,
): Promise<{ readonly scheduleId: string; readonly stored: StoredSchedule }[]> {
  const all = await store.documents(projectId, { kind: scheduleKind }, { limit: limits.schedulesKept });
  return all
    .map((document) => ({ scheduleId: document.documentId, stored: dataOf<StoredSchedule>(document) }))
    .filter(({ stored }) => stored.reportTemplateId === reportTemplateId);
}
