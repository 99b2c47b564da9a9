/**
 * The leaf of a decided approval, `gov.approval/1` (`docs/reference/proof-format.md`, contract O9, O13). In clear: approver,
 * outcome, time, and of a signed one the enrolled key and the hash of the statement. Committed: reason and signature. And the leaf of its use, `gov.use/1`, all in clear: the evaluation that let the approved call run. A second one, with the id of that evaluation, says which evaluation of the MCP proxy joined its permission.
 * Proven by `test/core/decided/approval.test.ts`.
 */
import type { ApprovalOutcome } from '../../contract/approvals.ts';
import { draftLeaf, type OtherDraft } from '../events/record.ts';
import { isObject } from '../json/object.ts';
import type { Json } from '../json/parse.ts';
import type { OpenLeaf } from './leaf.ts';

export interface ApprovalRecord {
  readonly id: string;
  readonly runId: string;
  readonly evaluationId: string;
  readonly outcome: ApprovalOutcome;
  /** Key id of the approver. */
  readonly approver: string;
  readonly at: string;
  /** The enrolled key that signed, and the hash of the statement; absent without a signature. */
  readonly signed?: { readonly approverId: string; readonly statementHash: string };
}

/** What an enrolled key signed, and the signature. A type, because it is JSON. */
export type SignatureRecord = {
  readonly statement: string;
  /** Of an SSH key. */
  readonly ssh?: string;
  /** Members of the browser's answer, base64url. */
  readonly passkey?: {
    readonly clientDataJSON: string;
    readonly authenticatorData: string;
    readonly signature: string;
  };
};

export type DecidedApproval = ApprovalRecord & {
  /** Null if none was given, undefined if it is erased. */
  readonly reason: string | null | undefined;
  /** Undefined without a signature, or if it is erased. */
  readonly signature?: SignatureRecord;
};

export function draftApproval(
  approval: ApprovalRecord & { readonly reason: string | null; readonly signature?: SignatureRecord },
  salt: () => string,
): OtherDraft {
  const { runId, reason, signature, signed, ...rest } = approval;
  const committed: [string, Json][] = [['/reason', reason]];
  if (signature !== undefined) committed.push(['/signature', signature as unknown as Json]);
  const fields = { ...rest, ...(signed === undefined ? {} : { signed: { ...signed } }) };
  return draftLeaf('gov.approval/1', fields, { runId, id: approval.id, committed, salt });
}

/** A log may write other forms of `signed` and of the signature: then nobody signed, and the decision says that one did. */
export function openApproval({ clear, committed }: OpenLeaf): DecidedApproval {
  const { id, runId, evaluationId, outcome, approver, at } = clear as unknown as ApprovalRecord;
  const reason = committed.get('reason') as string | null | undefined;
  const signed = clear['signed'] === undefined ? undefined : signedOf(clear['signed']);
  const signature = signatureOf(committed.get('signature'));
  return {
    id,
    runId,
    evaluationId,
    outcome,
    approver,
    at,
    reason,
    ...(signed === undefined ? {} : { signed }),
    ...(signature === undefined ? {} : { signature }),
  };
}

function signedOf(value: Json): NonNullable<ApprovalRecord['signed']> {
  const { approverId, statementHash } = isObject(value) ? value : {};
  const isRead = typeof approverId === 'string' && typeof statementHash === 'string';
  return isRead ? { approverId, statementHash } : { approverId: '', statementHash: '' };
}

/** Undefined for a value of another form. */
function signatureOf(value: Json | undefined): SignatureRecord | undefined {
  if (!isObject(value) || typeof value['statement'] !== 'string') return undefined;
  const { statement, ssh, passkey } = value;
  if (ssh !== undefined && typeof ssh !== 'string') return undefined;
  if (passkey === undefined) return { statement, ...(ssh === undefined ? {} : { ssh }) };
  const { clientDataJSON, authenticatorData, signature } = isObject(passkey) ? passkey : {};
  const isRead =
    typeof clientDataJSON === 'string' &&
    typeof authenticatorData === 'string' &&
    typeof signature === 'string';
  if (!isRead || ssh !== undefined) return undefined;
  return { statement, passkey: { clientDataJSON, authenticatorData, signature } };
}

export interface UseRecord {
  /** Id of the approval; or of the evaluation that used it, whose permission a second source of the call joins. */
  readonly id: string;
  readonly runId: string;
  /** The evaluation that allowed the approved call, or that joined. */
  readonly evaluationId: string;
  readonly at: string;
}

export const draftUse = ({ runId, ...fields }: UseRecord): OtherDraft =>
  draftLeaf('gov.use/1', fields, { runId, id: fields.id });

export function openUse({ clear }: OpenLeaf): UseRecord {
  const { id, runId, evaluationId, at } = clear as unknown as UseRecord;
  return { id, runId, evaluationId, at };
}
