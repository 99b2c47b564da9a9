/**
 * The document of an active approver: its key, so that it is enrolled once, and the counter of a passkey (WebAuthn §6.1.1).
 * Proven by `test/service/approvers/attacks.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { asserted } from '../../core/approvals/passkey.ts';
import type { SignatureRecord } from '../../core/decided/approval.ts';
import type { EnrolledKey } from '../../core/decided/approver.ts';
import { sha256 } from '../../core/hash.ts';
import type { DocumentChange, StoredDocument } from '../../store/port/store.ts';
import { keyFingerprint } from './logged.ts';

export const approverKind = 'approver';

export const keyDocument = (
  approverId: string,
  of: { projectId: string; key: EnrolledKey; counter: number; createdMs: number },
): DocumentChange => ({
  save: {
    kind: approverKind,
    documentId: approverId,
    key: `${of.projectId}/${keyFingerprint(of.key)}`,
    parentId: null,
    status: 'active',
    createdMs: of.createdMs,
    dueMs: null,
    version: 0,
    data: JSON.stringify({ counter: of.counter }),
  },
  most: limits.approvers,
});

export const withoutDocument = ({ kind, documentId, version }: StoredDocument): DocumentChange => ({
  remove: { kind, documentId, version },
});

/** The counter in a signature that holds; null for an SSH key, which does not count. */
export function counterOf(
  { statement, passkey }: SignatureRecord,
  { publicKey, passkey: key }: EnrolledKey,
): number | null {
  if (passkey === undefined || key === null) return null;
  const result = asserted(passkey, { ...key, publicKey }, sha256(statement));
  return 'fault' in result ? null : result.counter;
}

/**
 * The change that counts a signature, so that the decision fails where the approver was revoked meanwhile. FORBIDDEN where
 * the counter did not rise: another device may hold a copy of the key. `counter`: null for an SSH key.
 */
export function countedSignature(stored: StoredDocument, counter: number | null): DocumentChange {
  const { projectId: _project, ...document } = stored;
  const before = (JSON.parse(stored.data) as { counter: number }).counter;
  const isCounting = counter !== null && (counter > 0 || before > 0);
  if (isCounting && counter <= before) {
    const detail = `expected a signature counter above ${before}, got ${counter}: the passkey may be copied; revoke the approver ${stored.documentId}`;
    throw new GovError('FORBIDDEN', detail);
  }
  return { save: { ...document, data: JSON.stringify({ counter: isCounting ? counter : before }) } };
}
