/**
 * One request for every operation and every status that its row documents, in every world; each answer is held against
 * the schema of its row.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { table, type OperationId } from '../../src/contract/table.ts';
import { startService, type StartService, type Tenant, type TestService } from '../support/hosted.ts';
import { customers, startStripe, stripeKey, type StripeServer } from '../host/identity/stripe.ts';
import { nobodysIds, rowRequest } from '../support/rows.ts';
import { event, type CallOptions, type TestPlane } from '../support/serving.ts';
import type { Answer } from '../support/answer.ts';
import { operationsOf, startWorld, worlds, type HostedPlane } from '../support/worlds.ts';
import { sessionOf } from './support/accounts.ts';
import { fillProject } from './support/filled.ts';
import { watchGrowth, type Growth } from './support/grown.ts';
import { hostedScenarios, type HostedMade } from './support/hosted-scenarios.ts';
import {
  anonymous,
  cronSecret,
  refusalsOf,
  scenarios,
  type Made,
  type Scenario,
} from './support/scenarios.ts';

/** Where else a documented pair is provoked, or why it cannot be here. */
const elsewhere: Readonly<Record<string, string>> = {
  'createConsoleLink 201': 'at a plane: test/http/console-sessions.test.ts',
  'createConsoleLink 404': 'at a service, here',
  'getIdentity 404': 'a person, at a service, here',
  'startSignIn 404': 'without an identity provider: test/service/console/sign-in-provider.test.ts',
  'finishSignIn 404': 'without an identity provider: test/service/console/sign-in-provider.test.ts',
  'finishSignIn 403': 'where the provider refuses: test/service/console/sign-in.test.ts',
  'finishSignIn 200': 'after a sign-in at the provider: test/service/console/sign-in.test.ts',
  'openConsoleSession 200': 'at a plane: test/http/console-sessions.test.ts',
  'openConsoleSession 403': 'at a plane: test/http/console-sessions.test.ts',
  'getHealth 503': 'only once the writer stopped: test/plane/lifecycle.test.ts',
  'getLiveness 503': 'an event loop that does not turn answers nothing',
  'reportUsage 400': 'a data plane reports: test/http/telemetry.test.ts',
  ...Object.fromEntries(
    [200, 400, 403, 404, 422].map((status) => [
      `attestUsage ${status}`,
      'a data plane answers: test/service/planes/attested.test.ts',
    ]),
  ),
  'rotatePlaneCredentials 201': 'a data plane asks: test/service/planes/registry.test.ts',
  'rotatePlaneCredentials 400': 'a data plane asks: test/service/planes/registry.test.ts',
  'createDataPlane 409': 'as many as a project may have: test/store/suite/tenancy/planes.ts',
  'enrollDataPlane 409': 'a token that is used: test/service/planes/registry.test.ts',
  'enrollDataPlane 429': 'counted by its address, as every row for anyone: test/http/admit/rates.test.ts',
  'enrollDataPlaneByFile 201': 'with its request: test/service/planes/enrol-by-file.test.ts',
  'enrollDataPlaneByFile 409': 'a token that is used: test/service/planes/enrol-by-file.test.ts',
  'newestReport 200': 'a data plane asks: test/service/planes/newest.test.ts',
  'newestReport 400': 'a data plane asks: test/service/planes/newest.test.ts',
  'getTelemetryConfig 200': 'a data plane asks: test/service/planes/project-config.test.ts',
  'getTelemetryConfig 400': 'a data plane asks: test/service/planes/project-config.test.ts',
  'getTelemetryConfig 409': 'more policies than fit: test/service/planes/project-config.test.ts',
  'getConfigBundle 200': 'at a plane that holds one: test/plane/config/apply.test.ts',
  'getConfigBundle 404': 'at a plane that holds none: test/plane/config/apply.test.ts',
  'getConfigBundle 409': 'more policies than fit: test/service/planes/project-config.test.ts',
  'createReportTemplate 409': 'as many as a project may have: test/service/reports/custom/handlers.test.ts',
  'createReportSchedule 409':
    'as many as a project may have: test/service/reports/schedules/handlers.test.ts',
  'updateReportSchedule 409':
    'while somebody else changes it: test/service/reports/schedules/handlers.test.ts',
  'deleteReportSchedule 409':
    'while somebody else changes it: test/service/reports/schedules/handlers.test.ts',
  'retryReportDelivery 409': 'one that did not fail: test/service/reports/deliveries/due.test.ts',
  ...Object.fromEntries(
    ['Schedules', 'Executions', 'Deliveries', 'Cleanup'].map((work) => [
      `runReport${work} 429`,
      'after five other secrets: test/http/admit/cron.test.ts',
    ]),
  ),
  ...Object.fromEntries(
    [
      'createReportSchedule',
      'listReportSchedules',
      'getReportSchedule',
      'updateReportSchedule',
      'deleteReportSchedule',
      'listReportDeliveries',
      'getReportDelivery',
      'retryReportDelivery',
    ].map((id) => [`${id} 402`, 'a plan without reports: test/service/reports/entitlement.test.ts']),
  ),
  'createWebhookEndpoint 409': 'as many as a project may have: test/service/webhooks/handlers.test.ts',
  'cancelJob 200': 'one that has not ended: test/service/jobs/cancel.engines.test.ts',
  'cancelExport 200': 'one that has not ended: test/service/exports/cancelled.test.ts',
  'deleteExport 409': 'one that is not complete: test/service/exports/room.test.ts',
  'downloadExport 409': 'one that is not complete: test/http/answer/exports.test.ts',
  ...Object.fromEntries(
    (Object.keys(table) as OperationId[])
      .filter((id) => (table[id] as Operation).statuses.includes(402))
      .map((id) => [`${id} 402`, 'a plan without reports: test/service/reports/entitlement.test.ts']),
  ),
  'getBranding 404': 'before the first PUT: test/service/reports/branding.test.ts',
  'getExecution 410': 'one that has expired: test/service/reports/handlers.test.ts',
  'createShare 410': 'of a report that has expired: test/service/reports/handlers.test.ts',
  'applyConfigBundle 200': 'at a plane that trusts a service: test/plane/config/apply.test.ts',
  'applyConfigBundle 403': 'at a service: test/service/planes/project-config.test.ts',
  'applyConfigBundle 409': 'at a plane that trusts a service: test/plane/config/apply.test.ts',
};
/** Operations that add a leaf to the log of their caller and answer without a receipt (contract P29), and why. */
const unreceipted: Readonly<Partial<Record<OperationId, string>>> = {
  deleteProject: 'the caller is of another project, whose log gets a copy of the event',
};
/** A fault of ours, which nothing here provokes: test/http/answer/messages.test.ts. */
const unprovoked = 500;

const documented = (id: OperationId): number[] => {
  const { success, statuses }: Operation = table[id];
  return [...Object.keys(success).map(Number), ...statuses].filter((status) => status !== unprovoked);
};

const [customer = ''] = customers;
let stripe: StripeServer;
beforeAll(async () => {
  stripe = await startStripe();
});
afterAll(() => stripe.stop());

/** Of a service: a portal, and a sandbox with room for one event and nothing else. */
const hosted = (): StartService => ({
  env: { GOV_STRIPE_KEY: stripeKey, GOV_CRON_SECRET: cronSecret },
  file: {
    billing: { baseUrl: stripe.url },
    returnHosts: ['app.example'],
    quotas: {
      sandbox: { audit_event: 1, compliance_proof: 0, risk_decision: 0, replay_verification: 0 },
    },
  },
});

/** What scenarios of the hosted groups find. */
async function makeHosted({ service, tenant, call }: HostedPlane, made: Made): Promise<HostedMade> {
  const { person, orgId, keys } = tenant;
  const { store } = service.services;
  const organization = await store.organization(orgId);
  await store.append({
    projectId: organization?.home.production ?? '',
    leaves: [],
    meter: { op: 'none', units: 0 },
    effects: [{ kind: 'setCustomer', organizationId: orgId, customerId: customer }],
  });
  const idToken = await service.idToken(person);
  const signedIn = await service.call('POST', '/auth/session', { body: { idToken } });
  const cli = await service.call('POST', '/auth/tokens', { body: { idToken } });
  const spareKey = await call('POST', '/api-keys', { body: { name: 'Spare' } });
  const spareProject = await call('POST', '/projects', {
    body: { name: 'Spare', environment: 'production' },
  });
  const other = await service.signUp('other');
  const runId = 'used-up';
  await tenant.call('POST', '/events', { environment: 'sandbox', body: event({ runId }) });
  return {
    ...made,
    idToken,
    strangersToken: await service.idToken('stranger'),
    session: sessionOf(signedIn),
    cliToken: cli.body.token,
    spareKeyId: spareKey.body.record.keyId,
    spareProjectId: spareProject.body.id,
    othersKey: other.keys.production,
    used: { key: keys.sandbox, baseUrl: `${service.origin}/sandbox/api/v1`, runId },
  };
}

/** Takes away where a write would go. */
async function breakStorage(at: TestPlane | HostedPlane): Promise<void> {
  const database = 'service' in at ? at.service.database : null;
  if (database === null) {
    const probe = join(at.dataDir, 'probe');
    rmSync(probe, { force: true });
    return void mkdirSync(probe);
  }
  const name = new URL(database.superuser).pathname.slice(1);
  await at.sql(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  // which holds from the next connection on
  const others = `datname = '${name}' AND pid <> pg_backend_pid()`;
  await at.sql(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`);
}

/** What was answered by services of another configuration. */
const answered = new Set<string>();
const limitedRows = (Object.keys(table) as OperationId[]).filter(
  (id) => (table[id] as Operation).statuses.includes(429) && (table[id] as Operation).scope !== null,
);

describe('a service that allows one request a second', () => {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService({
      file: { rates: { keyPerSecond: 1, keyBurst: 1, eventsPerSecond: 1, exportsPerMinute: 1 } },
    });
    tenant = await service.signUp('hasty');
  });
  afterAll(() => service.end());

  it.each(limitedRows)(
    'a service that allows one request a second refuses %s as the next one',
    async (id) => {
      const { method, path, ...rest } = rowRequest(id, nobodysIds);
      let last: Answer | undefined;
      for (let tries = 0; tries < 3 && last?.status !== 429; tries++)
        last = await tenant.call(method, path, rest);
      expect([last?.status, last?.body.code]).toEqual([429, 'RATE_LIMITED']);
      answered.add(`${id} 429`);
    },
  );
});

describe('a service without an identity provider', () => {
  it('a service without an identity provider has no configuration of one', async () => {
    const service = await startService({ file: { issuer: undefined as never } });
    const { status } = await service.call('GET', '/auth/configuration');
    expect(status).toBe(404);
    answered.add(`getAuthConfiguration ${status}`);
    await service.end();
  });
});

describe.each(worlds)('every operation on %s', (world) => {
  let at: TestPlane | HostedPlane;
  let made: Made | HostedMade;
  let growth: Growth | null;
  /** Operations whose answer had no receipt of the leaves that it added. */
  const found = new Set<OperationId>();
  beforeAll(async () => {
    at = await startWorld(world, {
      extraKeys: { approver: { scopes: ['approvals:decide'] } },
      env: { GOV_CRON_SECRET: cronSecret },
      service: hosted(),
    });
    const project = 'projectId' in at ? { projectId: at.projectId } : {};
    const approver = at.keys['approver'] ?? '';
    made = { ...(await fillProject(at.call, { name: 'own', ...project })), approver };
    if ('tenant' in at) made = await makeHosted(at, made);
    growth = 'service' in at ? watchGrowth(at.service.services.store) : null;
  });
  afterAll(() => {
    growth?.stop();
    return at.end();
  });

  /** Where a 201 or a 202 says that something is, its creator finds it. */
  const lookAt = async ({ headers, body }: Answer, { key }: CallOptions): Promise<void> => {
    const { location } = headers;
    if (typeof location !== 'string') return; // a batch: the oracle requires it of all others
    const isSignedIn = location.endsWith('/auth/identity');
    const by = isSignedIn ? { key: body.token } : typeof key === 'string' ? { key } : {};
    const { status } = await at.call('GET', `${at.origin}${location}`, by);
    expect([location, status]).toEqual([location, 200]);
  };

  const rows = operationsOf(world);
  const asked = [
    ...scenarios,
    // of the rest a plane is asked nothing: it has keys alone of it
    ...((world === 'plane' ? [] : hostedScenarios) as readonly Scenario[]),
    ...refusalsOf(rows),
  ];

  it.each(asked.map((scenario) => [`${scenario[0]} ${scenario[1]}`, scenario] as const))(
    'every operation answers %s',
    async (_name, [id, status, change]) => {
      const { method, path, ...rest } = { ...rowRequest(id, made), ...change?.(made) };
      const answer = await at.call(method, path, rest);
      expect(answer.status, answer.text.slice(0, 300)).toBe(status);
      const { 'x-request-id': requestId, 'gov-receipt': receipt } = answer.headers;
      // an error has no receipt, also where a refusal is recorded
      if (status < 400 && receipt === undefined && growth?.grew(requestId) === true) found.add(id);
      if (status === 201 || status === 202) await lookAt(answer, table[id].tag === 'Auth' ? rest : {});
      if (status !== 429) return;
      const { code, quota } = answer.body;
      const { meters }: Operation = table[id];
      expect([code, quota.type, quota.remaining]).toEqual(['QUOTA_EXCEEDED', meters, 0]);
    },
  );

  // a plane answers the same operations with the same handlers
  it.skipIf(world === 'plane')('every answer that added to the log of its caller has a receipt', () => {
    expect([...found].toSorted()).toEqual(Object.keys(unreceipted).toSorted());
  });

  it('every operation answers 503 and names the leaf when one was altered', async () => {
    const { sequence } = (await at.call('GET', `/events/${made.eventId}`)).body;
    const altered = "record = replace(record, 'tool.call', 'tool.cart')";
    await at.sql(`UPDATE leaf SET ${altered} WHERE ${at.leafAt(sequence)}`);
    const tile = `/log/tile/entries/000.p/${sequence + 1}`;
    for (const path of [`/events/${made.eventId}`, `/events?runId=${made.runId}`, tile]) {
      const { status, body } = await at.call('GET', path);
      expect([status, body.code, body.index]).toEqual([503, 'STORAGE_FAULT', sequence]);
    }
  });

  it('health answers 503 and reasons when a write would not be durable', async () => {
    await breakStorage(at);
    // the probe of a second ago is still good; the one after it is not
    for (let status = 200; status === 200;) {
      ({ status } = await at.call('GET', '/health/ready', anonymous));
    }
    const { status, body } = await at.call('GET', '/health/ready', anonymous);
    expect([status, body.status, body.reasons]).toEqual([503, 'unavailable', undefined]);
    expect((await at.call('GET', '/health/live')).status).toBe(200);
    const known = await at.call('GET', '/health/ready');
    expect([known.status, known.body.reasons.length > 0]).toEqual([503, true]);
    expect((await at.call('GET', '/health')).body.status).not.toBe('ok');
    if (world === 'postgres') return; // what its database lets through differs from second to second
    expect(known.body.reasons).toEqual(['write_probe_failed']);
    expect((await at.call('GET', '/health')).body.status).toBe('degraded');
  });

  it('every operation was asked for every status that its row documents', () => {
    // the scenarios of keys need people: test/cli/agents/key.test.ts asks a plane for keys, and
    // test/cli/auth/whoami.test.ts asks whose key it is
    const here = rows.filter((id) => world !== 'plane' || !['Auth', 'Projects'].includes(table[id].tag));
    const missing = here.flatMap((id) =>
      documented(id)
        .map((status) => `${id} ${status}`)
        .filter((pair) => !at.seen.has(pair) && !answered.has(pair) && !Object.hasOwn(elsewhere, pair)),
    );
    const message =
      'each documented status needs a line in test/service/support/scenarios.ts, or a reason in `elsewhere` of this file';
    expect(missing, message).toEqual([]);
  });
});
