/**
 * The table view of an operation's response, derived from its schema in the contract. A new member needs no change here.
 * `preferred` lists the columns that fit a terminal, in order. Tested by `test/cli/program/manifest.test.ts` for each row.
 */
import type { Answer } from '../../client/create.ts';
import type { ItemOf } from '../../client/paginate.ts';
import { table } from '../../contract/table.ts';
import type { OperationId, Table } from '../../contract/table.ts';
import { schemaOf } from '../program/schema.ts';
import type { Schema } from '../program/schema.ts';
import type { Kind, View } from './view.ts';

type Item<Row> = Row extends Table[OperationId]
  ? [ItemOf<Answer<Row>>] extends [never]
    ? Answer<Row>['body']
    : ItemOf<Answer<Row>>
  : never;
type PreferredColumns = { readonly [Id in OperationId]?: readonly (keyof Item<Table[Id]> & string)[] };

const preferred: PreferredColumns = {
  listEvents: ['sequence', 'timestamp', 'eventType', 'actor', 'resource', 'action', 'eventId'],
  searchEvents: ['timestamp', 'runId', 'eventType', 'actor', 'resource', 'action', 'eventId'],
  listRuns: ['runId', 'events', 'firstTimestamp', 'lastTimestamp', 'proofs', 'sealed', 'lastDecision'],
  listSources: [
    'service',
    'instance',
    'lastSeenAt',
    'silent',
    'kept',
    'filtered',
    'rejected',
    'missing',
    'clockOffsetMs',
  ],
  listSourceDays: [
    'day',
    'service',
    'spans',
    'logs',
    'metrics',
    'recorded',
    'observed',
    'inherited',
    'bookkeeping',
    'rejected',
    'balanced',
  ],
  listProofs: ['proofId', 'runId', 'schemaVersion', 'layers', 'createdAt'],
  listPolicies: ['id', 'status', 'activeVersion', 'latestVersion', 'name', 'updatedAt'],
  listPolicyVersions: ['version', 'action', 'severity', 'text', 'policyHash', 'createdAt'],
  listPolicyEvaluations: ['id', 'runId', 'combined', 'policySource', 'policyCount', 'evaluatedAt'],
  listRiskDecisions: ['id', 'runId', 'action', 'wouldBeAction', 'score', 'evaluatedAt'],
  listApprovals: [
    'approvalId',
    'status',
    'tool',
    'requestedAt',
    'runId',
    'arguments',
    'actor',
    'reason',
    'signatureRequired',
  ],
  listApprovers: ['approverId', 'status', 'kind', 'name', 'principal', 'fingerprint', 'enrolledAt'],
  listForwards: ['name', 'state', 'position', 'lag', 'records', 'lastDeliveredAt', 'lastError'],
  listExports: [
    'exportId',
    'resource',
    'format',
    'status',
    'rowCount',
    'sizeBytes',
    'createdAt',
    'expiresAt',
  ],
  listExecutions: ['executionId', 'reportTemplateId', 'title', 'status', 'formats', 'createdAt', 'expiresAt'],
  listShares: ['shareId', 'format', 'status', 'downloadCount', 'maxDownloads', 'createdAt', 'expiresAt'],
  listReportTemplates: ['reportTemplateId', 'name', 'requiresRun', 'version', 'description'],
  listReportSections: ['sectionId', 'title', 'requiresRun', 'tables'],
  listErasures: ['erasureId', 'sequence', 'reasonCode', 'leaves', 'fields', 'executedAt'],
  listReplays: ['replayId', 'runId', 'status', 'stepsCount', 'driftCount', 'warningsCount', 'createdAt'],
  listProjects: ['id', 'name', 'environment', 'createdAt', 'updatedAt'],
  listApiKeys: ['keyId', 'name', 'status', 'scopes', 'prefix', 'lastUsedAt', 'expiresAt'],
  listDataPlanes: ['dataPlaneId', 'name', 'status', 'enrolledAt', 'missing', 'lastReport'],
  listUsageReports: [
    'reportId',
    'sequence',
    'attestation',
    'linked',
    'periodEnd',
    'treeSize',
    'epoch',
    'receivedAt',
  ],
  listReportSchedules: [
    'scheduleId',
    'name',
    'reportTemplateId',
    'cron',
    'timezone',
    'enabled',
    'nextRunAt',
    'lastRunAt',
    'errorSummary',
  ],
  listReportDeliveries: [
    'deliveryId',
    'channel',
    'target',
    'format',
    'status',
    'attempts',
    'nextAttemptAt',
    'errorSummary',
  ],
  listWebhookEndpoints: ['endpointId', 'url', 'events', 'enabled', 'failingSince', 'disabledReason'],
  listWebhookDeliveries: [
    'deliveryId',
    'eventType',
    'status',
    'attempt',
    'statusCode',
    'createdAt',
    'nextAttemptAt',
    'errorSummary',
  ],
  listJobs: ['jobId', 'type', 'runId', 'status', 'createdAt', 'durationMs', 'errorSummary'],
};

/** What `-o id` prints where it is not the first column with an id. */
const identifiers: Partial<Record<OperationId, string>> = { searchEvents: 'eventId' };

function kindOf(name: string, schema: Schema): Kind {
  const one = schema.anyOf?.find((each) => each.type !== 'null') ?? schema;
  if (one.patternProperties !== undefined) return 'json';
  if (one.format === 'date-time') return 'time';
  if (one.pattern?.startsWith('^sha256:') === true) return 'hash';
  if (one.type === 'integer' || one.type === 'number') return 'count';
  if (one.type === 'boolean') return 'flag';
  return /^id$|Id$/.test(name) ? 'id' : 'text';
}

/** Returns the view of an operation's first success response. */
export function viewOf(id: OperationId): View {
  const [body] = Object.values<unknown>(table[id].success);
  const schema = schemaOf(body);
  const items = listMember(schema);
  const item = items === undefined ? schema : (schema.properties?.[items]?.items ?? {});
  const wide = Object.entries(item.properties ?? {}).map(([name, each]) => ({
    name,
    kind: kindOf(name, each),
  }));
  const wanted: readonly string[] | undefined = preferred[id];
  const columns = wanted?.flatMap((name) => wide.filter((column) => column.name === name)) ?? wide;
  const idColumn = identifiers[id] ?? [...columns, ...wide].find(({ name }) => /^id$|Id$/.test(name))?.name;
  return { columns, wide, items, id: idColumn };
}

/** Short lists have no `nextCursor` beside `data`. */
function listMember({ properties = {} }: Schema): View['items'] {
  if (properties['data']?.type === 'array') return 'data';
  return properties['nextCursor'] === undefined ? undefined : 'events';
}
