/**
 * The leaf of an approver, `gov.approver/1` (`docs/reference/proof-format.md`, contract O13): a key that signs approvals was
 * enrolled or revoked. In clear: its id, key and principal. Committed: its name, and who enrolled or revoked it.
 * Proven by `test/service/approvers/attacks.engines.test.ts`.
 */
import type { ApproverKind } from '../../contract/approvers.ts';
import { draftLeaf, type OtherDraft } from '../events/record.ts';
import { isObject } from '../json/object.ts';
import type { Json } from '../json/parse.ts';
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
  const { approverId, event, at } = clear as unknown as ApproverChange;
  const text = (name: string): string | null => textOf(committed.get(name));
  return { approverId, event, at, key: keyOf(clear['key']), name: text('name'), actor: text('actor') };
}

/** Null for a value of another form, with which nothing is signed. */
function keyOf(value: Json | undefined): EnrolledKey | null {
  if (!isObject(value)) return null;
  const { kind, principal, publicKey, passkey = null } = value;
  if (typeof principal !== 'string' || typeof publicKey !== 'string') return null;
  if (kind === 'ssh' && passkey === null) return { kind, principal, publicKey, passkey };
  const { credentialId, rpId, origin } = isObject(passkey) ? passkey : {};
  const isPasskey =
    kind === 'passkey' &&
    typeof credentialId === 'string' &&
    typeof rpId === 'string' &&
    typeof origin === 'string';
  return isPasskey ? { kind, principal, publicKey, passkey: { credentialId, rpId, origin } } : null;
}

const textOf = (value: Json | undefined): string | null => (typeof value === 'string' ? value : null);
