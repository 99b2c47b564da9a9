/**
 * Handlers of schedules (contract L8): create, list, show, change, delete. `due.ts` makes their reports. Proven by
 * `test/service/reports/schedules/handlers.test.ts`.
 */
import type { ScheduleInput, ScheduleUpdate } from '../../../contract/report-schedules.ts';
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import { typeId } from '../../../core/id.ts';
import { readCron } from '../../../core/schedule/cron.ts';
import type { ByAge, DocumentChange, StoredDocument } from '../../../store/port/store.ts';
import { notFound } from '../../call/answer.ts';
import type { Caller } from '../../call/caller.ts';
import type { Handlers } from '../../call/handler.ts';
import { idempotencyWrite, type Idempotency } from '../../call/idempotency.ts';
import type { PlainAnswer, Replayed } from '../../call/answer.ts';
import { byAge, listPage, pageLimit } from '../../call/pages.ts';
import { fieldError, refuseReadOnly } from '../../call/schema.ts';
import { isTimeZone } from '../../call/settings.ts';
import { checkDeliveries } from '../../deliveries/checks.ts';
import { sealed } from '../../deliveries/document.ts';
import type { Services } from '../../dependencies.ts';
import { append, unmetered } from '../../events/append.ts';
import { requireReporting } from '../entitlement.ts';
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
    const { projectId } = caller.project;
    const nowMs = services.now();
    const { enabled = true, ...input } = body;
    const stored = storedOf(services, { ...absent, ...input }, { nowMs, projectId, isEnabled: enabled });
    const document: StoredDocument = {
      projectId,
      kind: scheduleKind,
      documentId: typeId('sch', nowMs, services.randomBytes(10)),
      key: null,
      parentId: null,
      status: enabled ? 'enabled' : 'disabled',
      createdMs: nowMs,
      dueMs: stored.nextRunMs,
      version: 0,
      data: JSON.stringify(stored),
    };
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
      changes: [{ save: withoutProject(document), most: limits.schedulesKept }],
      idempotency,
      answer,
    });
    return replayed ?? answer;
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

  async updateReportSchedule({ params, body, caller }, services) {
    await requireReporting(services, caller.project);
    return persistently(async () => {
      const found = await find(services, caller, params.scheduleId);
      const { scheduleId, nextRunAt, lastRunAt, lastExecutionId, errorSummary, ...others } = body;
      const { createdAt, updatedAt, ...members } = others;
      const sent = { scheduleId, nextRunAt, lastRunAt, lastExecutionId, errorSummary, createdAt, updatedAt };
      const given = Object.entries(sent).filter(([, value]) => value !== undefined);
      refuseReadOnly(Object.fromEntries(given), scheduleBody(found));
      const { document, stored } = changed(services, found, members);
      const changes = [{ save: withoutProject(document) }];
      await change(services, { what: 'updated', document, stored, caller, changes });
      return { status: 200, body: scheduleBody(document) };
    });
  },

  async deleteReportSchedule({ params, caller }, services) {
    await requireReporting(services, caller.project);
    return persistently(async () => {
      const document = await find(services, caller, params.scheduleId);
      const { kind, documentId, version } = document;
      const stored = dataOf<StoredSchedule>(document);
      const changes = [{ remove: { kind, documentId, version } }];
      await change(services, { what: 'deleted', document, stored, caller, changes });
      return { status: 204, body: null };
    });
  },
};

/** What an input may leave out. */
const absent = {
  timezone: 'UTC',
  locale: 'en',
  formats: ['pdf' as const],
  title: null,
  runId: null,
  deliveries: [],
  backfill: false,
};

const withoutProject = ({
  projectId: _own,
  ...document
}: StoredDocument): Omit<StoredDocument, 'projectId'> => document;

async function find({ store }: Services, { project }: Caller, scheduleId: string): Promise<StoredDocument> {
  const found = await store.document(project.projectId, scheduleKind, scheduleId);
  if (found === null) throw notFound('report schedule');
  return found;
}

const attempts = 5;

/** Repeats a change while the scheduler changes the same document. CONFLICT where it does so each time. */
async function persistently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof GovError) || error.code !== 'PRECONDITION_FAILED') throw error;
      if (attempt < attempts) continue;
      const detail =
        'expected the schedule as it was read, but somebody else keeps changing it; repeat later';
      throw new GovError('CONFLICT', detail, { cause: error });
    }
  }
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
): Promise<Replayed | null> {
  const { what, document, stored, caller, changes, idempotency = null, answer } = of;
  const { now, salt } = services;
  const { documentId: scheduleId, status, projectId } = document;
  const made = { what, scheduleId, stored, isEnabled: status === 'enabled' };
  const outcome = await append(services, {
    projectId,
    leaves: [scheduleChanged(made, { nowMs: now(), salt, by: caller })],
    meter: unmetered,
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

/** VALIDATION_ERROR and NOT_FOUND for what no schema can state. */
function storedOf(
  services: Services,
  input: Input,
  { nowMs, projectId, isEnabled }: { nowMs: number; projectId: string; isEnabled: boolean },
): StoredSchedule {
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
  inWordsOfSchedule(() => checkedInput(inputOf(stored, nowMs, services.seal), projectId));
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
  update: ScheduleUpdate,
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
  const made = storedOf(services, input, { nowMs, projectId: found.projectId, isEnabled: enabled });
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
