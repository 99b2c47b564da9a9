/**
 * Events of the service itself (contract O8): in run `gov.system`, unmetered, appended in the transaction of
 * the change that they record. Proven by `test/service/graphs/handlers.engines.test.ts`.
 */
import type { ApprovalRecord, SignatureRecord } from '../../core/decided/approval.ts';
import type { ApproverChange } from '../../core/decided/approver.ts';
import type { ErasureRecord } from '../../core/decided/erasure.ts';
import type { PolicyChange, PolicyChangeEvent } from '../../core/decided/policy-change.ts';
import type { PruneRecord } from '../../core/decided/prune.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { saltPool } from '../../core/events/disclosure.ts';
import { hashText, sha256 } from '../../core/hash.ts';
import type { RiskRouter } from '../../core/risk/config.ts';
import { draftEvent, systemRun, type EventDraft } from '../../core/events/record.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ApiKeyRow } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';

interface SystemEvent {
  readonly eventType: string;
  readonly action: string;
  readonly actor: { readonly id: string; readonly type: string };
  readonly resource: { readonly id: string; readonly type: string };
  readonly metadata: JsonObject;
  readonly clientEventId?: string;
}

/** Drafts a system event. The service sets all members, so a refusal is a bug. */
export function systemEvent(event: SystemEvent, context: { nowMs: number; salt: () => string }): EventDraft {
  const input = { runId: systemRun, ...event, timestamp: formatTimestamp(context.nowMs) };
  const draft = draftEvent(input, context.nowMs, context.salt);
  if ('code' in draft)
    throw new Error(`expected a valid system event, got one that was refused: ${draft.detail}`);
  return draft;
}

/**
 * All members of a new key, from which `src/store/fsck/tenants/project-life.ts` recomputes its row. Of the
 * token, the log has only a hash of its stored digest and the characters that its owner sees.
 */
export const keyMembers = (key: ApiKeyRow): JsonObject => ({
  name: key.name,
  description: key.description,
  prefix: key.prefix,
  last4: key.last4,
  digestHash: hashText(sha256(key.digest)),
  scopes: [...key.scopes],
  expiresAt: key.expiresMs === null ? null : formatTimestamp(key.expiresMs),
});

/** A key was created, at `key.createdMs`. `by` is known only where another key created it. */
export const keyCreated = (
  key: ApiKeyRow,
  context: {
    nowMs: number;
    randomBytes: (size: number) => Buffer;
    by?: { readonly id: string; readonly type: string };
  },
): EventDraft =>
  systemEvent(
    {
      eventType: 'api_key.created',
      action: 'create',
      actor: { id: context.by?.id ?? 'operator', type: context.by?.type ?? 'operator' },
      resource: { id: key.keyId, type: 'api_key' },
      metadata: keyMembers(key),
    },
    { nowMs: context.nowMs, salt: saltPool(context.randomBytes) },
  );

/** A graph was sealed. */
export const graphCommitted = (
  graph: { readonly runId: string; readonly rootHash: string },
  context: { nowMs: number; salt: () => string; by: Caller },
): EventDraft =>
  systemEvent(
    {
      eventType: 'graph.committed',
      action: 'commit',
      actor: { id: context.by.id, type: context.by.type },
      resource: { id: graph.runId, type: 'graph' },
      metadata: { rootHash: graph.rootHash },
    },
    context,
  );

/** The risk router was configured. */
export const riskConfigured = (
  { config, configHash }: RiskRouter,
  context: { nowMs: number; salt: () => string; by: Caller },
): EventDraft =>
  systemEvent(
    {
      eventType: 'risk.config_changed',
      action: 'configure',
      actor: { id: context.by.id, type: context.by.type },
      resource: { id: 'risk', type: 'risk_config' },
      // a configuration is JSON
      metadata: { config: config as unknown as JsonObject, configHash },
    },
    context,
  );

/** An approval was decided. */
export const approvalDecided = (
  approval: ApprovalRecord,
  context: { nowMs: number; salt: () => string; by: Caller },
): EventDraft => {
  const { id, runId, evaluationId, outcome } = approval;
  return systemEvent(
    {
      eventType: `approval.${outcome}`,
      action: outcome === 'approved' ? 'approve' : 'deny',
      actor: { id: context.by.id, type: context.by.type },
      resource: { id, type: 'approval' },
      metadata: { runId, evaluationId },
    },
    context,
  );
};

/** An approver was enrolled or revoked. */
export const approverChanged = (
  { approverId, event, key, name }: ApproverChange,
  context: { nowMs: number; salt: () => string; by: Caller },
): EventDraft =>
  systemEvent(
    {
      eventType: `approver.${event}`,
      action: event === 'enrolled' ? 'enrol' : 'revoke',
      actor: { id: context.by.id, type: context.by.type },
      resource: { id: approverId, type: 'approver' },
      // a key is JSON
      metadata:
        key === null ? {} : { name, kind: key.kind, principal: key.principal, publicKey: key.publicKey },
    },
    context,
  );

/** The operator enrolled an approver at the files of the plane, without the signature of another. */
export const approverRecovered = (
  { approverId, key, name }: ApproverChange,
  context: { nowMs: number; salt: () => string },
): EventDraft =>
  systemEvent(
    {
      eventType: 'approver.recovered',
      action: 'enrol',
      actor: { id: 'operator', type: 'operator' },
      resource: { id: approverId, type: 'approver' },
      // a key is JSON
      metadata:
        key === null ? {} : { name, kind: key.kind, principal: key.principal, publicKey: key.publicKey },
    },
    context,
  );

/** An approver signed a change of the plane. The statement and the signature are whole, so anybody can verify them. */
export const changeSigned = (
  { approverId, ...signed }: { approverId: string; what: string } & SignatureRecord,
  context: { nowMs: number; salt: () => string; by: Caller },
): EventDraft =>
  systemEvent(
    {
      eventType: 'change.signed',
      action: 'sign',
      actor: { id: context.by.id, type: context.by.type },
      resource: { id: approverId, type: 'approver' },
      metadata: signed,
    },
    context,
  );

/** Event type and action of each change of a policy. */
const policyEvents: Readonly<Record<PolicyChangeEvent, readonly [eventType: string, action: string]>> = {
  created: ['policy.created', 'create'],
  version_added: ['policy.version_added', 'add_version'],
  published: ['policy.published', 'publish'],
  transition: ['policy.transitioned', 'transition'],
  rolled_back: ['policy.rolled_back', 'rollback'],
};

/** A policy was created, got a version, or moved in its life cycle. */
export const policyChanged = (
  change: Omit<PolicyChange, 'at'> & { readonly reason: string | null },
  context: { nowMs: number; salt: () => string; by: Caller },
): EventDraft => {
  const { policyId, version, policyHash, event, from, to, reason } = change;
  const [eventType, action] = policyEvents[event];
  return systemEvent(
    {
      eventType,
      action,
      actor: { id: context.by.id, type: context.by.type },
      resource: { id: policyId, type: 'policy' },
      metadata: { policyId, version, from, to, reason, policyHash },
    },
    context,
  );
};

/** Values were erased. `by` is null for the retention of the project. */
export const erasureExecuted = (
  { erasureId, targets, reasonCode }: ErasureRecord,
  context: { nowMs: number; salt: () => string; by: Caller | null },
): EventDraft =>
  systemEvent(
    {
      eventType: 'erasure.executed',
      action: 'erase',
      actor: { id: context.by?.id ?? 'gov', type: context.by?.type ?? 'service' },
      resource: { id: erasureId, type: 'erasure' },
      metadata: { leaves: targets.length, reasonCode },
    },
    context,
  );

/** The operator archived and pruned events below a leaf. */
export const logPruned = (
  { minIndex, archiveHash, archiveSize }: PruneRecord,
  context: { nowMs: number; salt: () => string },
): EventDraft =>
  systemEvent(
    {
      eventType: 'log.pruned',
      action: 'prune',
      actor: { id: 'operator', type: 'operator' },
      resource: { id: archiveHash, type: 'archive' },
      metadata: { minIndex, archiveSize },
    },
    context,
  );

/** The system's clock jumped, or is right again. `aheadMs` is negative for a clock that is behind. */
export const clockChanged = (
  {
    eventType,
    aheadMs,
  }: { readonly eventType: 'clock.jumped' | 'clock.corrected'; readonly aheadMs: number },
  context: { nowMs: number; salt: () => string },
): EventDraft =>
  systemEvent(
    {
      eventType,
      action: 'observe',
      actor: { id: 'gov', type: 'service' },
      resource: { id: 'system', type: 'clock' },
      metadata: { aheadMs },
    },
    context,
  );
