/**
 * Requests made of the contract table: for every row its path, query and a body that its schema accepts, with given
 * ids wherever the row takes one. A row that is new, and takes what nothing here knows, makes this throw.
 */
import type { TSchema } from 'typebox';
import type { Operation } from '../../src/contract/operation.ts';
import { table, type OperationId, type Table } from '../../src/contract/table.ts';
import { createToken } from '../../src/service/credentials/token-format.ts';
import { event } from './serving.ts';

/** What a row can be asked about. */
export interface Ids {
  readonly eventId: string;
  readonly runId: string;
  readonly proofId: string;
  readonly jobId: string;
  readonly replayId: string;
  readonly policyId: string;
  readonly approvalId: string;
  readonly approverId: string;
  readonly erasureId: string;
  readonly exportId: string;
  readonly executionId: string;
  /** Of a custom template, which takes a run. */
  readonly reportTemplateId: string;
  readonly scheduleId: string;
  readonly deliveryId: string;
  readonly shareId: string;
  /** Of a share link. */
  readonly token: string;
  readonly logoId: string;
  readonly projectId: string;
  readonly keyId: string;
  readonly dataPlaneId: string;
  readonly reportId: string;
  readonly challengeId: string;
  readonly endpointId: string;
  readonly webhookDeliveryId: string;
}

/** Ids of the right form that nobody has. */
export const nobodysIds: Ids = {
  // names leaf 4 of the log, which everybody has, as an event of another time
  eventId: 'evt_01jzzzzzzzf84af5g000000004',
  runId: 'nobodys-run',
  proofId: 'prf_01jzzzzzzzzzzzzzzzzzzzzzzz',
  jobId: 'job_01jzzzzzzzzzzzzzzzzzzzzzzz',
  replayId: 'rpl_01jzzzzzzzzzzzzzzzzzzzzzzz',
  policyId: 'nobodys-policy',
  approvalId: 'apr_01jzzzzzzzzzzzzzzzzzzzzzzz',
  approverId: 'apv_01jzzzzzzzzzzzzzzzzzzzzzzz',
  erasureId: 'ers_01jzzzzzzzzzzzzzzzzzzzzzzz',
  exportId: 'exp_01jzzzzzzzzzzzzzzzzzzzzzzz',
  executionId: 'rex_01jzzzzzzzzzzzzzzzzzzzzzzz',
  reportTemplateId: 'tpl_01jzzzzzzzzzzzzzzzzzzzzzzz',
  scheduleId: 'sch_01jzzzzzzzzzzzzzzzzzzzzzzz',
  deliveryId: 'dlv_01jzzzzzzzzzzzzzzzzzzzzzzz',
  shareId: 'shr_01jzzzzzzzzzzzzzzzzzzzzzzz',
  token: createToken('shr', (size) => Buffer.alloc(size, 7)),
  logoId: 'lgo_01jzzzzzzzzzzzzzzzzzzzzzzz',
  projectId: 'prj_01jzzzzzzzzzzzzzzzzzzzzzzz',
  keyId: 'key_01jzzzzzzzzzzzzzzzzzzzzzzz',
  dataPlaneId: 'dpl_01jzzzzzzzzzzzzzzzzzzzzzzz',
  reportId: 'urp_01jzzzzzzzzzzzzzzzzzzzzzzz',
  challengeId: `chl_${'z'.repeat(52)}`,
  endpointId: 'whe_01jzzzzzzzzzzzzzzzzzzzzzzz',
  webhookDeliveryId: 'dlv_01jzzzzzzzzzzzzzzzzzzzzzzz',
};

export interface RowRequest {
  readonly method: Operation['method'];
  /** Below the base path, with its query. */
  readonly path: string;
  readonly body?: unknown;
}

type TakesBody = {
  [Id in OperationId]: Table[Id] extends { readonly body: TSchema } ? Id : never;
}[OperationId];

export const policyVersion = { condition: { 'tool.name': 'shell' }, action: 'deny' };
export const policy = { name: 'No shell', ...policyVersion };
export const snapshot = { policyHash: 'a', modelRoute: 'b', toolRegistryHash: 'c', configStateHash: 'd' };
export const checkpoint = { context: { tool: { name: 'shell' } } };
/** Of the key pair whose private half is the seed of 32 zero bytes (RFC 8032, Ed25519). */
export const sshPublicKey =
  'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop ada@example';
export const riskConfig = {
  mode: 'adaptive',
  thresholds: { allow: 0, flag: 0.3, escalate: 0.6, block: 0.9 },
  defaultAction: 'escalate',
};

/** Every row of the tests lies in it. */
export const reportPeriod = { startTime: '2026-01-01T00:00:00Z', endTime: '2026-12-31T23:59:59Z' };

const zeros = { audit_event: 0, compliance_proof: 0, risk_decision: 0, replay_verification: 0 };
/** Valid by its schema; nothing in it is signed. */
const usageReport = ({ reportId, dataPlaneId, projectId }: Ids) => ({
  schemaVersion: 'gov.usage/1',
  reportId,
  dataPlaneId,
  projectId,
  environment: 'production',
  sequence: 1,
  periodStart: '2026-03-01T08:30:00Z',
  periodEnd: '2026-03-01T09:30:00Z',
  operations: zeros,
  totals: zeros,
  unmetered: 0,
  log: { origin: 'x', epoch: 0, fromSize: 0, treeSize: 0, checkpoint: 'none', consistency: [] },
  lastLeaf: null,
  auditLog: { treeSize: 1, checkpoint: 'none' },
  previousReportHash: null,
  runtime: { planeVersion: '1.0.0', nodeVersion: '24.0.0' },
  sentAt: '2026-03-01T09:30:01Z',
});

/** An address with a name that is too long to be looked up, so no name server is asked. */
export const unknownReceiver = (name: string): string => `https://${name}.${'x'.repeat(64)}.example/`;

/** A row that takes a body and is not here does not compile, and `rowRequest` throws. */
const bodies: { readonly [Id in TakesBody]: (ids: Ids) => unknown } = {
  createEvent: ({ runId, eventId }) => event({ runId, causedBy: [eventId] }),
  createEvents: ({ runId, eventId }) => ({ events: [event({ runId, causedBy: [eventId] })] }),
  createProof: ({ runId }) => ({ runId }),
  verifyProof: ({ proofId }) => ({ proofId }),
  evaluateRisk: ({ runId, policyId }) => ({
    runId,
    policyDecisions: [{ policyId, decision: 'allow', score: 0.1 }],
  }),
  putRiskConfig: () => riskConfig,
  createReplay: ({ runId }) => ({ runId, compareRunId: runId }),
  createGraphReplay: ({ runId, eventId }) => ({ runId, nodes: [{ id: eventId, type: 'event' }], edges: [] }),
  declareGraph: ({ runId, eventId }) => ({
    runId,
    nodes: [],
    edges: [{ source: eventId, target: eventId, type: 'causes' }],
  }),
  evaluatePolicy: ({ runId, policyId }) => ({ runId, policies: [policyId], checkpoint }),
  putSnapshot: () => snapshot,
  simulatePolicy: ({ policyId }) => ({ checkpoint, policyIds: [policyId] }),
  analyzePolicyImpact: () => ({ proposedVersion: policyVersion, sampleCheckpoints: [checkpoint] }),
  analyzePolicyHistory: () => ({ proposedVersion: policyVersion }),
  simulatePolicies: ({ policyId }) => ({ checkpoint, policyIds: [policyId] }),
  createPolicy: ({ policyId }) => ({ policyId, ...policy }),
  applyConfigBundle: () => ({ parts: ['{"bundle":{},"signature":""}'] }),
  addPolicyVersion: () => policyVersion,
  publishPolicy: () => ({}),
  transitionPolicy: () => ({ targetStatus: 'archived' }),
  rollbackPolicy: () => ({ targetVersion: 1 }),
  evaluateTool: ({ runId, policyId, approvalId }) => ({
    tool: { name: 'ls' },
    arguments: {},
    runId,
    policyIds: [policyId],
    approvalId,
    source: 'hook',
    toolCallId: 'toolu_1',
  }),
  stateApproval: ({ approverId }) => ({ outcome: 'approved', approverId }),
  decideApproval: () => ({ outcome: 'approved' }),
  challengeApprover: () => ({ name: 'Ada', origin: 'https://gov.example', rpId: 'gov.example' }),
  enrolApprover: () => ({ name: 'Ada', ssh: { publicKey: sshPublicKey } }),
  createExport: ({ runId }) => ({ resource: 'audit_events', format: 'json', filters: { runId } }),
  createExecution: ({ reportTemplateId, runId, projectId }) => ({
    reportTemplateId,
    formats: ['csv', 'json'],
    parameters: { ...reportPeriod, runId, projectIds: [projectId] },
  }),
  createShare: () => ({ format: 'csv' }),
  createReportTemplate: () => ({ name: 'Board pack', sections: ['policy-changes/changes'] }),
  updateReportTemplate: ({ reportTemplateId }) => ({ name: 'Board pack', reportTemplateId }),
  createReportSchedule: ({ reportTemplateId, runId }) => ({
    name: 'Another',
    reportTemplateId,
    window: 'previous_day',
    cron: '0 6 1 1 *',
    runId,
  }),
  updateReportSchedule: ({ reportTemplateId, runId }) => ({
    name: 'Renamed',
    reportTemplateId,
    runId,
  }),
  putBranding: () => ({ companyName: 'Analytical Engines' }),
  createErasure: ({ eventId }) => ({ eventId, fields: ['/metadata'] }),
  signUp: () => ({ name: 'Ada', organizationName: 'Analytical Engines' }),
  openSession: () => ({ idToken: 'a.b.c' }),
  finishSignIn: () => ({ state: 'unknown', code: 'unknown' }),
  openConsoleSession: () => ({ code: 'unknown' }),
  createCliToken: () => ({ idToken: 'a.b.c' }),
  createProject: () => ({ name: 'Another', environment: 'production' }),
  updateProject: () => ({ settings: { timezone: 'Europe/Zurich' } }),
  createApiKey: () => ({ name: 'Another' }),
  updateApiKey: () => ({ description: 'for the archive' }),
  putThresholds: () => ({ percents: [75] }),
  openBillingPortal: () => ({ returnUrl: 'https://app.example/billing' }),
  putRetention: () => ({ retentionDays: null, legalHold: true }),
  reportUsage: (ids) => usageReport(ids),
  attestUsage: ({ challengeId, reportId, dataPlaneId }) => ({
    schemaVersion: 'gov.attest/1',
    challengeId,
    reportId,
    dataPlaneId,
    log: { origin: 'gov.example/metering/0', epoch: 0, treeSize: 0, checkpoint: 'none' },
    samples: [],
    consistency: [],
    cross: [],
    generatedAt: '2026-03-01T09:30:00Z',
    signature: 'none',
  }),
  createWebhookEndpoint: () => ({ url: unknownReceiver('hooks'), enabled: false }),
  updateWebhookEndpoint: () => ({ description: 'for the archive' }),
  createDataPlane: () => ({ name: 'Another' }),
  enrollDataPlane: () => ({
    token: `gov_enr_${'0'.repeat(38)}`,
    origin: 'gov.example/metering',
    auditOrigin: 'gov.example/audit',
    verifierKey: 'none',
    auditVerifierKey: 'none',
    possession: 'none',
  }),
  enrollDataPlaneByFile: () => ({
    schemaVersion: 'gov.enrolrequest/1',
    origin: 'gov.example/metering',
    auditOrigin: 'gov.example/audit',
    verifierKey: 'none',
    auditVerifierKey: 'none',
    sealTo: `${'A'.repeat(43)}=`,
    possession: 'none',
  }),
  rotatePlaneCredentials: () => ({}),
  importTelemetry: (ids) => ({
    messages: [
      {
        kind: 'attestation',
        challengeId: ids.challengeId,
        dataPlaneId: ids.dataPlaneId,
        timestamp: '1772357400',
        signature: '0'.repeat(64),
        body: '{}',
      },
    ],
  }),
};

/** Members of queries that name something, and which of the ids they take. */
const queryIds: Readonly<Record<string, keyof Ids>> = {
  runId: 'runId',
  nodeId: 'eventId',
  executionId: 'executionId',
  endpointId: 'endpointId',
};
/** Members that name something of the caller alone, or nothing that is stored. */
const ownNames = new Set(['aiSystemId', 'clientEventId', 'reportTemplateId']);
/** Queries that are required and name nothing. */
const requiredQueries: Readonly<Record<string, readonly string[]>> = {
  downloadReport: ['format=csv'],
  downloadShared: ['format=json'],
  getLogConsistency: ['from=1', 'to=2'],
};
/** Members that come only with the rest of an artifact, or instead of another one. */
const elsewhere: Readonly<Record<string, readonly string[]>> = {
  verifyProof: ['runId'],
  updateReportSchedule: ['scheduleId', 'lastExecutionId'],
  createErasure: ['evaluationId', 'decisionId'],
  updateApiKey: ['keyId', 'rotatedFromKeyId'],
  putSnapshot: ['runId'],
  // a signature holds for one approval; stateApproval names the approver
  decideApproval: ['approverId'],
  updateWebhookEndpoint: ['endpointId'],
};
const named = /(?:[a-z]Ids?|causedBy|policies)$/;

const bodyOf = bodies as Readonly<Record<string, ((ids: Ids) => unknown) | undefined>>;

/** The request of a row about these ids. Throws where the row takes an id or a body that is not known here. */
export function rowRequest(id: OperationId, ids: Ids): RowRequest {
  const row: Operation = table[id];
  const at = `${id}, ${row.method} ${row.path}`;
  const given = ids as Ids & Readonly<Record<string, string | undefined>>;
  // each log has a first leaf
  const path = row.path
    .replace('*', '0/000.p/1')
    .replace('{index}', '0')
    .replace(/\{(\w+)\}/g, (_, name: string) => {
      const value = given[name];
      if (value === undefined)
        throw new Error(`no id for {${name}} of ${at}: add it to test/support/rows.ts`);
      return value;
    });
  const query = Object.keys(row.query?.properties ?? {})
    .filter((name) => named.test(name) && !ownNames.has(name))
    .map((name) => {
      const key = queryIds[name];
      if (key === undefined) throw new Error(`no id for ?${name}= of ${at}: add it to test/support/rows.ts`);
      return `${name}=${ids[key]}`;
    });
  const request = {
    method: row.method,
    path: [path, [...query, ...(requiredQueries[id] ?? [])].join('&')]
      .filter((part) => part !== '')
      .join('?'),
  };
  if (row.body === undefined) return request;
  const make = bodyOf[id];
  if (make === undefined) throw new Error(`no body for ${at}: add it to test/support/rows.ts`);
  const body = make(ids);
  const members = idMembers(row.body).filter((name) => elsewhere[id]?.includes(name) !== true);
  const missing = members.filter((name) => !JSON.stringify(body).includes(`"${name}":`));
  if (missing.length > 0)
    throw new Error(`no ${missing.join(', ')} in the body of ${at}: see test/support/rows.ts`);
  return { ...request, body };
}

/** Names of the members of a schema, at any depth, that name something. */
function idMembers(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  const { properties = {} } = schema as { properties?: object };
  const own = Object.keys(properties).filter((name) => named.test(name) && !ownNames.has(name));
  return [...own, ...Object.values(schema).flatMap(idMembers)];
}

/** Which ids a row takes. */
export function idsOf(id: OperationId): (keyof Ids)[] {
  const taken = new Set<string>();
  const watched = new Proxy(nobodysIds, {
    get: (target, name: string) => {
      taken.add(name);
      return Reflect.get(target, name) as string;
    },
  });
  rowRequest(id, watched);
  return [...taken] as (keyof Ids)[];
}
