/** One of everything that a project can hold and two of everything that it lists, made through its interface. */
import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { logo, upload } from '../../support/upload.ts';
import { sshString } from '../../../src/core/approvals/ssh.ts';
import {
  nobodysIds,
  policy,
  policyVersion,
  reportPeriod,
  snapshot,
  unknownReceiver,
  type Ids,
} from '../../support/rows.ts';
import { event, type CallOptions } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import { enrolledPlane } from '../../support/telemetry-plane.ts';

type Call = (method: string, path: string, options?: CallOptions) => Promise<Answer>;

export interface Filled extends Ids {
  /** A run whose graph is sealed. */
  readonly sealedRunId: string;
  /** Of a proof. */
  readonly cancelledJobId: string;
}

const endMs = 60_000;

/** What a path shows once its status is final; polls as a client does. */
async function ended(call: Call, path: string): Promise<Answer['body']> {
  const lateAt = performance.now() + endMs;
  for (;;) {
    const { body } = await call('GET', path);
    if (!['queued', 'pending', 'processing'].includes(body.status)) return body;
    if (performance.now() > lateAt) throw new Error(`${path} is ${body.status} after ${endMs / 1000} s`);
    // the work needs turns of the same event loop
    await pause(10);
  }
}

/** The job once it has ended. */
export const endOf = (call: Call, jobId: string) => ended(call, `/jobs/${jobId}`);

/** The export once it is complete or failed. */
export const exportEnd = (call: Call, exportId: string) => ended(call, `/exports/${exportId}`);

/** The report once it is complete or failed. */
export const reportEnd = (call: Call, executionId: string) =>
  ended(call, `/reporting/executions/${executionId}`);

/** A job that was cancelled before it ended. Others of the run complete, where the cancellation came too late. */
export async function cancelledJob(call: Call, runId: string): Promise<string> {
  for (;;) {
    const { jobId } = (await call('POST', '/proofs', { body: { runId, async: true } })).body;
    if ((await call('POST', `/jobs/${jobId}/cancel`)).status === 200) return jobId;
  }
}

/** To an address inside our networks, which the sender refuses for good. */
const deliveries = ['https://127.0.0.1/a', 'https://127.0.0.1/b'].map((target) => ({
  channel: 'webhook',
  target,
  format: 'csv',
  secret: `whsec_${Buffer.alloc(24).toString('base64')}`,
}));

/** `name` begins every id that a client chooses and stands in what is recorded. Without keys where there is no `projectId`. */
export async function fillProject(
  call: Call,
  { name, projectId }: { readonly name: string; readonly projectId?: string },
): Promise<Filled> {
  const made = async (method: string, path: string, body: unknown = {}): Promise<Answer['body']> => {
    const answer = await call(method, path, { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  };
  const [runId, sealedRunId] = [`${name}-run`, `${name}-sealed`];
  const metadata = { note: name };
  const { eventId } = await made('POST', '/events', event({ runId, metadata }));
  for (const each of [runId, sealedRunId]) await made('POST', '/events', event({ runId: each, metadata }));
  await made('POST', `/graphs/${sealedRunId}/commit`);
  const { proofId } = await made('POST', '/proofs', { runId });
  await made('POST', '/proofs', { runId });
  const { jobId } = await made('POST', '/proofs', { runId, async: true });
  await endOf(call, jobId);
  for (const at of [1, 2]) {
    const attributes = [{ key: 'service.name', value: { stringValue: `${name}-${at}` } }];
    await made('POST', '/otlp/v1/traces', {
      resourceSpans: [{ resource: { attributes }, scopeSpans: [{ spans: [0] }] }],
    });
  }
  await made('PUT', `/governance/snapshots/${runId}`, snapshot);
  const { approverId } = await made('POST', '/approvers', { name, ssh: { publicKey: newSshKey() } });
  await made('POST', '/approvers', { name, ssh: { publicKey: newSshKey() } });
  const { policyId, approvalId } = await decide(made, { name, runId });
  const cancelledJobId = await cancelledJob(call, runId);
  let replayId = '';
  for (let at = 0; at < 2; at++) {
    ({ replayId } = (await endOf(call, (await made('POST', '/replay', { runId })).jobId)).result);
  }
  let erasureId = '';
  for (let at = 0; at < 2; at++) {
    const { eventId: erased } = await made('POST', '/events', event({ runId, metadata }));
    ({ erasureId } = await made('POST', '/erasures', { eventId: erased }));
  }
  const exportId = await exportsOf(call, made, runId);
  const reported = await reportsOf(call, made);
  const keyIds = projectId === undefined ? [] : await keysOf(made, name);
  const planes = projectId === undefined ? nobodysIds : await planesOf(call, { name, projectId });
  return {
    eventId,
    runId,
    sealedRunId,
    proofId,
    jobId,
    cancelledJobId,
    replayId,
    policyId,
    approvalId,
    approverId,
    erasureId,
    exportId,
    ...reported,
    projectId: projectId ?? nobodysIds.projectId,
    keyId: keyIds[0] ?? nobodysIds.keyId,
    dataPlaneId: planes.dataPlaneId,
    reportId: planes.reportId,
    challengeId: planes.challengeId,
    ...(await webhooksOf(made, name)),
  };
}

/** Two exports of a run. */
async function exportsOf(call: Call, made: Made, runId: string): Promise<string> {
  let exportId = '';
  for (let at = 0; at < 2; at++) {
    ({ exportId } = await made('POST', '/exports', {
      resource: 'audit_events',
      format: 'json',
      filters: { runId },
    }));
    await exportEnd(call, exportId);
    // the first download of a day is told in the log
    await call('GET', `/exports/${exportId}/download`);
  }
  return exportId;
}

/** Two reports, one of them with two share links; two custom templates; a branding with a logo. */
async function reportsOf(
  call: Call,
  made: Made,
): Promise<
  Pick<Ids, 'executionId' | 'reportTemplateId' | 'shareId' | 'token' | 'logoId' | 'scheduleId' | 'deliveryId'>
> {
  let executionId = '';
  for (let at = 0; at < 2; at++) {
    ({ executionId } = await made('POST', '/reporting/executions', {
      reportTemplateId: 'executive-summary',
      formats: ['csv', 'json'],
      parameters: reportPeriod,
      deliveries,
    }));
    const { status, errorSummary } = await reportEnd(call, executionId);
    if (status !== 'completed') throw new Error(`no report: ${errorSummary}`);
    await call('GET', `/reporting/executions/${executionId}/download?format=csv`);
  }
  const path = `/reporting/executions/${executionId}/shares`;
  await made('POST', path, { format: 'csv' });
  const { shareId, token } = await made('POST', path, { format: 'json' });
  const custom = { name: 'Incidents', sections: ['incident-bundle/timeline'] };
  let reportTemplateId = '';
  for (let at = 0; at < 2; at++) ({ reportTemplateId } = await made('POST', '/reporting/templates', custom));
  await made('PUT', '/reporting/branding', { companyName: 'Analytical Engines' });
  const { body } = await call('POST', '/reporting/branding/logo', upload(logo));
  const schedule = {
    name: 'Daily',
    reportTemplateId: 'executive-summary',
    window: 'previous_day',
    cron: '0 6 1 1 *',
    formats: ['csv'],
    deliveries,
  };
  let scheduleId = '';
  for (let at = 0; at < 2; at++) ({ scheduleId } = await made('POST', '/reporting/schedules', schedule));
  const listed = await call('GET', `/reporting/deliveries?executionId=${executionId}`);
  const { deliveryId } = listed.body.data[0];
  await ended(call, `/reporting/deliveries/${deliveryId}`);
  const logoId = body.logoUrl.replace(/^.*\//, '');
  return { executionId, reportTemplateId, shareId, token, logoId, scheduleId, deliveryId };
}

function newSshKey(): string {
  const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const blob = Buffer.concat(['ssh-ed25519', Buffer.from(x, 'base64url')].map(sshString));
  return `ssh-ed25519 ${blob.toString('base64')}`;
}

type Made = (method: string, path: string, body?: unknown) => Promise<Answer['body']>;

/** Two policies, one of them active with two versions, one that asks people; decisions by them and of risk. */
async function decide(
  made: Made,
  { name, runId }: { readonly name: string; readonly runId: string },
): Promise<Pick<Ids, 'policyId' | 'approvalId'>> {
  const [policyId, askId] = [`${name}-policy`, `${name}-ask`];
  await made('POST', '/governance/policies', { policyId, ...policy, description: name });
  await made('POST', `/governance/policies/${policyId}/publish`);
  await made('POST', `/governance/policies/${policyId}/versions`, policyVersion);
  const condition = { 'tool.name': 'pay' };
  await made('POST', '/governance/policies', { policyId: askId, name: 'Ask', condition, action: 'escalate' });
  await made('POST', `/governance/policies/${askId}/publish`);
  const asked = { runId, checkpoint: { context: { tool: { name: 'pay' } } } };
  const { approvalId } = await made('POST', '/governance/policy/evaluate', asked);
  await made('POST', '/governance/policy/evaluate', asked);
  for (let at = 0; at < 2; at++) await made('POST', '/risk/evaluate', { runId });
  return { policyId, approvalId };
}

/** Two disabled endpoints, one of which got two test messages, which arrived nowhere. */
async function webhooksOf(made: Made, name: string): Promise<Pick<Ids, 'endpointId' | 'webhookDeliveryId'>> {
  const input = { url: unknownReceiver(name), description: name, enabled: false };
  await made('POST', '/webhooks/endpoints', input);
  const { endpointId } = (await made('POST', '/webhooks/endpoints', input)).endpoint;
  await made('POST', `/webhooks/endpoints/${endpointId}/test`);
  const { deliveryId } = await made('POST', `/webhooks/endpoints/${endpointId}/test`);
  return { endpointId, webhookDeliveryId: deliveryId };
}

async function keysOf(made: Made, name: string): Promise<string[]> {
  const keyIds: string[] = [];
  for (let at = 0; at < 2; at++) {
    const { record } = await made('POST', '/api-keys', { name, scopes: ['events:read'] });
    keyIds.push(record.keyId);
  }
  return keyIds;
}

/** Two data planes, one of which reported twice and is asked about the first report. */
async function planesOf(
  call: Call,
  { name, projectId }: { readonly name: string; readonly projectId: string },
): Promise<Pick<Ids, 'dataPlaneId' | 'reportId' | 'challengeId'>> {
  await call('POST', '/telemetry/planes', { body: { name } });
  const sender = await enrolledPlane(call, { name, projectId });
  const first = await sender.work();
  const second = await sender.work();
  if (second.status !== 202) throw new Error(`no report: ${second.text}`);
  const { dataPlaneId } = sender.plane.home;
  return { dataPlaneId, reportId: first.body.reportId, challengeId: first.body.attestation.challengeId };
}
