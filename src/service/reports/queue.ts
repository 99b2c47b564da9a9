/**
 * Requests for reports: checks an input and stores the report with its deliveries and the event that records it, in one
 * transaction. A schedule and its due time make at most one report, however many processes ask. Proven by
 * `test/service/reports/handlers.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { reportFormats } from '../../contract/report-parts.ts';
import type { ExecutionInput } from '../../contract/reports.ts';
import { typeId } from '../../core/id.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { DocumentChange, StoredDocument } from '../../store/port/store.ts';
import { notFound, type PlainAnswer, type ReplayedResponse } from '../call/answer.ts';
import { isDeletedProject } from '../call/deleted.ts';
import { idempotencyWrite, type Idempotency } from '../call/idempotency.ts';
import { timeRange } from '../call/pages.ts';
import { fieldError } from '../call/schema.ts';
import { isTimeZone } from '../call/settings.ts';
import { checkDeliveries } from './deliveries/checks.ts';
import { newDelivery } from './deliveries/document.ts';
import type { Services } from '../port/services.ts';
import { append } from '../writes/append.ts';
import { requireReporting } from './entitlement.ts';
import { reportCreated } from './events.ts';
import { reportKind, type StoredReport } from './stored.ts';
import { definitionOf } from './custom/stored.ts';
import { knownTemplate, type KnownTemplate } from './custom/known.ts';

interface ReportOrigin {
  readonly by: { readonly id: string; readonly type: string };
  readonly scheduleId?: string;
  /** RFC 3339: when the schedule was due. */
  readonly dueAt?: string;
}

interface QueuedReport {
  readonly report: StoredDocument;
  readonly deliveries: readonly StoredDocument[];
}

/**
 * Queues a report and wakes the worker. Returns the existing one for a schedule that already made a report for this due
 * time. VALIDATION_ERROR, NOT_FOUND for an unknown template, ENTITLEMENT_REQUIRED, REPORT_LIMIT.
 */
export async function queueReport(
  services: Services,
  projectId: string,
  input: ExecutionInput,
  origin: ReportOrigin,
): Promise<{ readonly executionId: string; readonly isNew: boolean }> {
  const key = keyOf(origin);
  const known = key === null ? null : await services.store.documentByKey(reportKind, key);
  if (known !== null) return { executionId: known.documentId, isNew: false };
  const queued = await prepare(services, projectId, { input, origin });
  try {
    await store(services, queued, { origin, idempotency: null, answer: { status: 202, body: null } });
  } catch (error) {
    const other = key === null ? null : await services.store.documentByKey(reportKind, key);
    if (other === null) throw error;
    return { executionId: other.documentId, isNew: false };
  }
  return { executionId: queued.report.documentId, isNew: true };
}

/** The same for a call. The store keeps the answer of a call with an idempotency key in the same transaction. */
export async function queueAsked<Answer extends PlainAnswer>(
  services: Services,
  projectId: string,
  asked: {
    readonly input: ExecutionInput;
    readonly origin: ReportOrigin;
    readonly idempotency: Idempotency | null;
    readonly answerOf: (queued: QueuedReport) => Answer;
  },
): Promise<Answer | ReplayedResponse> {
  const { input, origin, idempotency, answerOf } = asked;
  const queued = await prepare(services, projectId, { input, origin });
  const answer = answerOf(queued);
  const replayed = await store(services, queued, { origin, idempotency, answer });
  return replayed ?? answer;
}

async function store(
  services: Services,
  { report, deliveries }: QueuedReport,
  kept: {
    readonly origin: ReportOrigin;
    readonly idempotency: Idempotency | null;
    readonly answer: PlainAnswer;
  },
): Promise<ReplayedResponse | null> {
  const { projectId, documentId: executionId, createdMs } = report;
  const stored = JSON.parse(report.data) as StoredReport;
  const context = { nowMs: createdMs, salt: services.salt, by: kept.origin.by };
  const changes: DocumentChange[] = [
    { save: { ...report, version: 0 }, most: limits.reportsKept },
    ...deliveries.map((each) => ({ save: { ...each, version: 0 } })),
  ];
  const outcome = await append(services, {
    projectId,
    leaves: [reportCreated({ executionId, stored }, context)],
    effects: [{ kind: 'saveDocuments', changes }],
    ...idempotencyWrite(kept.idempotency, kept.answer),
  });
  services.wakeReports();
  return 'replayed' in outcome ? outcome : null;
}

const keyOf = ({ scheduleId, dueAt }: ReportOrigin): string | null =>
  scheduleId === undefined ? null : `${scheduleId}/${dueAt ?? ''}`;

async function prepare(
  services: Services,
  projectId: string,
  { input, origin }: { readonly input: ExecutionInput; readonly origin: ReportOrigin },
): Promise<QueuedReport> {
  const project = await services.store.project(projectId);
  if (project === null || (await isDeletedProject(services, projectId))) throw notFound('project');
  await requireReporting(services, project);
  const template = await knownTemplate(services, projectId, input.reportTemplateId);
  const checked = checkedInput(input, { projectId, template });
  await requireRun(services, projectId, checked.parameters.runId);
  checkDeliveries(services, input.deliveries ?? [], checked.formats);
  await requireTurn(services, projectId);
  const { randomBytes, now } = services;
  const nowMs = now();
  const newId = (): string => typeId('art', nowMs, randomBytes(10));
  const stored: StoredReport = {
    ...checked,
    scheduleId: origin.scheduleId ?? null,
    requestedBy: { id: origin.by.id, type: origin.by.type },
    attempts: 0,
    startedMs: null,
    completedMs: null,
    expiresMs: null,
    errorSummary: null,
    summary: null,
    artifacts: checked.formats.map((format) => ({ artifactId: newId(), format, made: null })),
    preview: { artifactId: newId(), made: null },
  };
  const report: StoredDocument = {
    projectId,
    kind: reportKind,
    documentId: typeId('rex', nowMs, randomBytes(10)),
    key: keyOf(origin),
    parentId: origin.scheduleId ?? null,
    status: 'queued',
    createdMs: nowMs,
    dueMs: nowMs,
    version: 1,
    data: JSON.stringify(stored),
  };
  const of = { executionId: report.documentId, nowMs, randomBytes, seal: services.seal };
  const deliveries = (input.deliveries ?? []).map((each) => ({
    ...newDelivery(each, of).save,
    projectId,
    version: 1,
  }));
  return { report, deliveries };
}

/** NOT_FOUND for a run that the log does not know. A pruned one is known. */
async function requireRun({ store }: Services, projectId: string, runId: string | undefined): Promise<void> {
  if (runId === undefined || (await store.run(projectId, runId)) !== null) return;
  const detail = `expected a run of the project, got ${runId}, of which the log has no event; gov runs list shows the runs`;
  throw new GovError('NOT_FOUND', detail);
}

/** REPORT_LIMIT where the project has as many open reports as it may have. */
async function requireTurn({ store }: Services, projectId: string): Promise<void> {
  const most = limits.reportsOpen;
  const open = await store.documents(projectId, { kind: reportKind, status: 'queued' }, { limit: most });
  if (open.length < most) return;
  const detail = `expected fewer than ${most} reports of the project that wait, got ${most}; wait until one is completed`;
  throw new GovError('REPORT_LIMIT', detail, { retryAfterSeconds: limits.overloadRetrySeconds });
}

type CheckedInput = Pick<
  StoredReport,
  'reportTemplateId' | 'template' | 'title' | 'parameters' | 'formats' | 'timezone' | 'locale'
>;

/** VALIDATION_ERROR for what no schema can state. */
export function checkedInput(
  input: ExecutionInput,
  { projectId, template }: { readonly projectId: string; readonly template: KnownTemplate },
): CheckedInput {
  const { reportTemplateId, custom } = template;
  const { parameters, title, timezone = 'UTC', locale = 'en', formats = template.formats } = input;
  refusePeriod(parameters);
  const refuse = (pointer: string, detail: string): never => {
    throw fieldError({ pointer, in: 'body', code: 'NOT_ALLOWED', detail });
  };
  if (parameters.projectIds !== undefined && parameters.projectIds[0] !== projectId) {
    refuse('/parameters/projectIds/0', `expected the project of the call, ${projectId}, or none`);
  }
  if (template.run === 'required' && parameters.runId === undefined) {
    refuse(
      '/parameters/runId',
      `expected the run that ${reportTemplateId} is about, got none; gov runs list shows the runs`,
    );
  }
  if (template.run === undefined && parameters.runId !== undefined) {
    refuse(
      '/parameters/runId',
      `expected no run, because ${reportTemplateId} covers every run of the period, got ${parameters.runId}; leave runId out, or use run-evidence`,
    );
  }
  if (!isTimeZone(timezone)) {
    const detail = 'expected the IANA name of a time zone, such as Europe/Zurich or UTC';
    throw fieldError({ pointer: '/timezone', in: 'body', code: 'BAD_FORMAT', detail });
  }
  if (!isLocale(locale)) {
    const detail = 'expected a BCP 47 language tag, such as en or de-CH';
    throw fieldError({ pointer: '/locale', in: 'body', code: 'BAD_FORMAT', detail });
  }
  return {
    reportTemplateId,
    ...(custom === null ? {} : { template: definitionOf(custom.stored) }),
    title: title ?? template.title,
    parameters,
    // in one order, so that the same report has the same members
    formats: reportFormats.filter((format) => formats.includes(format)),
    timezone,
    locale,
  };
}

const dayMs = 86_400_000;

function refusePeriod(parameters: ExecutionInput['parameters']): void {
  const { startMs = 0, endMs = 0 } = timeRange(parameters, 'body');
  const limit = limits.reportPeriodDays;
  if (endMs - startMs <= limit * dayMs) return;
  const latest = formatTimestamp(startMs + limit * dayMs);
  const detail = `expected a period of at most ${limit} days, so endTime up to ${latest}; make one report for each part`;
  throw fieldError({ pointer: '/parameters/endTime', in: 'body', code: 'TOO_LARGE', detail, limit });
}

function isLocale(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
