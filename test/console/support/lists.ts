/** Rows for the lists of the console: reports, schedules, deliveries, exports, webhooks, keys, versions of a policy. */
import { exportEnd, reportEnd } from '../../service/support/filled.ts';
import type { Answer } from '../../support/answer.ts';
import type { CallOptions } from '../../support/serving.ts';

type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>;
type Must = (path: string, body: object) => Promise<Answer['body']>;

const secret = `whsec_${Buffer.alloc(24).toString('base64')}`;
/** An address inside our networks, which the sender refuses for good. */
const refused = { channel: 'webhook', target: 'https://127.0.0.1/reports', format: 'json', secret };
const year = { startTime: '2026-01-01T00:00:00Z', endTime: '2026-12-31T00:00:00Z' };

/** Fills every list; `mailTo`: also a recipient that gets mail. `policyId`: a policy in force, which gets two versions. */
export async function fillLists(
  call: Call,
  { policyId, mailTo }: { readonly policyId: string; readonly mailTo?: string },
): Promise<void> {
  const must: Must = async (path, body) => {
    const answer = await call('POST', path, { body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
    return answer.body;
  };
  const mail = mailTo === undefined ? [] : [{ channel: 'email', target: mailTo, format: 'pdf' }];
  await addVersions(must, `/governance/policies/${policyId}`);
  for (const [reportTemplateId, title, deliveries] of [
    ['decisions-exceptions', 'Decisions and exceptions, third quarter', [...mail, refused]],
    ['executive-summary', 'Board', mail],
    ['tool-access', 'Tools that agents were granted, and tools that they used', []],
  ] as const) {
    const formats = ['pdf', 'json'];
    const body = { reportTemplateId, title, formats, parameters: year, deliveries };
    await reportEnd(call, (await must('/reporting/executions', body)).executionId);
  }
  await addSchedules(must, [...mail, refused]);
  for (const resource of ['audit_events', 'policy_evaluations']) {
    const includeProof = resource === 'audit_events';
    await exportEnd(call, (await must('/exports', { resource, format: 'json', includeProof })).exportId);
  }
  const { exportId } = await must('/exports', { resource: 'jobs', format: 'csv', filters: {} });
  await call('POST', `/exports/${exportId}/cancel`);
  for (const [url, description] of [
    ['https://hooks.invalid/gov', 'Incidents'],
    ['https://hooks.example.com/teams/compliance/alerts', ''],
  ]) {
    const { endpoint } = await must('/webhooks/endpoints', { url, description });
    if (description !== '') await must(`/webhooks/endpoints/${endpoint.endpointId}/test`, {});
  }
  const pipeline = { name: 'Release pipeline', scopes: ['events:write'], description: 'GitHub, main branch' };
  await must('/api-keys', pipeline);
  const scopes = ['events:read', 'governance:read', 'reporting:read', 'exports:read'];
  await must('/api-keys', { name: 'Auditor', scopes, expiresAt: '2027-06-30T00:00:00Z' });
}

/** Version 2 is in force, and version 3 is not published. */
async function addVersions(must: Must, path: string): Promise<void> {
  const either = (tools: readonly string[]): object => ({
    any: tools.map((name) => ({ 'tool.name': name })),
  });
  await must(`${path}/versions`, { condition: either(['shell', 'bash']), action: 'deny', severity: 'high' });
  await must(`${path}/publish`, { reason: 'bash is a shell too' });
  await must(`${path}/versions`, { condition: either(['shell', 'bash', 'zsh']), action: 'escalate' });
}

async function addSchedules(must: Must, deliveries: readonly object[]): Promise<void> {
  const zone = { timezone: 'Europe/Zurich' };
  await must('/reporting/schedules', {
    name: 'Weekly decisions',
    reportTemplateId: 'decisions-exceptions',
    window: 'previous_week',
    cron: '0 6 * * MON',
    formats: ['pdf', 'json'],
    deliveries,
    ...zone,
  });
  await must('/reporting/schedules', {
    name: 'Board, each quarter',
    reportTemplateId: 'executive-summary',
    window: 'previous_quarter',
    cron: '0 7 1 1,4,7,10 *',
    ...zone,
  });
  const paused = { reportTemplateId: 'tool-access', window: 'previous_month', cron: '30 5 L * *' };
  await must('/reporting/schedules', { name: 'Tools', ...paused, enabled: false });
}
