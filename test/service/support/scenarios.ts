/**
 * The requests of `test/service/scenarios.test.ts`: one for every operation and every status that its row documents.
 * The test derives 401, 404 and 500 from the table. All other requests are listed here; those of the hosted service's
 * groups are in `hosted-scenarios.ts`.
 */
import type { Operation } from '../../../src/contract/operation.ts';
import { table, type OperationId } from '../../../src/contract/table.ts';
import {
  checkpoint,
  nobodysIds,
  policy,
  policyVersion,
  reportPeriod,
  riskConfig,
  rowRequest,
  snapshot,
} from '../../support/rows.ts';
import type { CallOptions } from '../../support/serving.ts';
import { logo, upload } from '../../support/upload.ts';
import type { Filled } from './filled.ts';

/** The objects that the test created before it sends the requests. */
export interface Made extends Filled {
  /** An API key that may decide approvals and nothing else. */
  readonly approver: string;
}

export interface Request extends CallOptions {
  readonly path: string;
}

/** Sends the request that the table's row describes, for the objects of `Made`, with the members of `change` replaced. */
export type Scenario<Of extends Made = Made> = readonly [
  operation: OperationId,
  status: number,
  change?: (made: Of) => Partial<Request>,
];

export const anonymous: CallOptions = { key: null };
const byApprover = ({ approver }: Made): CallOptions => ({ key: approver });
const graph = { runId: 'declared', nodes: [{ id: 'plan', type: 'plan' }], edges: [] };
/** The secret of the scheduler of the served installation. */
export const cronSecret = 'of the scheduler 0123456789abcdef'.replaceAll(' ', '-');
const schedule = {
  name: 'Daily',
  reportTemplateId: 'executive-summary',
  window: 'previous_day',
  cron: '0 6 1 1 *',
};
const disabled = { targetStatus: 'disabled' };

const badZone = { reportTemplateId: 'executive-summary', parameters: reportPeriod, timezone: 'Mars/Olympus' };

const reportScenarios: readonly Scenario[] = [
  [
    'createExecution',
    202,
    () => ({ body: { reportTemplateId: 'executive-summary', parameters: reportPeriod, formats: ['csv'] } }),
  ],
  ['createExecution', 400, () => ({ body: badZone })],
  ['createExecution', 403, byApprover],
  [
    'createExecution',
    404,
    () => ({ body: { reportTemplateId: 'tpl_01jzzzzzzzzzzzzzzzzzzzzzzz', parameters: reportPeriod } }),
  ],
  ['listExecutions', 200],
  ['listExecutions', 400, () => ({ path: '/reporting/executions?status=x' })],
  ['listExecutions', 403, byApprover],
  ['getExecution', 200],
  ['getExecution', 403, byApprover],
  ['downloadReport', 200],
  ['downloadReport', 400, ({ executionId }) => ({ path: reportFile(executionId, 'docx') })],
  ['downloadReport', 403, byApprover],
  ['downloadReport', 412, () => ({ headers: { 'if-match': '"another"' } })],
  ['downloadReport', 416, () => ({ headers: { range: 'bytes=9007199254740-' } })],
  ['createShare', 201],
  ['createShare', 400, () => ({ body: { format: 'docx' } })],
  ['createShare', 403, byApprover],
  ['listShares', 200],
  ['listShares', 400, ({ executionId }) => ({ path: `/reporting/executions/${executionId}/shares?limit=x` })],
  ['listShares', 403, byApprover],
  ['getShare', 200],
  ['getShare', 403, byApprover],
  ['downloadShared', 200, () => anonymous],
  ['downloadShared', 400, ({ token }) => ({ ...anonymous, path: sharedFile(token, 'csv') })],
  ['downloadShared', 412, () => ({ ...anonymous, headers: { 'if-match': '"another"' } })],
  ['downloadShared', 416, () => ({ ...anonymous, headers: { range: 'bytes=9007199254740-' } })],
  ['getSharedSignature', 200, () => anonymous],
  ['revokeShare', 403, byApprover],
  ['revokeShare', 204],
  ['downloadShared', 410, () => anonymous],
  ['getSharedSignature', 410, () => anonymous],
  ['listReportTemplates', 200],
  ['listReportTemplates', 403, byApprover],
  ['getBranding', 200],
  ['getBranding', 403, byApprover],
  ['putBranding', 200],
  ['putBranding', 400, () => ({ body: { primaryColor: 'red' } })],
  ['putBranding', 403, byApprover],
  ['getLogo', 200, () => anonymous],
  ['uploadLogo', 201, () => upload(logo)],
  ['uploadLogo', 400, () => upload(Buffer.from('<svg/>'))],
  ['uploadLogo', 403, (made) => ({ ...upload(logo), ...byApprover(made) })],
];

const reportFile = (executionId: string, format: string): string =>
  `/reporting/executions/${executionId}/download?format=${format}`;
const sharedFile = (token: string, format: string): string =>
  `/reporting/shares/${token}/download?format=${format}`;

/** In this order: some change what later ones find. */
export const scenarios: readonly Scenario[] = [
  ['createEvent', 201],
  ['createEvent', 400, () => ({ body: {} })],
  ['listEvents', 200],
  ['listEvents', 400, () => ({ path: '/events' })],
  ['createEvents', 201],
  ['createEvents', 400, () => ({ body: { events: [] } })],
  ['countEvents', 200],
  ['countEvents', 400, () => ({ path: '/events/count?startTime=x' })],
  ['getEvent', 200],
  ['searchEvents', 200],
  ['searchEvents', 400, () => ({ path: '/events/search?decision=maybe' })],
  ['listRuns', 200],
  ['listRuns', 400, () => ({ path: '/runs?limit=x' })],
  ['listSources', 200],
  ['getIntegrity', 200],
  ['listSources', 400, () => ({ path: '/sources?limit=x' })],
  ['createProof', 201],
  ['createProof', 202, ({ runId }) => ({ body: { runId, async: true } })],
  ['createProof', 400, () => ({ body: { runId: 'nobody' } })],
  ['listProofs', 200],
  ['listProofs', 400, () => ({ path: '/proofs?cursor=x' })],
  ['verifyProof', 200],
  ['verifyProof', 400, () => ({ body: { proofId: nobodysIds.proofId } })],
  ['getProof', 200],
  ['getProofBundle', 200],
  ['getProofBundle', 400, ({ proofId }) => ({ path: `/proofs/${proofId}/bundle?events=all` })],
  ['getRunCoverage', 200],
  ['getGraph', 200],
  ['declareGraph', 200, () => ({ body: { nodes: [], edges: [] } })],
  ['declareGraph', 400, () => ({ body: { nodes: 1 } })],
  ['declareGraph', 404, () => ({ path: '/graphs/-bad' })],
  [
    'declareGraph',
    409,
    ({ sealedRunId }) => ({ path: `/graphs/${sealedRunId}`, body: { nodes: [], edges: [] } }),
  ],
  ['commitGraph', 200, ({ sealedRunId }) => ({ path: `/graphs/${sealedRunId}/commit` })],
  ['getLineage', 200],
  ['getJob', 200],
  ['listJobs', 200],
  ['listJobs', 400, () => ({ path: '/jobs?status=done' })],
  ['retryJob', 202, ({ failedJobId }) => ({ path: `/jobs/${failedJobId}/retry` })],
  ['retryJob', 409],
  ['evaluatePolicy', 200],
  ['evaluatePolicy', 400, () => ({ body: { runId: 'r' } })],
  ['listPolicyEvaluations', 200],
  ['listPolicyEvaluations', 400, () => ({ path: '/governance/policy/evaluations?cursor=x' })],
  ['getSnapshot', 200],
  ['putSnapshot', 200],
  ['putSnapshot', 400, () => ({ body: {} })],
  ['putSnapshot', 409, () => ({ body: { ...snapshot, modelRoute: 'x' } })],
  ['createPolicy', 201, () => ({ body: policy })],
  ['createPolicy', 400, () => ({ body: { ...policy, condition: { nope: [1] } } })],
  ['createPolicy', 409],
  ['listPolicies', 200],
  ['listPolicies', 400, () => ({ path: '/governance/policies?status=on' })],
  ['getPolicy', 200],
  ['listPolicyVersions', 200],
  [
    'listPolicyVersions',
    400,
    ({ policyId }) => ({ path: `/governance/policies/${policyId}/versions?limit=x` }),
  ],
  ['addPolicyVersion', 201],
  ['addPolicyVersion', 400, () => ({ body: { ...policyVersion, action: 'stop' } })],
  ['publishPolicy', 200],
  ['publishPolicy', 400, () => ({ body: { version: 0 } })],
  ['getPolicyInForce', 200],
  ['simulatePolicy', 200],
  ['simulatePolicy', 400, () => ({ body: { checkpoint: { context: 1 } } })],
  ['analyzePolicyImpact', 200],
  ['analyzePolicyImpact', 400, () => ({ body: { proposedVersion: policyVersion, sampleCheckpoints: [] } })],
  ['analyzePolicyHistory', 200],
  ['analyzePolicyHistory', 400, () => ({ body: { proposedVersion: policyVersion, limit: 0 } })],
  ['simulatePolicies', 200],
  ['simulatePolicies', 400, () => ({ body: { checkpoint, policyIds: ['nobody'] } })],
  ['transitionPolicy', 200, () => ({ body: disabled })],
  ['transitionPolicy', 400, () => ({ body: { targetStatus: 'draft' } })],
  ['rollbackPolicy', 200],
  ['rollbackPolicy', 400, () => ({ body: { targetVersion: '1' } })],
  ['evaluateRisk', 200],
  ['evaluateRisk', 400, () => ({ body: {} })],
  ['getRiskConfig', 200],
  ['putRiskConfig', 200],
  ['putRiskConfig', 400, () => ({ body: { ...riskConfig, mode: 'lax' } })],
  ['listRiskDecisions', 200],
  ['listRiskDecisions', 400, () => ({ path: '/risk/decisions?limit=x' })],
  ['createReplay', 202],
  ['createReplay', 400, ({ runId }) => ({ body: { runId, replaySnapshot: {} } })],
  ['createGraphReplay', 202, () => ({ body: graph })],
  ['createGraphReplay', 400, () => ({ body: { ...graph, nodes: [...graph.nodes, ...graph.nodes] } })],
  ['listReplays', 200],
  ['listReplays', 400, () => ({ path: '/replay?status=done' })],
  ['getReplay', 200],
  ['evaluateTool', 200],
  ['evaluateTool', 400, () => ({ body: { tool: { name: 'ls' }, arguments: {}, policyIds: ['nobody'] } })],
  ['evaluateTool', 403, byApprover],
  ['listApprovals', 200],
  ['listApprovals', 400, () => ({ path: '/approvals?status=done' })],
  ['getApproval', 200],
  ['listApprovers', 200],
  ['listApprovers', 400, () => ({ path: '/approvers?status=lost' })],
  ['getApprover', 200],
  ['challengeApprover', 200],
  ['challengeApprover', 400, () => ({ body: { name: 'Ada', origin: 'http://gov.example' } })],
  ['enrolApprover', 201, byApprover],
  ['enrolApprover', 400, () => ({ body: { name: 'Ada', ssh: { publicKey: 'ssh-dss AAAA' } } })],
  ['enrolApprover', 403, byApprover],
  ['enrolApprover', 409],
  ['stateApproval', 200],
  ['stateApproval', 400, ({ approverId }) => ({ body: { outcome: 'maybe', approverId } })],
  ['stateApproval', 403, byApprover],
  ['decideApproval', 400, (made) => ({ ...byApprover(made), body: { outcome: 'maybe' } })],
  ['decideApproval', 403],
  ['decideApproval', 200, byApprover],
  ['stateApproval', 409],
  ['revokeApprover', 403, byApprover],
  ['revokeApprover', 200],
  ['createExport', 202],
  ['createExport', 400, () => ({ body: { resource: 'causal_graphs', format: 'csv' } })],
  ['createExport', 403, byApprover],
  ['listExports', 200],
  ['listExports', 400, () => ({ path: '/exports?status=x' })],
  ['listExports', 403, byApprover],
  ['getExport', 200],
  ['getExport', 403, byApprover],
  ['downloadExport', 200],
  ['downloadExport', 403, byApprover],
  ['downloadExport', 412, () => ({ headers: { 'if-match': '"another"' } })],
  ['downloadExport', 416, () => ({ headers: { range: 'bytes=9007199254740-' } })],
  ...reportScenarios,
  ['deleteExport', 403, byApprover],
  ['deleteExport', 204],
  ['createErasure', 200, ({ eventId }) => ({ body: { eventId, dryRun: true } })],
  ['createErasure', 400, () => ({ body: {} })],
  ['createErasure', 403, (made) => ({ ...byApprover(made) })],
  ['createErasure', 404, () => ({ body: { eventId: nobodysIds.eventId } })],
  ['createErasure', 409, () => ({ body: { subject: 'nobody' } })],
  ['listErasures', 200],
  ['listErasures', 400, () => ({ path: '/erasures?cursor=x' })],
  ['getErasure', 200],
  ['createErasure', 201],
  ['decideApproval', 409, (made) => ({ ...byApprover(made), body: { outcome: 'denied' } })],
  ['createWebhookEndpoint', 201],
  ['createWebhookEndpoint', 400, () => ({ body: { url: 'https://127.0.0.1/' } })],
  ['createWebhookEndpoint', 403, byApprover],
  ['listWebhookEndpoints', 200],
  ['listWebhookEndpoints', 400, () => ({ path: '/webhooks/endpoints?limit=x' })],
  ['listWebhookEndpoints', 403, byApprover],
  ['getWebhookEndpoint', 200],
  ['getWebhookEndpoint', 403, byApprover],
  ['testWebhookEndpoint', 200],
  ['testWebhookEndpoint', 403, byApprover],
  ['rotateWebhookSecret', 201],
  [
    'rotateWebhookSecret',
    400,
    ({ endpointId }) => ({ path: `/webhooks/endpoints/${endpointId}/rotate?overlapSeconds=x` }),
  ],
  ['rotateWebhookSecret', 403, byApprover],
  ['listWebhookDeliveries', 200],
  ['listWebhookDeliveries', 400, () => ({ path: '/webhooks/deliveries?status=done' })],
  ['listWebhookDeliveries', 403, byApprover],
  ['getWebhookDelivery', 200],
  ['getWebhookDelivery', 403, byApprover],
  ['redeliverWebhook', 409],
  ['updateWebhookEndpoint', 200, () => ({ body: { enabled: true } })],
  ['updateWebhookEndpoint', 400, () => ({ body: {} })],
  ['updateWebhookEndpoint', 403, byApprover],
  ['redeliverWebhook', 202],
  ['redeliverWebhook', 403, byApprover],
  ['deleteWebhookEndpoint', 403, byApprover],
  ['deleteWebhookEndpoint', 204],
  ['applyConfigBundle', 400, () => ({ body: { parts: [] } })],
  ['openConsoleSession', 400, () => ({ body: {} })],
  ['closeConsoleSession', 200],
  ['getIdentity', 200],
  ['getHealth', 200],
  ['getLiveness', 200],
  ['getReadiness', 200],
  ['listForwards', 200],
  ['getCheckpoint', 200],
  ['getLogKey', 200],
  ['getLogKeyChanges', 200],
  ['askLog', 200, () => ({ path: '/log/answers?runId=run-1' })],
  ['askLog', 400, () => ({ path: '/log/answers' })],
  ['getTile', 200],
  ['getTile', 404, () => ({ path: '/log/tile/9/000' })],
  ['createReportSchedule', 403, byApprover],
  ['createReportSchedule', 201],
  ['createReportSchedule', 400, () => ({ body: { ...schedule, cron: '0 0 30 2 *' } })],
  ['createReportSchedule', 404, () => ({ body: { ...schedule, reportTemplateId: 'nobodys' } })],
  ['listReportSchedules', 403, byApprover],
  ['listReportSchedules', 200],
  ['listReportSchedules', 400, () => ({ path: '/reporting/schedules?limit=x' })],
  ['getReportSchedule', 403, byApprover],
  ['getReportSchedule', 200],
  ['updateReportSchedule', 403, byApprover],
  ['updateReportSchedule', 200],
  ['updateReportSchedule', 400, () => ({ body: { timezone: 'Mars/Base' } })],
  ['deleteReportSchedule', 403, byApprover],
  ['deleteReportSchedule', 204],
  ['listReportDeliveries', 403, byApprover],
  ['listReportDeliveries', 200],
  ['listReportDeliveries', 400, () => ({ path: '/reporting/deliveries?status=lost' })],
  ['getReportDelivery', 403, byApprover],
  ['getReportDelivery', 200],
  ['retryReportDelivery', 403, byApprover],
  ['retryReportDelivery', 202],
  ...(['runReportSchedules', 'runReportExecutions', 'runReportDeliveries', 'runReportCleanup'] as const).map(
    (id): Scenario => [id, 200, () => ({ key: null, headers: { 'x-cron-secret': cronSecret } })],
  ),
];

/** Of rows that document them: 401 without a credential, 404 about an id that nobody has. */
export function refusalsOf(rows: readonly OperationId[]): Scenario[] {
  return rows.flatMap((id) => {
    const { path, statuses, access }: Operation = table[id];
    const made: Scenario[] = statuses.includes(401) ? [[id, 401, () => anonymous]] : [];
    // a graph may be declared for any run; nobody here is a data plane
    const isById = path.includes('{') && id !== 'declareGraph' && access !== 'plane';
    if (isById && statuses.includes(404)) made.push([id, 404, () => rowRequest(id, nobodysIds)]);
    return made;
  });
}
