/**
 * The statement that an approver signs (contract O13): canonical JSON (RFC 8785) of exactly one decision on one approval.
 * An SSH key signs its bytes in the namespace `sshNamespace`; a passkey signs its SHA-256 as the WebAuthn challenge.
 *
 *   type            gov.approval-statement/1
 *   origin          of the audit log, which contains the project
 *   approvalId, evaluationId, runId
 *   outcome         approved or denied
 *   approverId      the enrolled key that signs
 *   principal       the key that asked
 *   tool            {name, server?, version?, schemaHash?, …} as the policies saw it; null for another evaluation
 *   argumentsHash   SHA-256("gov.toolargs/v1" LF JCS(arguments)) of the arguments that will run; null without a tool
 *   shownHash       of what the approver saw (`src/core/decided/view.ts`): values that the project redacts are replaced there
 *   view            2; absent in statements of older services, whose shownHash is
 *                   SHA-256("gov.approvalview/v1" LF JCS({tool, arguments, actor, context}))
 *   hidden          how many characters of the view show nothing, as this service counts them: tables of Unicode grow,
 *                   so a verifier does not count again, and a signer shows both counts where its own differs
 *   masked          {pointer: fingerprint} of the replaced values; absent without any
 *   policies        [{policyId, version, policyHash}], those that escalated
 *   policySetHash   the policies in force
 *   expiresAt       when the approval expires
 *   comment         the comment of the approver, or null
 *   nonce           16 bytes, base64url: without it, nobody can guess a statement from its hash
 *
 * Proven by `test/service/approvers/attacks.engines.test.ts`.
 */
import type { ApprovalOutcome } from '../../contract/approvals.ts';
import { sha256Text } from '../hash.ts';
import { canonicalize, type JsonObject } from '../json/parse.ts';
import { strictObject } from '../events/run-entry.ts';
import type { MaskFingerprints } from '../decided/view.ts';

const statementType = 'gov.approval-statement/1';
export const sshNamespace = 'gov-approval@v1';

/** A type, not an interface, because it is JSON. */
export type Statement = {
  readonly type: typeof statementType;
  readonly origin: string;
  readonly approvalId: string;
  readonly evaluationId: string;
  readonly runId: string;
  readonly outcome: ApprovalOutcome;
  readonly approverId: string;
  readonly principal: string;
  readonly tool: JsonObject | null;
  readonly argumentsHash: string | null;
  readonly shownHash: string;
  readonly view?: 2;
  readonly hidden?: number;
  readonly masked?: MaskFingerprints;
  readonly policies: readonly { policyId: string; version: number | null; policyHash: string | null }[];
  readonly policySetHash: string;
  readonly expiresAt: string;
  readonly comment: string | null;
  readonly nonce: string;
};

export const statementText = (statement: Omit<Statement, 'type'>): string =>
  canonicalize({ ...statement, type: statementType } as unknown as JsonObject);

export const statementHash = (text: string): string => sha256Text(text);

/** Reads a statement; null if it is not canonical or of another type. Attacker controlled; members may have any type. */
export function readStatement(text: string): JsonObject | null {
  const statement = strictObject(text);
  return statement?.['type'] === statementType ? statement : null;
}
