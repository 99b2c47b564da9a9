/**
 * The approvers of a project, from its `gov.approver/1` leaves: the log says which key signs for whom, and from when until
 * when. Proven by `test/service/approvers/attacks.engines.test.ts`.
 */
import type { Approver } from '../../contract/approvers.ts';
import { Approvers } from '../../core/approvals/signature.ts';
import { fingerprintOf } from '../../core/approvals/ssh.ts';
import { openApprover, type ApproverChange, type EnrolledKey } from '../../core/decided/approver.ts';
import { openLeaf } from '../../core/decided/leaf.ts';
import type { StoreReader } from '../../store/port/store.ts';

const chunkLeaves = 100;

/** The changes of all approvers in log order, with the index of each leaf. Cost: all their leaves, 25 µs each. */
async function approverChanges(
  store: Pick<StoreReader, 'leavesOf'>,
  projectId: string,
  beforeIndex?: number,
): Promise<(ApproverChange & { readonly index: number })[]> {
  const changes: (ApproverChange & { readonly index: number })[] = [];
  const filter = { type: 'gov.approver/1', ...(beforeIndex === undefined ? {} : { beforeIndex }) } as const;
  for (let after: number | undefined; ;) {
    const page = { ...(after === undefined ? {} : { after }), limit: chunkLeaves, order: 'asc' } as const;
    const leaves = await store.leavesOf(projectId, filter, page);
    for (const leaf of leaves) changes.push({ ...openApprover(openLeaf(leaf)), index: leaf.index });
    if (leaves.length < chunkLeaves) return changes;
    after = leaves.at(-1)?.index;
  }
}

/** The approvers below a tree size; default: now. */
export async function loggedApprovers(
  store: Pick<StoreReader, 'leavesOf'>,
  projectId: string,
  beforeIndex?: number,
): Promise<Approvers> {
  const approvers = new Approvers();
  for (const change of await approverChanges(store, projectId, beforeIndex))
    approvers.add(change.index, change);
  return approvers;
}

/** All approvers as the interface shows them, newest first. */
export async function shownApprovers(
  store: Pick<StoreReader, 'leavesOf'>,
  projectId: string,
): Promise<Approver[]> {
  const shown = new Map<string, Approver>();
  for (const change of await approverChanges(store, projectId)) {
    const known = shown.get(change.approverId);
    if (change.key !== null && known === undefined)
      shown.set(change.approverId, enrolledBody(change, change.key));
    if (change.key === null && known?.status === 'active') {
      const { at, actor } = change;
      shown.set(change.approverId, { ...known, status: 'revoked', revokedAt: at, revokedBy: actor });
    }
  }
  return [...shown.values()].toReversed();
}

export const enrolledBody = (
  { approverId, name, at, actor, index }: ApproverChange & { readonly index: number },
  key: EnrolledKey,
): Approver => ({
  approverId,
  kind: key.kind,
  name: name ?? '',
  principal: key.principal,
  publicKey: key.publicKey,
  fingerprint: keyFingerprint(key),
  passkey: key.passkey === null ? null : { ...key.passkey },
  status: 'active',
  enrolledAt: at,
  enrolledBy: actor ?? '',
  revokedAt: null,
  revokedBy: null,
  sequence: index,
});

export const keyFingerprint = ({ kind, publicKey }: Pick<EnrolledKey, 'kind' | 'publicKey'>): string =>
  fingerprintOf(Buffer.from(kind === 'ssh' ? (publicKey.split(' ')[1] ?? '') : publicKey, 'base64'));
