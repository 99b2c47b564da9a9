/**
 * Events of projects, their keys and their quotas (contract O8): run `gov.system`, appended with what they tell of.
 * Proven by `test/service/access/projects.test.ts`, `test/service/access/api-keys.test.ts` and `test/service/access/quota.test.ts`.
 */
import type { MeteredType } from '../../contract/operation.ts';
import { problems, type ProblemCode } from '../../contract/problems.ts';
import type { JsonObject } from '../../core/json/parse.ts';
import { sha256Text } from '../../core/hash.ts';
import type { EventDraft } from '../../core/event/record.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { ApiKeyRow, StoredOrganization, StoredProject } from '../../store/port/store.ts';
import type { Caller } from '../call/handler.ts';
import type { SettingsChange } from '../call/settings.ts';
import { keyMembers, systemEvent } from '../system.ts';

/** Who did it, where it was no caller: somebody at the machine, or the service by itself. */
export const operator = { id: 'operator', type: 'operator' } as const;
const service = { id: 'gov', type: 'service' } as const;

export type Actor = Pick<Caller, 'id' | 'type'> | typeof operator;

/** When, by whom. */
export interface Telling {
  readonly nowMs: number;
  readonly salt: () => string;
  readonly by: Actor;
}

const projectEvent = (
  [eventType, action]: readonly [eventType: string, action: string],
  { project }: Pick<StoredProject, 'project'>,
  { by, ...context }: Telling,
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

/** A project was made. */
export const projectCreated = (stored: StoredProject, telling: Telling): EventDraft =>
  projectEvent(['project.created', 'create'], stored, telling, {
    name: stored.name,
    environment: stored.project.environment,
    organizationId: stored.project.organizationId,
  });

type Told = Pick<SettingsChange, 'changes' | 'text'>;

/** Its name or settings were changed: each with what it was and what it is. */
export const projectUpdated = (stored: StoredProject, telling: Telling, told: Told): EventDraft =>
  projectEvent(['project.updated', 'update'], stored, telling, settingsTold(told));

/** How long bodies are kept was changed. */
export const retentionChanged = (stored: StoredProject, telling: Telling, told: Told): EventDraft =>
  projectEvent(['retention.changed', 'update'], stored, telling, settingsTold(told));

/** The hash holds all settings as they are stored, also those whose contents are not told. */
const settingsTold = ({ changes, text }: Told): JsonObject => ({ changes, settingsHash: sha256Text(text) });

export const projectDeleted = (stored: StoredProject, telling: Telling): EventDraft =>
  projectEvent(['project.deleted', 'delete'], stored, telling, { name: stored.name });

export const projectRestored = (stored: StoredProject, telling: Telling): EventDraft =>
  projectEvent(['project.restored', 'restore'], stored, telling, { name: stored.name });

/** The operator set quotas of a project; null: unlimited. */
export const quotaChanged = (
  stored: StoredProject,
  telling: Telling,
  quotas: StoredProject['quotas'],
): EventDraft =>
  projectEvent(['quota.changed', 'configure'], stored, telling, {
    from: { ...stored.quotas },
    to: { ...quotas },
  });

const keyEvent = (
  [eventType, action]: readonly [eventType: string, action: string],
  { keyId, name, prefix }: ApiKeyRow,
  { by, ...context }: Telling,
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

/** What of a key was changed: each with what it was and what it is. */
export const keyUpdated = (key: ApiKeyRow, telling: Telling, changes: JsonObject): EventDraft =>
  keyEvent(['api_key.updated', 'update'], key, telling, { changes });

export const keyRevoked = (key: ApiKeyRow, telling: Telling): EventDraft =>
  keyEvent(['api_key.revoked', 'revoke'], key, telling, {});

/** A key replaces another one, which ends at `untilMs`. */
export const keyRotated = (key: ApiKeyRow, telling: Telling, untilMs: number): EventDraft =>
  keyEvent(['api_key.rotated', 'rotate'], key, telling, {
    ...keyMembers(key),
    rotatedFrom: key.rotatedFrom,
    rotatedUntil: formatTimestamp(untilMs),
  });

/** Somebody opened the payment provider's portal for the organization. */
export const portalOpened = (organizationId: string, { by, ...context }: Telling): EventDraft =>
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

/** The operator said who the organization is at the payment provider. */
export const customerChanged = (
  { organizationId, customerId: from }: Pick<StoredOrganization, 'organizationId' | 'customerId'>,
  { by, ...context }: Telling,
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
 * The use of a quota has passed a percentage of it. Its clientEventId is one that no client can have used before: a
 * client's own has no `/` (contract A2).
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

/** A known credential was refused; `unrecorded`: how often since the event before, beyond what is recorded. */
export const refused = (
  denied: { operation: string; code: ProblemCode; unrecorded: number },
  { by, ...context }: Telling,
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
