/** Tested by `test/cli/commands/approvals/show.test.ts`. */
import type { Approval, ShownApproval } from '../../contract/approvals.ts';
import { durationText } from '../../core/duration.ts';
import { relativeTime } from '../terminal/table.ts';

/** Who signed it, or on what it rests instead. */
export function signedText({ status, signature, signatureRequired }: Approval): string {
  if (signature !== null)
    return `signed by ${signature.name} with ${signature.kind === 'ssh' ? 'SSH key' : 'passkey'} ${signature.fingerprint} (${signature.approverId})`;
  if (signatureRequired && status !== 'denied')
    return 'a signature is required: gov approvals approve --sign';
  return status === 'approved' || status === 'denied'
    ? 'not signed: it rests on the API key or session of who decided'
    : 'no signature required; --sign adds one';
}

/** Why a person is asked; without policies in a response to a decision. */
export type EscalationReason = Pick<Approval, 'reason'> & Partial<Pick<ShownApproval, 'policies'>>;

/** `policy refunds: escalate v1: …`: the first policy that escalated, and why. */
export const reasonOf = ({ policies: [first] = [], reason }: EscalationReason): string =>
  first === undefined ? reason : `policy ${first.policyId}: ${first.reasoning}`;

/** `Ada (key_…)`; the id alone where it has no name, or the service is of an older release. */
export const namedId = (id: string, name: string | null | undefined): string =>
  name ? `${name} (${id})` : id;

/** How long it waits, who decided, and whether it was used. */
export function standing(
  { status, requestedAt, expiresAt, decidedBy, decidedByName, decidedAt, comment, used }: Approval,
  now: number,
): string {
  if (status === 'pending')
    return `asked ${relativeTime(requestedAt, now)}, expires ${relativeTime(expiresAt, now)}`;
  if (decidedBy === null || decidedAt === null) return `at ${expiresAt}`;
  const use =
    status === 'denied'
      ? ''
      : used === null
        ? `; not used, expires ${relativeTime(expiresAt, now)}`
        : `; used by ${used.evaluationId} at ${used.at}`;
  const after = durationText(Date.parse(decidedAt) - Date.parse(requestedAt));
  const said = comment === null ? '' : `: ${comment}`;
  return `by ${namedId(decidedBy, decidedByName)} at ${decidedAt}, after ${after}${said}${use}`;
}
