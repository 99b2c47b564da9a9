/**
 * What happens where processes on one database get the same request of an operation at once: for every operation of the
 * contract that is no GET. `test/service/races.long.test.ts` sends them; an operation without an entry does not compile.
 */
import type { OperationId, Table } from '../../../src/contract/table.ts';
import { snapshot } from '../../support/rows.ts';
import { event } from '../../support/serving.ts';
import { logo, upload } from '../../support/upload.ts';
import { withCookie } from './accounts.ts';
import { cancelledJob } from './filled.ts';
import { planeRaces } from './plane-races.ts';
import {
  completeExport,
  type Contender,
  each,
  failWith,
  fresh,
  listed,
  newDelivery,
  newEndpoint,
  newExport,
  newKey,
  newPlane,
  newPolicy,
  newProject,
  newRun,
  newSchedule,
  newShare,
  newTemplate,
  type NoRace,
  publishedPolicy,
  type Race,
  raceFor,
  requestOf,
  same,
} from './racing.ts';
import { cronSecret } from './scenarios.ts';
import { told } from './tenants.ts';

type Writing = {
  [Id in OperationId]: Table[Id]['method'] extends 'GET' ? never : Id;
}[OperationId];

const cron: Pick<Contender, 'key' | 'headers'> = { key: null, headers: { 'x-cron-secret': cronSecret } };
const ownPage = { origin: 'http://localhost', 'sec-fetch-site': 'same-origin' };
const ok = (id: OperationId, ...statuses: number[]): Race => ({ statuses, contenders: same(id) });
const reads = 'computes and stores nothing';

export const races: { readonly [Id in Writing]: Race | NoRace } = {
  ...planeRaces,
  createEvent: {
    statuses: [201],
    contenders: each((at) => ({
      method: 'POST',
      path: '/events',
      body: event({ runId: 'race-events', metadata: { at } }),
    })),
    after: async ({ call }, answers) => {
      const { count } = (await call('GET', '/events/count?runId=race-events')).body;
      if (count !== answers.length) failWith(`expected ${answers.length} events, got ${count}`);
    },
  },
  createEvents: {
    statuses: [201],
    contenders: each(() => ({
      method: 'POST',
      path: '/events/batch',
      body: { events: [event({ runId: 'race-batches' }), event({ runId: 'race-batches' })] },
    })),
    after: async ({ call }, answers) => {
      const { count } = (await call('GET', '/events/count?runId=race-batches')).body;
      if (count !== 2 * answers.length) failWith(`expected ${2 * answers.length} events, got ${count}`);
    },
  },
  createProof: { statuses: [201], contenders: same('createProof', newRun) },
  verifyProof: ok('verifyProof', 200),
  evaluateRisk: ok('evaluateRisk', 200),
  putRiskConfig: ok('putRiskConfig', 200),
  createReplay: { statuses: [202], contenders: same('createReplay', newRun) },
  createGraphReplay: {
    statuses: [202],
    contenders: async (racing, count) => {
      const { runId, eventId } = await newRun(racing);
      return Array.from({ length: count }, (_, at) => ({
        method: 'POST',
        path: '/replay/causal-graph',
        body: {
          runId,
          nodes: [
            { id: eventId, type: 'event' },
            { id: `declared-${at}`, type: 'data' },
          ],
          edges: [],
        },
      }));
    },
    after: async ({ call }, answers) => {
      let runId = '';
      for (const { body } of answers) {
        for (;;) {
          const { body: job } = await call('GET', `/jobs/${body.jobId}`);
          if (job.status === 'failed') failWith(`expected a completed replay, got ${job.errorSummary}`);
          runId = job.runId;
          if (job.status === 'completed') break;
        }
      }
      const { nodes } = (await call('GET', `/graphs/${runId}`)).body;
      const declared = (nodes as { id: string }[]).filter(({ id }) => id.startsWith('declared-'));
      if (declared.length !== answers.length)
        failWith(`expected ${answers.length} declared nodes, got ${declared.length}`);
    },
  },
  declareGraph: { statuses: [200], contenders: same('declareGraph', newRun) },
  commitGraph: {
    statuses: [200],
    contenders: same('commitGraph', newRun),
    after: async (_, answers) => {
      const texts = new Set(answers.map(({ text }) => text));
      if (texts.size !== 1) failWith(`expected one seal, got ${[...texts].join(' and ')}`);
    },
  },
  evaluatePolicy: ok('evaluatePolicy', 200),
  putSnapshot: {
    statuses: [200],
    contenders: async (racing, count) => {
      const { runId } = await newRun(racing);
      const request = { method: 'PUT', path: `/governance/snapshots/${runId}`, body: snapshot };
      return Array.from({ length: count }, () => request);
    },
  },
  simulatePolicy: reads,
  analyzePolicyImpact: reads,
  analyzePolicyHistory: reads,
  simulatePolicies: reads,
  createPolicy: {
    statuses: [201, 409],
    won: 'one',
    contenders: same('createPolicy', async () => ({ policyId: fresh('policy') })),
  },
  addPolicyVersion: {
    statuses: [201],
    contenders: same('addPolicyVersion', newPolicy),
    after: async (_, answers) => {
      const versions = new Set(answers.map(({ body }) => body.version as number));
      if (versions.size !== answers.length)
        failWith(`expected distinct versions, got ${[...versions].join()}`);
    },
  },
  publishPolicy: { statuses: [200], contenders: same('publishPolicy', newPolicy) },
  transitionPolicy: { statuses: [200], contenders: same('transitionPolicy', publishedPolicy) },
  rollbackPolicy: { statuses: [200], contenders: same('rollbackPolicy', publishedPolicy) },
  applyConfigBundle: 'at a plane, which is one process',
  evaluateTool: {
    statuses: [200],
    contenders: each((at) => ({
      method: 'POST',
      path: '/mcp/tools/evaluate',
      body: { runId: 'race-tools', tool: { name: 'ls' }, arguments: { at } },
    })),
  },
  stateApproval: ok('stateApproval', 200),
  decideApproval: {
    statuses: [200, 409],

    contenders: async (racing, count) => {
      const { key } = await racing.made('POST', '/api-keys', {
        name: fresh('key'),
        scopes: ['approvals:decide'],
      });
      return same('decideApproval', undefined, { key })(racing, count);
    },
  },
  challengeApprover: ok('challengeApprover', 200),
  enrolApprover: { statuses: [201, 409], won: 'one', contenders: same('enrolApprover') },
  revokeApprover: { statuses: [200, 404], contenders: same('revokeApprover') },
  retryJob: {
    statuses: [202, 409],

    contenders: same('retryJob', async ({ call, filled }) => ({
      jobId: await cancelledJob(call, filled.runId),
    })),
  },
  cancelJob: {
    statuses: [200, 409],
    won: 'any',
    contenders: same('cancelJob', ({ made, filled }) =>
      made('POST', '/proofs', { runId: filled.runId, async: true }),
    ),
  },
  createExport: { statuses: [202, 429], contenders: same('createExport') },
  deleteExport: { statuses: [204, 404], contenders: same('deleteExport', completeExport) },
  cancelExport: { statuses: [200, 409], won: 'any', contenders: same('cancelExport', newExport) },
  createExecution: { statuses: [202, 429], contenders: same('createExecution') },
  createShare: ok('createShare', 201),
  revokeShare: { statuses: [204, 404], contenders: same('revokeShare', newShare) },
  putBranding: ok('putBranding', 200),
  uploadLogo: { statuses: [201], contenders: same('uploadLogo', undefined, upload(logo)) },
  createReportTemplate: ok('createReportTemplate', 201),
  updateReportTemplate: {
    statuses: [200],
    contenders: same('updateReportTemplate', newTemplate, { body: { name: 'Renamed' } }),
  },
  deleteReportTemplate: {
    statuses: [204, 404],
    won: 'one',
    contenders: same('deleteReportTemplate', newTemplate),
  },
  createReportSchedule: {
    statuses: [201],
    contenders: same('createReportSchedule', undefined, {
      body: {
        name: 'Daily',
        reportTemplateId: 'executive-summary',
        window: 'previous_day',
        cron: '0 6 1 1 *',
      },
    }),
  },
  updateReportSchedule: {
    statuses: [200],
    contenders: same('updateReportSchedule', newSchedule, { body: { name: 'Renamed' } }),
  },
  deleteReportSchedule: {
    statuses: [204, 404],
    won: 'one',
    contenders: same('deleteReportSchedule', newSchedule),
  },
  retryReportDelivery: { statuses: [202, 409], contenders: same('retryReportDelivery') },
  runReportSchedules: { statuses: [200], contenders: same('runReportSchedules', undefined, cron) },
  runReportExecutions: { statuses: [200], contenders: same('runReportExecutions', undefined, cron) },
  runReportDeliveries: { statuses: [200], contenders: same('runReportDeliveries', undefined, cron) },
  runReportCleanup: { statuses: [200], contenders: same('runReportCleanup', undefined, cron) },
  signUp: {
    statuses: [201, 409],
    won: 'one',
    contenders: async ({ idToken }, count) => {
      const request = { ...requestOf('signUp', {}), key: await idToken(fresh('person')) };
      return Array.from({ length: count }, () => request);
    },
  },
  openSession: {
    statuses: [200],
    contenders: async ({ idToken }, count) => {
      const request = { ...requestOf('openSession', {}), key: null, body: { idToken: await idToken('ada') } };
      return Array.from({ length: count }, () => request);
    },
  },
  closeSession: {
    statuses: [200],
    contenders: same('closeSession', undefined, { key: null, ...withCookie('of-nobody') }),
  },
  createCliToken: {
    statuses: [201],
    contenders: async ({ idToken }, count) => {
      const request = {
        ...requestOf('createCliToken', {}),
        key: null,
        body: { idToken: await idToken('ada') },
      };
      return Array.from({ length: count }, () => request);
    },
  },
  revokeCliToken: {
    statuses: [200, 401],

    contenders: async ({ call, idToken }, count) => {
      const body = { idToken: await idToken('ada') };
      const { token } = (await call('POST', '/auth/tokens', { key: null, body })).body;
      return Array.from({ length: count }, () => ({
        ...requestOf('revokeCliToken', {}),
        key: token as string,
      }));
    },
  },
  startSignIn: {
    statuses: [200],
    contenders: same('startSignIn', undefined, { key: null, headers: ownPage }),
  },
  signOut: { statuses: [200], contenders: same('signOut', undefined, { key: null, headers: ownPage }) },
  createConsoleLink: 'at a plane, which is one process',
  openConsoleSession: 'at a plane, which is one process',
  closeConsoleSession: 'at a plane, which is one process',
  createProject: {
    statuses: [201, 400],
    won: 'one',
    contenders: same('createProject', undefined, { body: { name: 'One name', environment: 'production' } }),
  },
  updateProject: {
    statuses: [200],
    contenders: async (racing, count) => {
      const { projectId } = await newProject(racing);
      return Array.from({ length: count }, (_, at) => ({
        method: 'PUT',
        path: `/projects/${projectId}`,
        body: { settings: at % 2 === 0 ? { retentionDays: 200 } : { timezone: 'Europe/Rome' } },
      }));
    },
    after: async ({ call }, answers) => {
      const { settings } = (await call('GET', `/projects/${answers[0]?.body.id}`)).body;
      if (settings.retentionDays !== 200 || settings.timezone !== 'Europe/Rome')
        failWith(`expected both settings, got ${JSON.stringify(settings)}`);
    },
  },
  deleteProject: { statuses: [200, 404], contenders: same('deleteProject', newProject) },
  createApiKey: {
    statuses: [201],
    contenders: same('createApiKey'),
    after: listed('/api-keys?limit=200', ({ keyId }) => keyId),
  },
  updateApiKey: { statuses: [200], contenders: same('updateApiKey', newKey) },
  revokeApiKey: { statuses: [204, 404], contenders: same('revokeApiKey', newKey) },
  rotateApiKey: { statuses: [201, 404], contenders: same('rotateApiKey', newKey) },
  putThresholds: ok('putThresholds', 200),
  openBillingPortal: raceFor({
    statuses: [200],
    make: async ({ call }) => (await told(call, 'billing.portal_opened')).length,
    contender: () => requestOf('openBillingPortal', {}),
    after: async (before, { call }, answers) => {
      const opened = (await told(call, 'billing.portal_opened')).length - before;
      if (opened !== answers.length) failWith(`expected ${answers.length} openings, got ${opened}`);
    },
  }),
  putRetention: {
    statuses: [200],
    contenders: same('putRetention', undefined, { body: { retentionDays: null, legalHold: false } }),
  },
  createDataPlane: {
    statuses: [201],
    contenders: same('createDataPlane'),
    after: listed('/telemetry/planes?limit=200', ({ dataPlaneId }) => dataPlaneId),
  },
  issueEnrolmentToken: { statuses: [201], contenders: same('issueEnrolmentToken', newPlane) },
  revokeDataPlane: { statuses: [204, 404], won: 'one', contenders: same('revokeDataPlane', newPlane) },
  createWebhookEndpoint: {
    statuses: [201],
    contenders: same('createWebhookEndpoint'),
    after: listed('/webhooks/endpoints?limit=200', ({ endpointId }) => endpointId),
  },
  updateWebhookEndpoint: { statuses: [200], contenders: same('updateWebhookEndpoint', newEndpoint) },
  deleteWebhookEndpoint: {
    statuses: [204, 404],
    won: 'one',
    contenders: same('deleteWebhookEndpoint', newEndpoint),
  },
  rotateWebhookSecret: {
    statuses: [201],
    contenders: async (racing, count) => {
      const { endpointId } = await newEndpoint(racing);
      const path = `/webhooks/endpoints/${endpointId}/rotate?overlapSeconds=0`;
      return Array.from({ length: count }, () => ({ method: 'POST', path }));
    },
  },
  testWebhookEndpoint: { statuses: [200], contenders: same('testWebhookEndpoint', newEndpoint) },
  redeliverWebhook: { statuses: [202], count: 32, contenders: same('redeliverWebhook', newDelivery) },
  // last, because it ends the reports that show the event
  createErasure: { statuses: [201, 400], won: 'one', contenders: same('createErasure', newRun) },
};
