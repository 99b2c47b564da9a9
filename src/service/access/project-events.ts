/**
 * System events of projects, their keys and their quotas (contract O8). The append of a change contains its
 * event. Proven by `test/service/access/projects.test.ts`, `test/service/access/api-keys.test.ts` and
 * `test/service/billing/quota.test.ts`.
 */
import type { MeteredType } from '../../contract/operation.ts';
import { problems, type ProblemCode } from '../../contract/problems.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { sha256Text } from '../../core/hash.ts';
import type { EventDraft } from '../../core/events/record.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ApiKeyRow, StoredOrganization, StoredProject } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import type { SettingsChange } from '../call/settings.ts';
import { keyMembers, systemEvent } from '../writes/system.ts';

/** The actor where no caller acts: a person at the machine, or the service itself. */
export const operator = { id: 'operator', type: 'operator' } as const;
const service = { id: 'gov', type: 'service' } as const;

type Actor = Pick<Caller, 'id' | 'type'> | typeof operator;

/** Time, salt and actor of an event. */
export interface EventContext {
  readonly nowMs: number;
  readonly salt: () => string;
  readonly by: Actor;
}

const projectEvent = (
  [eventType, action]: readonly [eventType: string, action: string],
  { project }: Pick<StoredProject, 'project'>,
  { by, ...context }: EventContext,
  metadata: JsonObject,
): EventDraft =>
  systemEvent(
    {
      eventType,
      action,
      actor: { id: by.id, type: by.type },
      resource: { id: project.projectId, type: 'project' },
      metadata,
    },
    context,
  );

/** A project was created. */
export const projectCreated = (stored: StoredProject, context: EventContext): EventDraft =>
  projectEvent(['project.created', 'create'], stored, context, {
    name: stored.name,
    environment: stored.project.environment,
    organizationId: stored.project.organizationId,
  });

type ChangedSettings = Pick<SettingsChange, 'changes' | 'text'>;

/** The name or settings of a project changed; each with its old and new value. */
export const projectUpdated = (
  stored: StoredProject,
  context: EventContext,
  changed: ChangedSettings,
): EventDraft => projectEvent(['project.updated', 'update'], stored, context, settingsMembers(changed));

/** The retention of a project changed. */
export const retentionChanged = (
  stored: StoredProject,
  context: EventContext,
  changed: ChangedSettings,
): EventDraft => projectEvent(['retention.changed', 'update'], stored, context, settingsMembers(changed));

/** The hash covers all stored settings, also those whose values the event does not contain. */
const settingsMembers = ({ changes, text }: ChangedSettings): JsonObject => ({
  changes,
  settingsHash: sha256Text(text),
});

export const projectDeleted = (stored: StoredProject, context: EventContext): EventDraft =>
  projectEvent(['project.deleted', 'delete'], stored, context, { name: stored.name });

export const projectRestored = (stored: StoredProject, context: EventContext): EventDraft =>
  projectEvent(['project.restored', 'restore'], stored, context, { name: stored.name });

/** The operator set quotas of a project; null for unlimited. */
export const quotaChanged = (
  stored: StoredProject,
  context: EventContext,
  quotas: StoredProject['quotas'],
): EventDraft =>
  projectEvent(['quota.changed', 'configure'], stored, context, {
    from: { ...stored.quotas },
    to: { ...quotas },
  });

const keyEvent = (
  [eventType, action]: readonly [eventType: string, action: string],
  { keyId, name, prefix }: ApiKeyRow,
  { by, ...context }: EventContext,
  metadata: JsonObject,
): EventDraft =>
  systemEvent(
    {
      eventType,
      action,
      actor: { id: by.id, type: by.type },
      resource: { id: keyId, type: 'api_key' },
      metadata: { name, prefix, ...metadata },
    },
    context,
  );

/** A key changed; each member with its old and new value. */
export const keyUpdated = (key: ApiKeyRow, context: EventContext, changes: JsonObject): EventDraft =>
  keyEvent(['api_key.updated', 'update'], key, context, { changes });

export const keyRevoked = (key: ApiKeyRow, context: EventContext): EventDraft =>
  keyEvent(['api_key.revoked', 'revoke'], key, context, {});

/** A key replaces another one, which ends at `untilMs`. */
export const keyRotated = (key: ApiKeyRow, context: EventContext, untilMs: number): EventDraft =>
  keyEvent(['api_key.rotated', 'rotate'], key, context, {
    ...keyMembers(key),
    rotatedFrom: key.rotatedFrom,
    rotatedUntil: formatTimestamp(untilMs),
  });

/** A caller opened the payment provider's portal for the organization. */
export const portalOpened = (organizationId: string, { by, ...context }: EventContext): EventDraft =>
  systemEvent(
    {
      eventType: 'billing.portal_opened',
      action: 'open',
      actor: { id: by.id, type: by.type },
      resource: { id: organizationId, type: 'organization' },
      metadata: {},
    },
    context,
  );

/** The operator set the organization's customer id at the payment provider. */
export const customerChanged = (
  { organizationId, customerId: from }: Pick<StoredOrganization, 'organizationId' | 'customerId'>,
  { by, ...context }: EventContext,
  to: string | null,
): EventDraft =>
  systemEvent(
    {
      eventType: 'billing.customer_changed',
      action: 'configure',
      actor: { id: by.id, type: by.type },
      resource: { id: organizationId, type: 'organization' },
      metadata: { from, to },
    },
    context,
  );

/**
 * The use of a quota passed a percentage. A client's own clientEventId contains no `/` (contract A2), so this
 * one is never in use before.
 */
export const thresholdReached = (
  reached: { type: MeteredType; month: string; percent: number; limit: number; used: number },
  context: { nowMs: number; salt: () => string },
): EventDraft =>
  systemEvent(
    {
      eventType: 'quota.threshold_reached',
      action: 'reach',
      actor: service,
      resource: { id: reached.type, type: 'quota' },
      metadata: reached,
      clientEventId: `quota/${reached.type}/${reached.month}/${reached.percent}`,
    },
    context,
  );

/** A request was refused over the quota, or counted as overage: once a month for each quota. */
export const quotaExceeded = (
  exceeded: { type: MeteredType; month: string; limit: number; used: number },
  context: { nowMs: number; salt: () => string },
): EventDraft =>
  systemEvent(
    {
      eventType: 'quota.exceeded',
      action: 'exceed',
      actor: service,
      resource: { id: exceeded.type, type: 'quota' },
      metadata: exceeded,
      clientEventId: `quota/${exceeded.type}/${exceeded.month}/exceeded`,
    },
    context,
  );

/** A known credential was refused. `unrecorded`: refusals since the last event that were left out. */
export const refused = (
  denied: { operation: string; code: ProblemCode; unrecorded: number },
  { by, ...context }: EventContext,
): EventDraft => {
  const isCredential = problems[denied.code].status === 401;
  return systemEvent(
    {
      eventType: isCredential ? 'authentication.failed' : 'authorization.failed',
      action: 'refuse',
      actor: { id: by.id, type: by.type },
      resource: { id: denied.operation, type: 'operation' },
      metadata: denied,
    },
    context,
  );
};
