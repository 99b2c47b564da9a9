/**
 * Signed decisions on approvals (contract O13): the statement that an approver signs, and the check of the signature. The
 * service states the statement itself, from the log, so a signature can only be about the call that is escalated.
 * Proven by `test/service/approvers/attacks.engines.test.ts`.
 */
import type { ApprovalOutcome, ApprovalSignature } from '../../contract/approvals.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { signatureFault, type Approver } from '../../core/approvals/signature.ts';
import { sshNamespace, statementHash, statementText } from '../../core/approvals/statement.ts';
import { shownOf } from '../../core/decided/view.ts';
import { shownHash } from '../../core/decided/view-hash.ts';
import type { DecidedApproval, SignatureRecord } from '../../core/decided/approval.ts';
import { escalating, evaluatedCall } from '../../core/decided/evaluation.ts';
import { sha256 } from '../../core/hash.ts';
import { hiddenCount } from '../../core/hidden-text.ts';
import { isObject } from '../../core/json/object.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { DocumentChange } from '../../store/port/store.ts';
import { isSamePrincipal } from '../call/principals.ts';
import { notFound } from '../call/answer.ts';
import { expiryTime } from '../call/log-time.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { masking } from '../events/redaction.ts';
import { loggedApproval, type LoggedApproval } from './logged.ts';
import { approverKind, counterOf, countedSignature } from '../approvers/document.ts';
import { loggedApprovers } from '../approvers/logged.ts';

interface DecisionInput {
  readonly outcome: ApprovalOutcome;
  readonly approverId: string;
  readonly comment: string | null;
}

export const statements: Pick<Handlers, 'stateApproval'> = {
  async stateApproval({ params, body, caller }, services) {
    const approval = await loggedApproval(services.store, caller.project, params.approvalId);
    if (approval === null) throw notFound('approval');
    refuseClosed(approval, await expiryTime(services, caller.project.projectId));
    const { outcome, approverId, comment = null } = body;
    const approver = await requireSigner(services, caller, { approval, approverId });
    const statement = stated(services, caller, { approval, outcome, approverId, comment });
    const { passkey } = approver;
    return {
      status: 200,
      body: {
        statement,
        hash: statementHash(statement),
        ssh: approver.kind === 'ssh' ? { namespace: sshNamespace } : null,
        passkey:
          passkey === null
            ? null
            : {
                challenge: sha256(statement).toString('base64url'),
                rpId: passkey.rpId,
                allowCredentials: [{ type: 'public-key', id: passkey.credentialId }],
                userVerification: 'required',
                timeout: limits.approverChallengeMinutes * 60_000,
              },
      },
    };
  },
};

/** A checked signature of a decision: what the leaf records, and the change that counts it. */
export interface SignedDecision {
  readonly signer: Approver;
  readonly signature: SignatureRecord;
  readonly signed: NonNullable<DecidedApproval['signed']>;
  readonly change: DocumentChange;
}

/**
 * The checked signature of a decision, null without one. VALIDATION_ERROR where a policy requires one for an approval, and
 * where the signature is not one of this decision; FORBIDDEN where this approver may not sign it.
 */
export async function signedDecision(
  services: Services,
  caller: Caller,
  of: {
    approval: LoggedApproval;
    outcome: ApprovalOutcome;
    comment: string | null;
    signature: ApprovalSignature | undefined;
  },
): Promise<SignedDecision | null> {
  const { approval, outcome, comment, signature: given } = of;
  if (given === undefined) {
    if (outcome === 'approved' && approval.evaluation.approval?.signatureRequired === true)
      throw signatureMissing(approval);
    return null;
  }
  refuseClosed(approval, await expiryTime(services, caller.project.projectId));
  const { approverId, ssh, passkey } = given;
  const signer = await requireSigner(services, caller, { approval, approverId });
  const statement = stated(services, caller, { approval, outcome, approverId, comment });
  const signature: SignatureRecord = {
    statement,
    ...(ssh === undefined ? {} : { ssh }),
    ...(passkey === undefined ? {} : { passkey }),
  };
  const fault =
    (ssh === undefined) === (passkey === undefined)
      ? 'expected exactly one of the members ssh and passkey'
      : signatureFault(signature, signer);
  if (fault !== null)
    throw fieldError({ pointer: '/signature', in: 'body', code: 'NOT_ALLOWED', detail: fault });
  const document = await services.store.document(caller.project.projectId, approverKind, approverId);
  if (document === null) throw revoked(approverId);
  const change = countedSignature(document, counterOf(signature, signer));
  const signed = { approverId, statementHash: statementHash(statement) };
  return { signer, signature, signed, change };
}

/** CONFLICT where an approval is decided or has expired: nothing of it is left to sign. */
function refuseClosed({ approvalId, decision, expiresMs }: LoggedApproval, atMs: number): void {
  if (decision === null && atMs < expiresMs) return;
  const got = decision === null ? `expired at ${formatTimestamp(expiresMs)}` : decision.outcome;
  throw new GovError('CONFLICT', `expected a pending approval, got ${approvalId}, ${got}`);
}

/** The approver, who signs for this caller and was enrolled before the approval was asked for. */
async function requireSigner(
  { store }: Services,
  caller: Caller,
  { approval, approverId }: { approval: LoggedApproval; approverId: string },
): Promise<Approver> {
  const { projectId } = caller.project;
  const approver = (await loggedApprovers(store, projectId)).get(approverId);
  if (approver === undefined) throw notFound('approver');
  const { principal, enrolledIndex, revokedIndex } = approver;
  if (revokedIndex !== Infinity) throw revoked(approverId);
  if (!(await isSamePrincipal(store, projectId, [principal, caller.id]))) {
    const detail = `expected a call by ${principal}, to whom approver ${approverId} belongs, got one by ${caller.id}`;
    throw new GovError('FORBIDDEN', detail);
  }
  if (!(enrolledIndex < approval.openedIndex)) {
    const detail = `expected an approver that was enrolled before approval ${approval.approvalId} was asked for, got ${approverId}, enrolled later; let another approver sign, or ask again in a new run`;
    throw new GovError('FORBIDDEN', detail);
  }
  return approver;
}

const revoked = (approverId: string): GovError =>
  new GovError(
    'FORBIDDEN',
    `expected an active approver, got ${approverId}, which is revoked; sign with another one`,
  );

/** VALIDATION_ERROR: the policies require a signature. */
function signatureMissing({ approvalId }: LoggedApproval): GovError {
  const detail = `expected a signature: an agent asked for ${approvalId}, or a policy that escalated it accepts only a signed approval; sign POST /approvals/${approvalId}/statement, or run gov approvals approve --sign`;
  return fieldError({ pointer: '/signature', in: 'body', code: 'MISSING_FIELD', detail });
}

/** The statement of a decision. CONFLICT where the call was erased. */
function stated(
  services: Services,
  caller: Caller,
  { approval, outcome, approverId, comment }: DecisionInput & { approval: LoggedApproval },
): string {
  const { approvalId, evaluationId, runId, requestedBy, expiresMs, evaluation } = approval;
  const { checkpoint, decisions, policySetHash } = evaluation;
  if (checkpoint === null)
    throw new GovError('CONFLICT', 'expected the escalated call, but it was erased; evaluate again');
  const { auditOrigin: origin, projectId } = caller.project;
  // the checkpoint was recorded from a checked body
  const input = checkpoint['context'] as JsonObject;
  const { tool = null } = input;
  const { shown: seen, masked } = masking(caller, services)(input);
  const shown = shownOf(seen, { isCall: evaluation.policySource === 'tool' });
  const about = ['gov.approval-nonce/1', projectId, approvalId, outcome, approverId];
  return statementText({
    origin,
    approvalId,
    evaluationId,
    runId,
    outcome,
    approverId,
    principal: requestedBy,
    tool: isObject(tool) ? tool : null,
    argumentsHash: evaluatedCall(evaluation).argumentsHash,
    shownHash: shownHash(shown),
    view: 2,
    hidden: hiddenCount(shown),
    ...(Object.keys(masked).length === 0 ? {} : { masked }),
    policies: escalating(decisions).map(({ policyId, version, policyHash }) => ({
      policyId,
      version,
      policyHash,
    })),
    policySetHash,
    expiresAt: formatTimestamp(expiresMs),
    comment,
    nonce: Buffer.from(services.fingerprint(about.join('\n')), 'hex')
      .subarray(0, 16)
      .toString('base64url'),
  });
}
