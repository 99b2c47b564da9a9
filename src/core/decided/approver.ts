/**
 * The leaf of an approver, `gov.approver/1` (`docs/reference/proof-format.md`, contract O13): a key that signs approvals was
 * enrolled or revoked. In clear: its id, key and principal. Committed: its name, and who enrolled or revoked it.
 * Proven by `test/service/approvers/attacks.engines.test.ts`.
 */
import type { ApproverKind } from '../../contract/approvers.ts';
import { draftLeaf, type OtherDraft } from '../event/record.ts';
import type { OpenLeaf } from './leaf.ts';

export interface EnrolledKey {
  readonly kind: ApproverKind;
  /** The API key or person that signs with it. */
  readonly principal: string;
  /** Of an SSH key: `type base64`. Of a passkey: SubjectPublicKeyInfo, base64. */
  readonly publicKey: string;
  readonly passkey: {
    readonly credentialId: string;
    readonly rpId: string;
    readonly origin: string;
  } | null;
}

export interface ApproverChange {
  readonly approverId: string;
  readonly event: 'enrolled' | 'revoked';
  readonly at: string;
  /** Null in a revocation. */
  readonly key: EnrolledKey | null;
  /** Null in a revocation, or erased. */
  readonly name: string | null;
  /** Null if erased. */
  readonly actor: string | null;
}

export function draftApprover(
  { approverId, event, at, key, name, actor }: ApproverChange,
  salt: () => string,
): OtherDraft {
  const committed: [string, string | null][] = [['/actor', actor]];
  if (name !== null) committed.push(['/name', name]);
  // an enrolled key is JSON
  const fields = { approverId, event, at, ...(key === null ? {} : { key: { ...key } }) };
  return draftLeaf('gov.approver/1', fields, { id: approverId, committed, salt });
}

export function openApprover({ clear, committed }: OpenLeaf): ApproverChange {
  const { approverId, event, at, key = null } = clear as unknown as ApproverChange;
  const text = (name: string): string | null => (committed.get(name) ?? null) as string | null;
  return { approverId, event, at, key, name: text('name'), actor: text('actor') };
}
