/** As `scenarios.ts`, of the groups that a plane does not have: accounts, projects, keys, quotas, billing. */
import type { OperationId } from '../../../src/contract/table.ts';
import { nobodysIds, rowRequest } from '../../support/rows.ts';
import type { CallOptions } from '../../support/serving.ts';
import { withCookie } from './accounts.ts';
import type { Made, Request, Scenario } from './scenarios.ts';

/** What the test made before of a service. */
export interface HostedMade extends Made {
  /** ID tokens of the person who signed up, and of one who has not. */
  readonly idToken: string;
  readonly strangersToken: string;
  /** Of a browser, and of the command line. */
  readonly session: string;
  readonly cliToken: string;
  /** A key, and a project, that are there to be ended. */
  readonly spareKeyId: string;
  readonly spareProjectId: string;
  /** Key of an organization that has no customer at the payment provider. */
  readonly othersKey: string;
  /** Key of a project whose quotas are used up, below its base URL; a run of it that has an event. */
  readonly used: { readonly key: string; readonly baseUrl: string; readonly runId: string };
}

const byPerson = ({ idToken }: HostedMade): CallOptions => ({
  key: idToken,
  headers: { 'gov-project': nobodysIds.projectId },
});
/** Headers of a page of the console. */
const ownPage = { origin: 'http://localhost', 'sec-fetch-site': 'same-origin' };
const byApprover = ({ approver }: Made): CallOptions => ({ key: approver });
const keyPath = (made: HostedMade): string => `/api-keys/${made.keyId}`;

export const hostedScenarios: readonly Scenario<HostedMade>[] = [
  ['signUp', 201, ({ strangersToken }) => ({ key: strangersToken })],
  ['signUp', 400, ({ idToken }) => ({ key: idToken, body: { name: '' } })],
  ['signUp', 409, ({ idToken }) => ({ key: idToken })],
  ['openSession', 200, ({ idToken }) => ({ key: null, body: { idToken } })],
  ['openSession', 400, () => ({ body: {} })],
  ['closeSession', 200, ({ session }) => ({ key: null, ...withCookie(session) })],
  ['createCliToken', 201, ({ idToken }) => ({ key: null, body: { idToken } })],
  ['createCliToken', 400, () => ({ body: {} })],
  ['getIdentity', 404, byPerson],
  ['revokeCliToken', 200, ({ cliToken }) => ({ key: cliToken })],
  ['getAuthConfiguration', 200],
  ['startSignIn', 200, () => ({ key: null, headers: ownPage })],
  ['startSignIn', 403, () => ({ key: null })],
  ['finishSignIn', 400, () => ({ body: {} })],
  ['signOut', 200, () => ({ key: null, headers: ownPage })],
  ['signOut', 403, () => ({ key: null })],
  ['createConsoleLink', 404],
  ['createProject', 201],
  ['createProject', 400],
  ['listProjects', 200],
  ['listProjects', 400, () => ({ path: '/projects?limit=x' })],
  ['getProject', 200],
  ['updateProject', 200],
  ['updateProject', 400, () => ({ body: { settings: { colour: 'blue' } } })],
  ['deleteProject', 200, ({ spareProjectId }) => ({ path: `/projects/${spareProjectId}` })],
  ['createApiKey', 201],
  ['createApiKey', 400, () => ({ body: {} })],
  ['createApiKey', 403, byApprover],
  ['createApiKey', 404, byPerson],
  ['listApiKeys', 200],
  ['listApiKeys', 400, () => ({ path: '/api-keys?limit=x' })],
  ['listApiKeys', 403, byApprover],
  ['listApiKeys', 404, byPerson],
  ['getApiKey', 200],
  ['getApiKey', 403, byApprover],
  ['updateApiKey', 200],
  ['updateApiKey', 400, () => ({ body: {} })],
  ['updateApiKey', 403, byApprover],
  ['rotateApiKey', 400, (made) => ({ path: `${keyPath(made)}/rotate?overlapSeconds=x` })],
  ['rotateApiKey', 403, byApprover],
  ['rotateApiKey', 201],
  ['revokeApiKey', 400, (made) => ({ path: `${keyPath(made)}?when=now` })],
  ['revokeApiKey', 403, byApprover],
  ['revokeApiKey', 204, ({ spareKeyId }) => ({ path: `/api-keys/${spareKeyId}` })],
  ['getUsage', 200],
  ['getUsage', 400, () => ({ path: '/metering/usage?period=2026-13' })],
  ['getThresholds', 200],
  ['putThresholds', 200],
  ['putThresholds', 400, () => ({ body: { percents: [] } })],
  ['openBillingPortal', 200],
  ['openBillingPortal', 400, () => ({ body: { returnUrl: 'https://evil.example/' } })],
  ['openBillingPortal', 404, ({ othersKey }) => ({ key: othersKey })],
  ['getBillingSummary', 200],
  ['createDataPlane', 201],
  ['createDataPlane', 400, () => ({ body: { name: '' } })],
  ['createDataPlane', 403, byApprover],
  ['listDataPlanes', 200],
  ['listDataPlanes', 400, () => ({ path: '/telemetry/planes?limit=x' })],
  ['listDataPlanes', 403, byApprover],
  ['getDataPlane', 200],
  ['getDataPlane', 403, byApprover],
  ['listUsageReports', 200],
  ['listUsageReports', 400, (made) => ({ path: `/telemetry/planes/${made.dataPlaneId}/reports?cursor=x` })],
  ['listUsageReports', 403, byApprover],
  ['issueEnrolmentToken', 201],
  ['issueEnrolmentToken', 403, byApprover],
  ['enrollDataPlane', 400, () => ({ body: {} })],
  ['enrollDataPlaneByFile', 400],
  ['getCosigner', 200],
  ['enrollDataPlaneByFile', 403, byApprover],
  ['importTelemetry', 200],
  ['importTelemetry', 400, () => ({ body: { messages: [] } })],
  ['importTelemetry', 403, byApprover],
  ['revokeDataPlane', 403, byApprover],
  ['revokeDataPlane', 204],
  ['getRetention', 200],
  ['putRetention', 200],
  ['putRetention', 400, () => ({ body: { retentionDays: 0, legalHold: true } })],
  ...(
    [
      'createEvent',
      'createEvents',
      'createProof',
      'evaluateRisk',
      'createReplay',
      'createGraphReplay',
    ] as const
  ).map((id): Scenario<HostedMade> => [id, 429, (made) => overQuota(id, made)]),
];

/** The row's own request, in the project that has no units left. */
function overQuota(id: OperationId, made: HostedMade): Partial<Request> {
  const { key, baseUrl, runId } = made.used;
  const { path, ...rest } = rowRequest(id, { ...made, runId });
  return { path: baseUrl + path, key, ...rest };
}
