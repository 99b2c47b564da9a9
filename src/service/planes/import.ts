/**
 * Takes messages of data planes from a file (contract J1-J7). Each is handled as over the wire, in the order
 * of the file, except that its time may be in the past. Its receipt is the answer that it would have got.
 * Importing a file again changes nothing. Proven by `test/service/planes/import.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError, problems } from '../../contract/problems.ts';
import { AttestationProof, UsageReport, type Message, type Receipt } from '../../contract/telemetry.ts';
import { refusedCredential } from '../../core/credential.ts';
import { canonicalize, parseJson, type Json } from '../../core/json/parse.ts';
import { verifyTelemetry } from '../../core/planes/signature.ts';
import { escapedLine } from '../../core/visible.ts';
import type { Caller } from '../call/caller.ts';
import { openSecrets } from '../credentials/plane-keys.ts';
import { hostingOf } from '../access/projects.ts';
import { fieldError, loadCheck, refusal } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { takeAttestation } from './attest.ts';
import { newestHeld } from './newest.ts';
import { takeOwnReport } from './report.ts';

/**
 * The receipt of one message. Throws errors that the message did not cause, such as a full store; earlier
 * messages stay taken.
 */
export async function receiptOf(services: Services, caller: Caller, message: Message): Promise<Receipt> {
  const { kind } = message;
  const read = readBody(message);
  const id = idOf(message, read.body);
  try {
    if (read.error !== null) throw read.error;
    const answer = await take(services, caller, { message, body: read.body });
    return { kind, id, status: kind === 'usage' ? 202 : 200, answer };
  } catch (error) {
    if (!(error instanceof GovError) || error.status >= 500) throw error;
    return { kind, id, status: error.status, answer: problemOf(error) };
  }
}

/**
 * A plane that reports by file cannot ask for its newest stored report. Where one of its reports was refused
 * because of another, the plane's last receipt therefore names the newest. Its credentials signed such a
 * report. Cost: two reads for each such plane.
 */
export async function addNewest(
  { store }: Pick<Services, 'store'>,
  { project: { projectId } }: Pick<Caller, 'project'>,
  { messages, receipts }: { readonly messages: readonly Message[]; readonly receipts: Receipt[] },
): Promise<void> {
  const told = new Set<string>();
  for (let at = receipts.length - 1; at >= 0; at--) {
    const [receipt, planeId] = [receipts[at], messages[at]?.dataPlaneId];
    if (receipt === undefined || planeId === undefined || told.has(planeId) || !isBehind(receipt)) continue;
    told.add(planeId);
    receipts[at] = { ...receipt, newest: await newestHeld(store, { projectId, planeId }) };
  }
}

function isBehind({ kind, status, answer }: Receipt): boolean {
  const { code, reason } = (answer ?? {}) as { readonly code?: unknown; readonly reason?: unknown };
  return kind === 'usage' && status === 400 && (code === 'REPORT_CONFLICT' || reason === 'history_regressed');
}

function readBody({ kind, body }: Message): { readonly body: Json; readonly error: GovError | null } {
  try {
    const bytes = Buffer.from(body);
    const limit = kind === 'usage' ? limits.usageReportBytes : limits.attestationBytes;
    if (bytes.length > limit) {
      const detail = `expected a body of at most ${limit} bytes, got ${bytes.length}`;
      throw new GovError('PAYLOAD_TOO_LARGE', detail, { extensions: { limit } });
    }
    return { body: parseJson(bytes), error: null };
  } catch (error) {
    if (error instanceof GovError) return { body: null, error };
    throw error;
  }
}

/** The id by which the sender finds its receipt. */
function idOf({ kind, challengeId = '' }: Message, body: Json): string {
  if (kind === 'attestation') return challengeId;
  const { reportId } = (body ?? {}) as { readonly reportId?: unknown };
  return typeof reportId === 'string' ? reportId.slice(0, limits.echoChars) : '';
}

async function take(
  services: Services,
  caller: Caller,
  { message, body }: { readonly message: Message; readonly body: Json },
): Promise<unknown> {
  const { kind, dataPlaneId, timestamp, signature, challengeId } = message;
  const { project, rules } = caller;
  const plane = await services.store.plane(project.projectId, dataPlaneId);
  if (plane === null || plane.enrolled === null || plane.revokedMs !== null) throw refusedCredential();
  const canonical = canonicalize(body);
  const secrets = openSecrets(plane.enrolled, hostingOf(services).seal)(services.now());
  if (!verifyTelemetry({ secrets, timestamp, signature, canonical })) {
    const detail =
      `expected the signature of data plane ${dataPlaneId} over timestamp and body, got another one; where it got other ` +
      'credentials since, have it write its messages again (gov plane usage export)';
    throw new GovError('INVALID_SIGNATURE', detail);
  }
  const schema = kind === 'usage' ? UsageReport : AttestationProof;
  const findings = (await loadCheck(schema, { in: 'body', readOnly: [] }))(body);
  if (findings !== null) throw refusal(findings);
  if (kind === 'usage') {
    const report = body as unknown as UsageReport; // its schema accepted it
    return takeOwnReport(services, { caller: { project, rules }, plane, report, canonical, byFile: true });
  }
  if (challengeId === undefined) {
    const detail = 'expected the id of the answered challenge, got none';
    throw fieldError({ pointer: '/challengeId', in: 'path', code: 'MISSING_FIELD', detail });
  }
  const proof = body as unknown as AttestationProof; // its schema accepted it
  const { organizationId } = project;
  return takeAttestation(services, { plane, organizationId, challengeId, proof, canonical });
}

/** A problem as an answer would contain it (contract C1-C7), without the members about a request. */
function problemOf(error: GovError) {
  const { title, status, retryable } = problems[error.code];
  const errors = error.errors.map((field) => ({ ...field, detail: escapedLine(field.detail) }));
  return {
    ...error.extensions,
    title,
    status,
    detail: escapedLine(error.message),
    code: error.code,
    retryable,
    ...(errors.length === 0 ? {} : { errors }),
  };
}
