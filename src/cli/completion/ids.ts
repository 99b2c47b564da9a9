/**
 * Ids that one list call returns: runs, policies, approvals, jobs and the like, newest first, as far as one page goes.
 * The call ends after a second without an answer, tries once, and uses the context that the line names.
 * Tested by `test/cli/completion/complete.test.ts` against a real plane.
 */
import type { UncheckedAnswer, UncheckedInput } from '../../client/create.ts';
import { itemsOf } from '../../client/paginate.ts';
import type { Operation } from '../../contract/operation.ts';
import { table } from '../../contract/table.ts';
import type { OperationId } from '../../contract/table.ts';
import { roleOf } from '../context/place.ts';
import { Session } from '../context/session.ts';
import { resolveSettings } from '../context/settings.ts';
import { flagName } from '../program/manifest.ts';
import { schemaOf } from '../program/schema.ts';
import { viewOf } from '../terminal/answer-view.ts';
import type { Io } from '../terminal/io.ts';
import type { Row } from '../terminal/out.ts';
import type { CommandLine, Word } from './typed.ts';

/** A person waits at Tab. */
const timeoutMs = 1000;

/** Columns of a description, and its longest text. */
const describedBy = 3;
const descriptionChars = 80;

/** The list in which a value of this argument or flag is found. */
const lists: Readonly<Record<string, OperationId>> = {
  runId: 'listRuns',
  run: 'listRuns',
  against: 'listRuns',
  seen: 'listRuns',
  eventId: 'searchEvents',
  policyId: 'listPolicies',
  policy: 'listPolicies',
  approvalId: 'listApprovals',
  approval: 'listApprovals',
  proofId: 'listProofs',
  proof: 'listProofs',
  replayId: 'listReplays',
  exportId: 'listExports',
  executionId: 'listExecutions',
  template: 'listReportTemplates',
  reportTemplateId: 'listReportTemplates',
  'report from': 'listReportTemplates',
  section: 'listReportSections',
  without: 'listReportSections',
  shareId: 'listShares',
  scheduleId: 'listReportSchedules',
  deliveryId: 'listReportDeliveries',
  erasureId: 'listErasures',
  jobId: 'listJobs',
  keyId: 'listApiKeys',
  projectId: 'listProjects',
  project: 'listProjects',
  onlyProject: 'listProjects',
  dataPlaneId: 'listDataPlanes',
  endpointId: 'listWebhookEndpoints',
  webhookDeliveryId: 'listWebhookDeliveries',
  'forward name': 'listForwards',
};

/** What a command can work on: a decided approval accepts no further decision. */
const queries: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'approvals approve': { status: 'pending' },
  'approvals deny': { status: 'pending' },
  'approvals wait': { status: 'pending' },
  'tools exec': { status: 'approved' },
};

/** Returns the ids for an argument or flag; none where no list has them. Errors: those of the call. */
export async function idsOf(name: string, typed: CommandLine, io: Io): Promise<Word[]> {
  const id = lists[name];
  const input = id === undefined ? undefined : inputOf(id, typed);
  if (id === undefined || input === undefined) return [];
  const session = new Session({
    // a format or a filter of the line is not for this call
    settings: resolveSettings({ ...typed.globals, output: 'json', json: undefined, jq: undefined }, io),
    io,
    signal: AbortSignal.timeout(timeoutMs),
    role: roleOf(typed.path),
    observe: () => {},
    warn: () => {},
  });
  try {
    const { data } = typed.flags;
    if (typeof data === 'string') session.usePlane(data);
    const client = await session.client({ retries: 0 });
    // the row's own schemas made the input, and the service checks it
    const call = client[id] as unknown as (input: UncheckedInput) => Promise<UncheckedAnswer>;
    const { body } = await call(input);
    const page = body as { data?: Row[]; nextCursor: string | null };
    return itemsOf(page).flatMap((item) => wordOf(id, name, item));
  } finally {
    session.close();
  }
}

/** Fills in what the list needs from the line; undefined if that is missing. */
function inputOf(id: OperationId, { args, flags, spec, path }: CommandLine): UncheckedInput | undefined {
  const row: Operation = table[id];
  const known = new Map<string, unknown>(Object.entries(flags));
  for (const [at, { name }] of (spec?.args ?? []).entries()) known.set(name, args[at]);
  const filled = (part: unknown): Record<string, unknown> =>
    Object.fromEntries((schemaOf(part).required ?? []).map((name) => [name, known.get(flagName(name))]));
  const params = filled(row.params);
  const query = { ...filled(row.query), ...queries[path] };
  const isWhole = Object.values({ ...params, ...query }).every((value) => value !== undefined);
  return isWhole ? { params, query } : undefined;
}

/** The id, described by the first columns of the list. */
function wordOf(id: OperationId, name: string, item: Row): Word[] {
  const { columns, id: own = 'name' } = viewOf(id);
  const member = item[name] === undefined ? own : name;
  const word = item[member];
  if (typeof word !== 'string') return [];
  const texts = columns
    .filter((column) => column.name !== member && column.kind !== 'json')
    .map((column) => item[column.name])
    .filter((value) => typeof value === 'string' || typeof value === 'number');
  const description = texts.slice(0, describedBy).join(', ');
  return [{ word, description: description.slice(0, descriptionChars) }];
}
