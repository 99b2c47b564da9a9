/**
 * Approvals as the interface shows them: what they are about, with the values that the project redacts replaced, and who
 * signed. Proven by `test/service/approvals/handlers.engines.test.ts`.
 */
import type { Approval, ShownApproval } from '../../contract/approvals.ts';
import { shownOf } from '../../core/decided/view.ts';
import { escalating } from '../../core/decided/evaluation.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { formatTimestamp } from '../../core/time.ts';
import { keyFingerprint } from '../approvers/logged.ts';
import type { NameOf } from '../approvers/names.ts';
import type { masking } from '../events/redaction.ts';
import type { LoggedApproval } from './logged.ts';

/** A type of the contract: the input came from a checked body. */
type ShownParts = Pick<ShownApproval, 'tool' | 'arguments' | 'actor' | 'context'>;

interface MaskedViewContext extends ViewContext {
  readonly mask: ReturnType<typeof masking>;
}

interface ViewContext {
  readonly atMs: number;
  readonly nameOf: NameOf;
}

/** The approval with what it is about. */
export function shownBody(approval: LoggedApproval, { mask, ...standing }: MaskedViewContext): ShownApproval {
  const { checkpoint, policySource, decisions } = approval.evaluation;
  // the checkpoint was recorded from a checked body
  const seen = checkpoint === null ? null : mask(checkpoint['context'] as JsonObject).shown;
  return {
    ...approvalBody(approval, standing),
    ...(shownOf(seen, { isCall: policySource === 'tool' }) as ShownParts),
    policies: escalating(decisions).map(({ policyId, version, reasoning }) => ({
      policyId,
      version,
      reasoning,
    })),
  };
}

/** The approval at `atMs`. Without a decision in time it has expired. */
export function approvalBody(approval: LoggedApproval, { atMs, nameOf }: ViewContext): Approval {
  const { approvalId, evaluationId, runId, reason, requestedBy, requestedMs, expiresMs, decision, used } =
    approval;
  const { signed } = approval;
  return {
    approvalId,
    evaluationId,
    runId,
    reason,
    status: decision?.outcome ?? (atMs < expiresMs ? 'pending' : 'expired'),
    requestedAt: formatTimestamp(requestedMs),
    requestedBy,
    requestedByName: nameOf(requestedBy),
    decidedAt: decision === null ? null : formatTimestamp(decision.atMs),
    decidedBy: decision?.by ?? null,
    decidedByName: nameOf(decision?.by ?? null),
    comment: decision?.comment ?? null,
    expiresAt: formatTimestamp(expiresMs),
    used: used === null ? null : { evaluationId: used.evaluationId, at: formatTimestamp(used.atMs) },
    signatureRequired: approval.evaluation.approval?.signatureRequired === true,
    signature:
      signed === null
        ? null
        : {
            approverId: signed.signer.approverId,
            kind: signed.signer.kind,
            name: signed.signer.name ?? '',
            fingerprint: keyFingerprint(signed.signer),
            statement: signed.signature.statement,
            ssh: signed.signature.ssh ?? null,
            passkey: signed.signature.passkey ?? null,
          },
  };
}
