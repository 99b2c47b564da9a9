/**
 * Handlers of schedules (contract L8): create, list, show, change, delete. `due.ts` makes their reports. Proven by
 * `test/service/reports/schedules/handlers.test.ts`.
 */
import type { DeliveryInput } from '../../../contract/report-parts.ts';
import type { ReportSchedule, ScheduleInput, ScheduleUpdate } from '../../../contract/report-schedules.ts';
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { typeId } from '../../../core/id.ts';
import { readCron } from '../../../core/schedules/cron.ts';
import type { ByAge, DocumentChange, StoredDocument } from '../../../store/port/store.ts';
import { notFound } from '../../call/answer.ts';
import type { Caller } from '../../call/caller.ts';
import type { Handlers } from '../../port/handler.ts';
import { requireTag } from '../../call/entity-tag.ts';
import { idempotencyWrite, type Idempotency } from '../../call/idempotency.ts';
import type { PlainAnswer, ReplayedResponse } from '../../call/answer.ts';
import { byAge, listPage, pageLimit } from '../../call/pages.ts';
import { fieldError, isSameJson, refuseReadOnly } from '../../call/schema.ts';
import { isTimeZone } from '../../call/settings.ts';
import { checkDeliveries } from '../deliveries/checks.ts';
import { sealed } from '../deliveries/document.ts';
import type { Services } from '../../port/services.ts';
import { append } from '../../writes/append.ts';
import { knownTemplate, usesOf, type KnownTemplate } from '../custom/known.ts';
import { requireReporting } from '../entitlement.ts';
import { persistently } from '../persistently.ts';
import { checkedInput } from '../queue.ts';
import { dataOf } from '../stored.ts';
import { scheduleChanged } from './events.ts';
import { inputOf } from './input.ts';
import { scheduleBody, scheduleKind, type StoredSchedule } from './stored.ts';

export const reportSchedules: Pick<
  Handlers,
  | 'createReportSchedule'
  | 'listReportSchedules'
  | 'getReportSchedule'
  | 'updateReportSchedule'
  | 'deleteReportSchedule'
> = {
  async createReportSchedule({ body, caller, basePath, idempotency }, services) {
    await requireReporting(services, caller.project);
    return persistently('report template', async () => {
      const { projectId } = caller.project;
      const nowMs = services.now();
      const { enabled = true, ...input } = body;
      const template = await knownTemplate(services, projectId, input.reportTemplateId);
      const members = { ...absent, formats: [...template.formats], ...input };
      const stored = storedOf(services, members, { nowMs, projectId, isEnabled: enabled, template });
      const document = newDocument(services, { projectId, nowMs, stored, isEnabled: enabled });
      const answer = {
        status: 201,
        body: scheduleBody(document),
        headers: { location: `${basePath}/reporting/schedules/${document.documentId}` },
      } as const;
      const replayed = await change(services, {
        what: 'created',
        document,
        stored,
        caller,
        changes: [{ save: withoutProject(document), most: limits.schedulesKept }, ...usesOf(template)],
        idempotency,
        answer,
      });
      return replayed ?? answer;
    });
  },

  async listReportSchedules({ query, caller }, services) {
    await requireReporting(services, caller.project);
    const { projectId } = caller.project;
    const { rows, nextCursor } = await listPage(services, {
      scope: { list: 'report-schedules', projectId, filters: {} },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: { after?: ByAge; limit: number }) =>
        services.store.documents(projectId, { kind: scheduleKind }, page),
      position: ({ createdMs, documentId }) => byAge(createdMs, documentId),
    });
    return { status: 200, body: { data: rows.map(scheduleBody), nextCursor } };
  },

  async getReportSchedule({ params, caller }, services) {
    await requireReporting(services, caller.project);
    return { status: 200, body: scheduleBody(await find(services, caller, params.scheduleId)) };
  },

  async updateReportSchedule({ params, body, caller, ifMatch }, services) {
    await requireReporting(services, caller.project);
    return persistently('schedule', async () => {
      const found = await find(services, caller, params.scheduleId);
      requireTag(ifMatch, scheduleBody(found), 'the schedule');
      const { scheduleId, nextRunAt, lastRunAt, lastExecutionId, errorSummary, ...others } = body;
      const { createdAt, updatedAt, deliveries, ...rest } = others;
      const members = { ...rest, ...newDeliveries(deliveries, scheduleBody(found)) };
      const sent = { scheduleId, nextRunAt, lastRunAt, lastExecutionId, errorSummary, createdAt, updatedAt };
      const given = Object.entries(sent).filter(([, value]) => value !== undefined);
      refuseReadOnly(Object.fromEntries(given), scheduleBody(found));
      const named = members.reportTemplateId ?? dataOf<StoredSchedule>(found).reportTemplateId;
      const template = await knownTemplate(services, caller.project.projectId, named);
      const { document, stored } = changed(services, found, { update: members, template });
      const changes = [{ save: withoutProject(document) }, ...usesOf(template)];
      await change(services, { what: 'updated', document, stored, caller, changes });
      return { status: 200, body: scheduleBody(document) };
    });
  },

  async deleteReportSchedule({ params, caller, ifMatch }, services) {
    await requireReporting(services, caller.project);
    return persistently('schedule', async () => {
      const document = await find(services, caller, params.scheduleId);
      requireTag(ifMatch, scheduleBody(document), 'the schedule');
      const { kind, documentId, version } = document;
      const stored = dataOf<StoredSchedule>(document);
      const changes = [{ remove: { kind, documentId, version } }];
      await change(services, { what: 'deleted', document, stored, caller, changes });
      return { status: 204, body: null };
    });
  },
};

/** A list as an answer shows it changes nothing. READ_ONLY_FIELD for an item of such a list in another one. */
function newDeliveries(
  given: readonly (DeliveryInput & { readonly disabledAt?: unknown })[] | undefined,
  { deliveries: shown }: ReportSchedule,
): Pick<ScheduleUpdate, 'deliveries'> {
  if (given === undefined || isSameJson(given, shown)) return {};
  const at = given.findIndex(({ disabledAt = null }) => disabledAt !== null);
  if (at === -1) return { deliveries: given.map(({ disabledAt: _none, ...each }) => each) };
  throw fieldError({
    pointer: `/deliveries/${at}/disabledAt`,
    in: 'body',
    code: 'READ_ONLY_FIELD',
    detail:
      'expected the whole list as the service returned it, or items with their whole target and no disabledAt',
  });
}

/** What an input may leave out, beside the formats, which are those of the template. */
const absent = {
  timezone: 'UTC',
  locale: 'en',
  title: null,
  runId: null,
  deliveries: [],
  backfill: false,
};

const newDocument = (
  { randomBytes }: Services,
  {
    projectId,
    nowMs,
    stored,
    isEnabled,
  }: { projectId: string; nowMs: number; stored: StoredSchedule; isEnabled: boolean },
): StoredDocument => ({
  projectId,
  kind: scheduleKind,
  documentId: typeId('sch', nowMs, randomBytes(10)),
  key: null,
  parentId: null,
  status: isEnabled ? 'enabled' : 'disabled',
  createdMs: nowMs,
  dueMs: stored.nextRunMs,
  version: 0,
  data: JSON.stringify(stored),
});

const withoutProject = ({
  projectId: _own,
  ...document
}: StoredDocument): Omit<StoredDocument, 'projectId'> => document;

async function find({ store }: Services, { project }: Caller, scheduleId: string): Promise<StoredDocument> {
  const found = await store.document(project.projectId, scheduleKind, scheduleId);
  if (found === null) throw notFound('report schedule');
  return found;
}

async function change(
  services: Services,
  of: {
    readonly what: 'created' | 'updated' | 'deleted';
    readonly document: StoredDocument;
    readonly stored: StoredSchedule;
    readonly caller: Caller;
    readonly changes: readonly DocumentChange[];
    readonly idempotency?: Idempotency | null;
    readonly answer?: PlainAnswer;
  },
): Promise<ReplayedResponse | null> {
  const { what, document, stored, caller, changes, idempotency = null, answer } = of;
  const { now, salt } = services;
  const { documentId: scheduleId, status, projectId } = document;
  const made = { what, scheduleId, stored, isEnabled: status === 'enabled' };
  const outcome = await append(services, {
    projectId,
    leaves: [scheduleChanged(made, { nowMs: now(), salt, by: caller })],
    effects: [{ kind: 'saveDocuments', changes }],
    ...(answer === undefined ? {} : idempotencyWrite(idempotency, answer)),
  }).catch((error: unknown) => {
    if (!(error instanceof GovError) || error.code !== 'CONFLICT') throw error;
    const detail = `expected fewer than ${limits.schedulesKept} schedules of the project; delete one first`;
    throw new GovError('CONFLICT', detail, { cause: error });
  });
  services.wakeScheduler();
  return 'replayed' in outcome ? outcome : null;
}

type Input = Required<Omit<ScheduleInput, 'enabled'>>;

/** VALIDATION_ERROR for what no schema can state. */
function storedOf(
  services: Services,
  input: Input,
  of: { nowMs: number; projectId: string; isEnabled: boolean; template: KnownTemplate },
): StoredSchedule {
  const { nowMs, projectId, isEnabled, template } = of;
  const { timezone, cron, formats } = input;
  const refuse = (pointer: string, code: 'BAD_FORMAT' | 'NOT_ALLOWED', detail: string): never => {
    throw fieldError({ pointer, in: 'body', code, detail });
  };
  if (!isTimeZone(timezone))
    refuse('/timezone', 'BAD_FORMAT', 'expected the IANA name of a time zone, such as Europe/Zurich or UTC');
  const times = readCron(cron, timezone, nowMs);
  if (typeof times === 'string') return refuse('/cron', 'BAD_FORMAT', times);
  checkDeliveries(services, input.deliveries, formats, 'schedule');
  const stored: StoredSchedule = {
    ...input,
    deliveries: input.deliveries.map((each) => ({ ...sealed(each, services), disabledMs: null })),
    nextRunMs: isEnabled ? times.next(nowMs) : null,
    lastRunMs: null,
    lastExecutionId: null,
    errorSummary: null,
    updatedMs: nowMs,
  };
  inWordsOfSchedule(() => checkedInput(inputOf(stored, nowMs, services.seal), { projectId, template }));
  return stored;
}

/** A schedule has the run of its parameters beside its other members. */
function inWordsOfSchedule(check: () => unknown): void {
  try {
    check();
  } catch (error) {
    const [first] = error instanceof GovError ? (error.errors ?? []) : [];
    if (first === undefined || !first.pointer.startsWith('/parameters/')) throw error;
    throw fieldError({ ...first, pointer: first.pointer.replace('/parameters', '') });
  }
}

/** The document after a change. Members that are absent keep their value. */
function changed(
  services: Services,
  found: StoredDocument,
  { update, template }: { readonly update: ScheduleUpdate; readonly template: KnownTemplate },
): { document: StoredDocument; stored: StoredSchedule } {
  const nowMs = services.now();
  const before = dataOf<StoredSchedule>(found);
  const wasEnabled = found.status === 'enabled';
  const { enabled = wasEnabled, ...given } = update;
  const {
    deliveries,
    nextRunMs,
    lastRunMs,
    lastExecutionId,
    errorSummary,
    updatedMs: _at,
    ...members
  } = before;
  const input: Input = {
    ...members,
    formats: [...members.formats],
    ...given,
    deliveries: given.deliveries ?? [],
  };
  const { projectId } = found;
  const made = storedOf(services, input, { nowMs, projectId, isEnabled: enabled, template });
  const isSameTime = wasEnabled && input.cron === before.cron && input.timezone === before.timezone;
  const stored: StoredSchedule = {
    ...made,
    deliveries: given.deliveries === undefined ? deliveries : made.deliveries,
    // a change of the name must not skip a report that is due
    nextRunMs: enabled && isSameTime ? nextRunMs : made.nextRunMs,
    lastRunMs,
    lastExecutionId,
    errorSummary,
  };
  const status = enabled ? 'enabled' : 'disabled';
  const document = { ...found, status, dueMs: stored.nextRunMs, data: JSON.stringify(stored) };
  return { document, stored };
}
