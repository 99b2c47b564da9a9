import * as fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Operation } from '../../src/contract/operation.ts';
import { table } from '../../src/contract/table.ts';
import { explain, type JsonSchema } from '../../src/service/call/explain.ts';
import { loadCheck } from '../../src/service/call/schema.ts';
import { Ajv } from 'ajv';
import { parseTimestamp } from '../../src/core/time.ts';
import { nobodysIds, rowRequest } from '../support/rows.ts';
import { event } from '../support/serving.ts';
import { threadMs } from '../thread-ms.ts';

const ajv = new Ajv({ strict: true, strictRequired: false });
ajv.addFormat('date-time', { type: 'string', validate: (text: string) => parseTimestamp(text) !== null });

const proposed = { condition: { 'tool.name': 'shell' }, action: 'deny', severity: 'high' };
const ofPlanes = [
  'reportUsage',
  'attestUsage',
  'createDataPlane',
  'enrollDataPlane',
  'enrollDataPlaneByFile',
  'rotatePlaneCredentials',
  'importTelemetry',
  'applyConfigBundle',
] as const;
const samples: Record<string, unknown> = {
  ...Object.fromEntries(ofPlanes.map((id) => [id, rowRequest(id, nobodysIds).body])),
  createEvent: event({ causedBy: ['a', 'b'], aiSystemId: 'x', clientEventId: 'y' }),
  createEvents: { events: [event()] },
  createProof: { runId: 'r', schemaVersion: '1.0', composed: { layers: ['log_inclusion'] }, async: true },
  verifyProof: { proofId: 'p', runId: 'r', commitment: {}, layers: [], proofHash: 'h', schemaVersion: '1.0' },
  evaluatePolicy: { runId: 'r', policies: ['p'], checkpoint: { step: 1, context: { a: 1 } } },
  putSnapshot: { policyHash: 'a', modelRoute: 'b', toolRegistryHash: 'c', configStateHash: 'd' },
  createPolicy: { policyId: 'p', name: 'n', description: 'd', ...proposed },
  addPolicyVersion: proposed,
  publishPolicy: { version: 1, reason: 'r' },
  transitionPolicy: { targetStatus: 'active', reason: 'r' },
  rollbackPolicy: { targetVersion: 1, reason: 'r' },
  simulatePolicy: { checkpoint: { a: 1 }, policyIds: ['p'], explain: true },
  simulatePolicies: { checkpoint: { a: 1 }, policyIds: ['p'], explain: true },
  analyzePolicyImpact: { proposedVersion: proposed, sampleCheckpoints: [{ a: 1 }] },
  analyzePolicyHistory: {
    proposedVersion: proposed,
    startTime: '2026-03-01T09:30:00Z',
    endTime: '2026-03-01T09:30:00Z',
    limit: 1,
  },
  evaluateRisk: {
    runId: 'r',
    policyDecisions: [{ policyId: 'p', decision: 'deny', score: 0.5 }],
    quotaState: { used: 1, limit: 2, remaining: 1 },
    evaluationSignals: [{ signal: 's', value: 1 }],
    explicitSignals: { a: true },
  },
  putRiskConfig: {
    mode: 'strict',
    thresholds: { allow: 0, flag: 0.3, escalate: 0.6, block: 0.9 },
    defaultAction: 'escalate',
    signals: { s: { weight: 0.5, direction: 'lower_is_riskier', min: 0, max: 1 } },
  },
  evaluateTool: {
    tool: { name: 't', server: 's', version: '1', schemaHash: 'h', annotations: { readOnlyHint: true } },
    arguments: { a: 1 },
    runId: 'r',
    actor: { name: 'a' },
    context: { a: 1 },
    policyIds: ['p'],
    dryRun: false,
  },
  createReplay: {
    runId: 'r',
    replaySnapshot: { policyHash: 'a', modelRoute: 'b', toolRegistryHash: 'c', configStateHash: 'd' },
    compareRunId: 's',
  },
  createGraphReplay: {
    runId: 'r',
    nodes: [{ id: 'a', type: 'data', data: {} }],
    edges: [{ source: 'a', target: 'a', type: 'x' }],
  },
  stateApproval: { outcome: 'approved', approverId: nobodysIds.approverId, comment: 'c' },
  decideApproval: { outcome: 'approved', comment: 'c' },
  challengeApprover: { name: 'Ada', origin: 'https://gov.example' },
  enrolApprover: { name: 'Ada', ssh: { publicKey: 'ssh-ed25519 AAAA' } },
  createExport: { resource: 'audit_events', format: 'json', filters: { runId: 'run' }, includeProof: true },
  createExecution: {
    reportTemplateId: 'run-evidence',
    formats: ['pdf', 'csv'],
    parameters: { startTime: '2026-01-01T00:00:00Z', endTime: '2026-02-01T00:00:00Z', runId: 'r' },
    deliveries: [{ channel: 'email', target: 'ada@example.org', format: 'pdf' }],
  },
  createReportSchedule: {
    name: 'Weekly',
    reportTemplateId: 'tool-access',
    window: 'previous_week',
    cron: '0 6 * * MON',
    timezone: 'Europe/Zurich',
    title: null,
    deliveries: [{ channel: 'email', target: 'ada@example.org', format: 'pdf' }],
  },
  updateReportSchedule: { cron: '0 7 * * *', enabled: false },
  createReportTemplate: {
    name: 'Board pack',
    sections: ['executive-summary/summary', 'policy-changes/changes'],
    title: 'Board pack',
    description: '',
    introduction: 'First line\nsecond line',
    formats: ['pdf', 'json'],
  },
  updateReportTemplate: { introduction: null, formats: ['csv'] },
  createShare: { format: 'pdf', expiresInSeconds: 3600, maxDownloads: null },
  putBranding: { companyName: 'Analytical Engines', primaryColor: '#1f3a5f', footerText: null },
  createErasure: {
    eventId: 'evt_01jq3v5k8hf7wb3c9x2m4n6p8r',
    fields: ['/action'],
    reasonCode: 'a',
    request: 'r',
    dryRun: true,
  },
  declareGraph: {
    nodes: [{ id: 'a', type: 'data', data: {} }],
    edges: [{ source: 'a', target: 'a', type: 'x' }],
  },
  signUp: { name: 'n', organizationName: 'o' },
  openSession: { idToken: 't' },
  finishSignIn: { state: 's', code: 'c', iss: 'i', error: 'e', error_description: 'd' },
  openConsoleSession: { code: 'c0de' },
  createCliToken: { idToken: 't' },
  createProject: { name: 'n', environment: 'sandbox' },
  updateProject: {
    name: 'n',
    settings: {
      retentionDays: 365,
      auditFailureMode: 'strict',
      timezone: 'UTC',
      webhookDefaults: { a: 1 },
      redactionKeys: ['/metadata/a', '/actor'],
      subjectPointers: ['/metadata/a', '/actor/id'],
      requireTwoPersonErasure: true,
      requireTwoPersonPublish: true,
      quotaMode: 'block',
      contentCapture: 'hashes',
    },
    id: 'prj_00000000000000000000000000',
  },
  createApiKey: {
    name: 'n',
    scopes: ['events:read', '*'],
    expiresAt: '2026-03-01T09:30:00Z',
    description: null,
  },
  createWebhookEndpoint: {
    url: 'https://hooks.example/',
    events: ['job.failed'],
    enabled: false,
    description: 'x',
  },
  updateWebhookEndpoint: { url: 'https://hooks.example/', events: ['*'], enabled: true, description: 'x' },
  updateApiKey: { name: 'n', scopes: ['events:read'], expiresAt: null, description: 'd' },
  putThresholds: { percents: [50, 80] },
  openBillingPortal: { returnUrl: 'https://app.example.com/' },
  putRetention: { retentionDays: null, legalHold: true },
};
const bodies = Object.entries<Operation>(table).filter(([, { body }]) => body !== undefined);

/** Replaces, removes or adds something somewhere in a value. */
const mutate = (sample: unknown): fc.Arbitrary<unknown> =>
  fc
    .record({
      path: fc.array(fc.nat(12), { maxLength: 4 }),
      value: fc.jsonValue(),
      kind: fc.constantFrom('set', 'drop', 'add'),
    })
    .map(({ path, value, kind }) => {
      const copy = structuredClone(sample);
      let at = copy as Record<string, unknown>;
      for (const [depth, step] of path.entries()) {
        const names = Object.keys(at);
        const name = names[step % Math.max(1, names.length)];
        if (name === undefined) break;
        const next = at[name];
        if (depth === path.length - 1 || typeof next !== 'object' || next === null) {
          if (kind === 'set') at[name] = value;
          else if (kind === 'drop') delete at[name];
          else at['added'] = value;
          break;
        }
        at = next as Record<string, unknown>;
      }
      return copy;
    });

describe('the body of a request', () => {
  it('each operation with a body has a sample body', () => {
    expect(bodies.map(([id]) => id).toSorted()).toEqual(Object.keys(samples).toSorted());
  });

  it.each(bodies)(
    'a body of %s is accepted or explained, and the check and the explanation agree',
    async (id, row) => {
      const schema = row.body!;
      const check = await loadCheck(schema, { in: 'body' });
      const judge = ajv.compile(schema);
      expect(check(samples[id])).toBeNull();
      fc.assert(
        fc.property(fc.oneof(fc.jsonValue(), mutate(samples[id])), (value) => {
          const valid = judge(value);
          const findings = explain(schema as JsonSchema, value, { in: 'body' });
          expect(findings.errors.length === 0, JSON.stringify(value)).toBe(valid);
          expect(check(value) === null).toBe(valid);
        }),
        { numRuns: 500 },
      );
    },
  );

  it('the check of a body never changes the body', async () => {
    const check = await loadCheck(table.createEvent.body, { in: 'body' });
    fc.assert(
      fc.property(mutate(samples['createEvent']), (value) => {
        const before = JSON.stringify(value);
        check(value);
        expect(JSON.stringify(value)).toBe(before);
      }),
    );
  });
});

describe('the patterns of the contract', () => {
  const patterns = new Set(
    [...JSON.stringify(table).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(
      ([, text]) => JSON.parse(text ?? '""') as string,
    ),
  );

  it('the patterns of the contract answer hostile texts of 100 kB in a few milliseconds', () => {
    const hostile = ['a', '-', 'a.', '\u0000', 'é', '_0'].map(
      (unit) => unit.repeat(100_000 / unit.length) + '!',
    );
    for (const pattern of patterns) {
      const expression = new RegExp(pattern, 'u');
      for (const text of hostile) {
        const started = threadMs();
        expression.test(text);
        expect(threadMs() - started, pattern).toBeLessThan(50);
      }
    }
  });
});

describe('the schema compiler', () => {
  afterEach(() => {
    vi.doUnmock('ajv');
    vi.resetModules();
  });

  it('the schema compiler is loaded again for the next caller after a failed load', async () => {
    vi.resetModules();
    vi.doMock('ajv', () => {
      throw new Error('the installation is being replaced');
    });
    const { loadCheck, prepareChecks } = await import('../../src/service/call/schema.ts');
    const schema = table.createEvent.body;
    await expect(prepareChecks()).rejects.toThrow();
    await expect(loadCheck(schema, { in: 'body' })).rejects.toThrow();
    vi.doUnmock('ajv');
    const check = await loadCheck(schema, { in: 'body' });
    expect(check(event())).toBeNull();
    expect(check({})).not.toBeNull();
  });
});
