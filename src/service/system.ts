/**
 * Events of the service itself (contract O8): run `gov.system`, unmetered, appended in the transaction of what
 * they tell of. Proven by `test/service/graphs/handlers.engines.test.ts`.
 */
import type { ApprovalRecord } from '../core/decided/approval.ts';
import type { ErasureRecord } from '../core/decided/erasure.ts';
import type { PolicyChange, PolicyChangeEvent } from '../core/decided/policy-change.ts';
import type { PruneRecord } from '../core/decided/prune.ts';
import type { JsonObject } from '../core/json/parse.ts';
import { saltPool } from '../core/event/disclosure.ts';
import { hashText, sha256 } from '../core/hash.ts';
import type { RiskRouter } from '../core/risk/config.ts';
import { draftEvent, systemRun, type EventDraft } from '../core/event/record.ts';
import { formatTimestamp } from '../core/time.ts';
import type { ApiKeyRow } from '../store/port/store.ts';
import type { Caller } from './call/handler.ts';

interface SystemEvent {
  readonly eventType: string;
  readonly action: string;
  readonly actor: { readonly id: string; readonly type: string };
  readonly resource: { readonly id: string; readonly type: string };
  readonly metadata: JsonObject;
  readonly clientEventId?: string;
}

/** Drafts a system event; its members are our own, so a refusal is a bug. */
export function systemEvent(event: SystemEvent, context: { nowMs: number; salt: () => string }): EventDraft {
  const input = { runId: systemRun, ...event, timestamp: formatTimestamp(context.nowMs) };
  const draft = draftEvent(input, context.nowMs, context.salt);
  if ('code' in draft) throw new Error(`a system event was refused: ${draft.detail}`);
  return draft;
}

/**
 * All that a new key is: what `src/store/fsck/tenants/project-life.ts` derives its row from. Of its token the log has a hash of the
 * digest by which the store finds it, beside the characters that its owner is shown.
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

/** A key was made, at `key.createdMs`; by whom is known only where another key asked for it. */
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

/** What each change of a policy is called in the audit trail. */
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

/** Values were erased; `by` is null where the retention of the project did. */
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

/** Events below a leaf were archived and pruned, by the operator. */
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
