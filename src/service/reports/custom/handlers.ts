/**
 * Handlers of templates (contract L4, L19): list, create, show, change, delete; and the sections to choose from. A report keeps
 * the definition that it was made by, so a change touches no earlier report. Proven by
 * `test/service/reports/custom/handlers.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { reportFormats } from '../../../contract/report-parts.ts';
import type { ReportTemplateBody, ReportTemplateInput } from '../../../contract/report-templates.ts';
import {
  reportSectionIds,
  reportTemplateIds,
  templateOfSection,
  type ReportTemplateId,
} from '../../../contract/report-words.ts';
import { typeId } from '../../../core/id.ts';
import { canonicalText } from '../../../core/json/canonical.ts';
import type { DocumentChange, StoredDocument } from '../../../store/port/store.ts';
import { notFound, type PlainAnswer, type ReplayedResponse } from '../../call/answer.ts';
import type { Caller } from '../../call/caller.ts';
import type { Handlers } from '../../port/handler.ts';
import { idempotencyWrite, type Idempotency } from '../../call/idempotency.ts';
import type { Position } from '../../call/cursors.ts';
import { byAge, listPage, pageLimit } from '../../call/pages.ts';
import { refuseReadOnly } from '../../call/schema.ts';
import type { Services } from '../../port/services.ts';
import { append } from '../../writes/append.ts';
import { requireReporting } from '../entitlement.ts';
import { dataOf } from '../stored.ts';
import { sectionOf, templateOf, templates } from '../templates/list.ts';
import { templateChanged } from './events.ts';
import { schedulesOf } from './known.ts';
import { persistently } from '../persistently.ts';
import { runOf, templateBody, templateKind, type StoredTemplate } from './stored.ts';

export const reportTemplates: Pick<
  Handlers,
  | 'listReportTemplates'
  | 'createReportTemplate'
  | 'getReportTemplate'
  | 'updateReportTemplate'
  | 'deleteReportTemplate'
  | 'listReportSections'
> = {
  /** Without a limit it is one page, which is what clients without pages expect (contract D5). */
  async listReportTemplates({ query, caller }, services) {
    await requireReporting(services, caller.project);
    const { projectId } = caller.project;
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'report-templates', projectId, filters: {} },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageMax, limits.pageMax),
      read: async ({ after, limit }: { after?: Position; limit: number }): Promise<ListedTemplate[]> => {
        const own = typeof after === 'object' ? { after } : {};
        const start = typeof after === 'object' ? builtIns.length : (after ?? -1) + 1;
        const first = builtIns.slice(start, start + limit);
        if (first.length === limit) return first;
        const rest = { ...own, limit: limit - first.length };
        const custom = await services.store.documents(projectId, { kind: templateKind }, rest);
        return [...first, ...custom.map(listedCustom)];
      },
      position: ({ place }) => place,
    });
    return { status: 200, body: { data: rows.map(({ body }) => body), nextCursor } };
  },

  async createReportTemplate({ body, caller, basePath, idempotency }, services) {
    await requireReporting(services, caller.project);
    const { projectId } = caller.project;
    const nowMs = services.now();
    const stored = storedOf({ ...absent, title: body.name, ...body }, { version: 1, nowMs });
    const document: StoredDocument = {
      projectId,
      kind: templateKind,
      documentId: typeId('tpl', nowMs, services.randomBytes(10)),
      key: null,
      parentId: null,
      status: 'active',
      createdMs: nowMs,
      dueMs: null,
      version: 0,
      data: JSON.stringify(stored),
    };
    const answer = {
      status: 201,
      body: templateBody(document),
      headers: {
        location: `${basePath}/reporting/templates/${document.documentId}`,
        ...etag(stored),
      },
    } as const;
    const replayed = await change(services, {
      what: 'created',
      document,
      caller,
      changes: [{ save: withoutProject(document), most: limits.reportTemplatesKept }],
      idempotency,
      answer,
    });
    return replayed ?? answer;
  },

  async getReportTemplate({ params, caller }, services) {
    await requireReporting(services, caller.project);
    const { reportTemplateId } = params;
    if (isBuiltIn(reportTemplateId)) return { status: 200, body: builtInBody(reportTemplateId) };
    const found = await find(services, caller, reportTemplateId);
    return { status: 200, body: templateBody(found), headers: etag(dataOf<StoredTemplate>(found)) };
  },

  async updateReportTemplate({ params, body, caller, ifMatch }, services) {
    await requireReporting(services, caller.project);
    return persistently('template', async () => {
      const found = await findCustom(services, caller, params.reportTemplateId);
      const before = dataOf<StoredTemplate>(found);
      requireVersion(ifMatch, before);
      const { name, title, description, introduction, sections: chosen, formats, ...others } = body;
      const sent = Object.entries(others).filter(([, value]) => value !== undefined);
      refuseReadOnly(Object.fromEntries(sent), templateBody(found));
      const given = { name, title, description, introduction, sections: chosen, formats };
      const named = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const next = { version: before.version + 1, nowMs: services.now() };
      const stored = storedOf({ ...membersOf(before), ...named }, next);
      // nothing changed: no version, no event
      if (isSame(before, stored)) return { status: 200, body: templateBody(found), headers: etag(before) };
      await requireSameRun(services, found, { before, stored });
      const document = { ...found, data: JSON.stringify(stored) };
      await change(services, {
        what: 'updated',
        document,
        caller,
        changes: [{ save: withoutProject(document) }],
      });
      return { status: 200, body: templateBody(document), headers: etag(stored) };
    });
  },

  async deleteReportTemplate({ params, caller, ifMatch }, services) {
    await requireReporting(services, caller.project);
    return persistently('template', async () => {
      const document = await findCustom(services, caller, params.reportTemplateId);
      requireVersion(ifMatch, dataOf<StoredTemplate>(document));
      const { projectId, kind, documentId, version } = document;
      const users = await schedulesOf(services, projectId, documentId);
      if (users.length > 0)
        throw new GovError(
          'CONFLICT',
          `expected a template that no schedule uses, but ${named(users)}; give the schedule another template, or delete it`,
        );
      await change(services, {
        what: 'deleted',
        document,
        caller,
        changes: [{ remove: { kind, documentId, version } }],
      });
      return { status: 204, body: null };
    });
  },

  async listReportSections({ caller }, services) {
    await requireReporting(services, caller.project);
    const data = reportSectionIds.map((sectionId) => {
      const reportTemplateId = templateOfSection(sectionId);
      const { title, tables = [] } = sectionOf(sectionId);
      return {
        sectionId,
        title,
        reportTemplateId,
        tables: tables.map((table) => table.title),
        requiresRun: templates[reportTemplateId].run === 'required',
      };
    });
    return { status: 200, body: { data } };
  },
};

const absent = { description: '', introduction: null, formats: ['pdf' as const] };

const isBuiltIn = (id: string): id is ReportTemplateId => templateOf(id) !== null;

function builtInBody(reportTemplateId: ReportTemplateId): ReportTemplateBody {
  const { title, summary, run } = templates[reportTemplateId];
  return {
    reportTemplateId,
    builtIn: true,
    name: title,
    title,
    description: summary,
    introduction: null,
    sections: reportSectionIds.filter((id) => templateOfSection(id) === reportTemplateId),
    formats: ['pdf'],
    requiresRun: run === 'required',
    takesRun: run !== undefined,
    version: null,
    definitionHash: null,
    createdAt: null,
    updatedAt: null,
  };
}

interface ListedTemplate {
  /** Of a built-in template its number, of a custom one its age. */
  readonly place: Position;
  readonly body: ReportTemplateBody;
}
const builtIns = reportTemplateIds.map((id, place): ListedTemplate => ({ place, body: builtInBody(id) }));
const listedCustom = (document: StoredDocument): ListedTemplate => ({
  place: byAge(document.createdMs, document.documentId),
  body: templateBody(document),
});

const withoutProject = ({
  projectId: _own,
  ...document
}: StoredDocument): Omit<StoredDocument, 'projectId'> => document;

async function find({ store }: Services, { project }: Caller, id: string): Promise<StoredDocument> {
  const found = await store.document(project.projectId, templateKind, id);
  if (found === null) throw notFound('report template');
  return found;
}

/** NOT_FOUND; CONFLICT for a built-in template. */
async function findCustom(services: Services, caller: Caller, id: string): Promise<StoredDocument> {
  if (isBuiltIn(id))
    throw new GovError(
      'CONFLICT',
      `expected a custom template, got ${id}, which is built in and cannot be changed or deleted; create your own from its sections: gov report templates create NAME --from ${id}`,
    );
  return find(services, caller, id);
}

const membersOf = ({
  name,
  title,
  description,
  introduction,
  sections: chosen,
  formats,
}: StoredTemplate): Required<ReportTemplateInput> => ({
  name,
  title,
  description,
  introduction,
  sections: [...chosen],
  formats: [...formats],
});

const storedOf = (
  input: Required<ReportTemplateInput>,
  { version, nowMs }: { readonly version: number; readonly nowMs: number },
): StoredTemplate => ({
  ...input,
  // in one order, as in a report
  formats: reportFormats.filter((format) => input.formats.includes(format)),
  version,
  updatedMs: nowMs,
});

const isSame = (one: StoredTemplate, other: StoredTemplate): boolean =>
  canonicalText(membersOf(one)) === canonicalText(membersOf(other));

const named = ([first, ...others]: Awaited<ReturnType<typeof schedulesOf>>): string => {
  const more = others.length === 0 ? '' : ` and ${others.length} more use it`;
  return `${first?.scheduleId} (${first?.stored.name})${more === '' ? ' uses it' : more}`;
};

/** CONFLICT where a schedule could no longer make its reports: sections of one run need one, and others refuse it. */
async function requireSameRun(
  services: Services,
  { projectId, documentId }: StoredDocument,
  { before, stored }: { readonly before: StoredTemplate; readonly stored: StoredTemplate },
): Promise<void> {
  const run = runOf(stored.sections);
  if (run === runOf(before.sections)) return;
  const users = await schedulesOf(services, projectId, documentId);
  const broken = users.filter(({ stored: { runId } }) =>
    run === 'required' ? runId === null : run === undefined && runId !== null,
  );
  if (broken.length === 0) return;
  const what = run === 'required' ? 'need a run, which it does not name' : 'take no run, which it names';
  throw new GovError(
    'CONFLICT',
    `expected sections that each schedule can use, but ${named(broken)}, and the sections ${what}; change the schedule first`,
  );
}

const etag = ({ version }: StoredTemplate): { etag: string } => ({ etag: `"${version}"` });

/** PRECONDITION_FAILED. An attacker controls the header. */
function requireVersion(ifMatch: string | null, stored: StoredTemplate): void {
  if (ifMatch === null || ifMatch.trim() === '*') return;
  const current = etag(stored).etag;
  if (ifMatch.split(',').some((tag) => tag.trim() === current)) return;
  const sent = ifMatch.slice(0, limits.echoChars);
  const detail = `expected If-Match ${current}, the template's version, got ${sent}; read the template again`;
  throw new GovError('PRECONDITION_FAILED', detail, { extensions: { version: stored.version } });
}

async function change(
  services: Services,
  of: {
    readonly what: 'created' | 'updated' | 'deleted';
    readonly document: StoredDocument;
    readonly caller: Caller;
    readonly changes: readonly DocumentChange[];
    readonly idempotency?: Idempotency | null;
    readonly answer?: PlainAnswer;
  },
): Promise<ReplayedResponse | null> {
  const { what, document, caller, changes, idempotency = null, answer } = of;
  const { now, salt } = services;
  const { documentId: reportTemplateId, projectId } = document;
  const made = { what, reportTemplateId, stored: dataOf<StoredTemplate>(document) };
  const outcome = await append(services, {
    projectId,
    leaves: [templateChanged(made, { nowMs: now(), salt, by: caller })],
    effects: [{ kind: 'saveDocuments', changes }],
    ...(answer === undefined ? {} : idempotencyWrite(idempotency, answer)),
  }).catch((error: unknown) => {
    if (!(error instanceof GovError) || error.code !== 'CONFLICT') throw error;
    const detail = `expected fewer than ${limits.reportTemplatesKept} custom templates of the project; delete one first`;
    throw new GovError('CONFLICT', detail, { cause: error });
  });
  return 'replayed' in outcome ? outcome : null;
}
