/**
 * Recomputes the columns of a project and its keys from its system events, the same for both engines.
 * Each change is one event, in the transaction of the change (`src/service/access/project-events.ts`). Memory
 * grows with all keys ever created: about 500 bytes each.
 * Proven by `test/host/data/tamper-tenants.long.test.ts`.
 */
import { sha256Text } from '../../../core/hash.ts';
import { canonicalize, type Json, type JsonObject } from '../../../core/json/parse.ts';
import { parseTimestamp } from '../../../core/time.ts';
import { nameKey } from '../../rules/tenants.ts';
import { isObject } from '../../../core/json/object.ts';

/** By name of the column. A column that no readable event sets is absent. */
export type KnownColumns = Record<string, string | number | null>;

/**
 * A system event with its whole body. If its record was altered, which is reported, its members may have any
 * type.
 */
export interface TenantEvent {
  readonly eventType: string;
  readonly atMs: number | null;
  readonly actorId: string;
  readonly resourceId: string;
  readonly metadata: JsonObject;
}

export class TenantLife {
  readonly #projectId: string;
  readonly #keys = new Map<string, KnownColumns>();
  #project: KnownColumns | null = null;
  #unread = { keys: 0, projects: 0 };

  constructor(projectId: string) {
    this.#projectId = projectId;
  }

  /** By key id. */
  get keys(): ReadonlyMap<string, KnownColumns> {
    return this.#keys;
  }

  /** Null if no readable event created it. A plane's project has no such event. */
  get project(): KnownColumns | null {
    return this.#project;
  }

  /** Numbers of unreadable events that created a key or a project. So many rows cannot be checked. */
  get unread(): Readonly<Record<'keys' | 'projects', number>> {
    return this.#unread;
  }

  /** Call it in log order. */
  add(event: TenantEvent): void {
    if (event.eventType.startsWith('api_key.')) this.#addKeyEvent(event);
    // the log of an organization's home also records changes of its other projects
    else if (event.resourceId === this.#projectId) this.#addProjectEvent(event);
  }

  /** An event whose body is missing or altered. The columns that it changed are unknown from then on. */
  forget(eventType: string): void {
    const columns = changedBy[eventType] ?? [];
    const known = eventType.startsWith('api_key.') ? this.#keys.values() : [this.#project ?? {}];
    for (const each of known) for (const column of columns) delete each[column];
    if (eventType === 'api_key.created' || eventType === 'api_key.rotated') this.#unread.keys += 1;
    if (eventType === 'project.created') this.#unread.projects += 1;
  }

  #addKeyEvent(event: TenantEvent): void {
    const { eventType, atMs, resourceId: keyId, metadata } = event;
    if (eventType === 'api_key.created') this.#keys.set(keyId, newKey(event));
    else if (eventType === 'api_key.rotated') {
      const { rotatedFrom, rotatedUntil } = metadata;
      this.#keys.set(keyId, { ...newKey(event), rotated_from: text(rotatedFrom) });
      revoke(this.#keys.get(text(rotatedFrom) ?? ''), time(rotatedUntil), atMs);
    } else if (eventType === 'api_key.revoked') revoke(this.#keys.get(keyId), atMs, atMs);
    else Object.assign(this.#keys.get(keyId) ?? {}, keyColumns(changesOf(metadata)), { updated_ms: atMs });
  }

  #addProjectEvent(event: TenantEvent): void {
    if (event.eventType === 'project.created') this.#project = newProject(event);
    else Object.assign(this.#project ?? {}, projectColumns(event), { updated_ms: event.atMs });
  }
}

const settingColumns = ['name', 'name_key', 'settings', 'updated_ms'];

/** The columns that an event changes in existing rows. It lists all events of keys and projects. */
const changedBy: Readonly<Record<string, readonly string[]>> = {
  'api_key.created': [],
  'api_key.updated': ['name', 'description', 'scopes', 'expires_ms', 'updated_ms'],
  'api_key.revoked': ['revoked_ms', 'updated_ms'],
  'api_key.rotated': ['revoked_ms', 'updated_ms'],
  'project.created': [],
  'project.updated': settingColumns,
  'retention.changed': settingColumns,
  'quota.changed': ['quotas', 'updated_ms'],
  'project.deleted': ['deleted_ms', 'updated_ms'],
  'project.restored': ['deleted_ms', 'updated_ms'],
};

export const isTenantEvent = (eventType: string): boolean => Object.hasOwn(changedBy, eventType);

const newKey = ({ atMs, actorId, metadata }: TenantEvent): KnownColumns => ({
  digest: text(metadata['digestHash']),
  prefix: text(metadata['prefix']),
  last4: text(metadata['last4']),
  ...keyColumns(metadata),
  created_ms: atMs,
  created_by: actorId,
  updated_ms: atMs,
  revoked_ms: null,
  rotated_from: null,
});

/** The columns that the members set. */
function keyColumns(members: JsonObject): KnownColumns {
  const { name, description, scopes, expiresAt } = members;
  return {
    ...(name === undefined ? {} : { name: text(name) }),
    ...(description === undefined ? {} : { description: text(description) }),
    ...(scopes === undefined ? {} : { scopes: JSON.stringify(scopes) }),
    ...(expiresAt === undefined ? {} : { expires_ms: time(expiresAt) }),
  };
}

/** A key with an earlier end keeps it (`src/store/rules/tenants.ts`). An unknown end stays unknown. */
function revoke(key: KnownColumns | undefined, untilMs: number | null, atMs: number | null): void {
  if (key === undefined) return;
  const { revoked_ms: end } = key;
  key['updated_ms'] = atMs;
  if (end !== undefined) key['revoked_ms'] = Math.min(untilMs ?? Infinity, Number(end ?? Infinity));
}

const newProject = ({ atMs, metadata }: TenantEvent): KnownColumns => ({
  organization_id: text(metadata['organizationId']),
  environment: text(metadata['environment']),
  ...named(metadata['name']),
  settings: sha256Text('{}'),
  quotas: '{}',
  created_ms: atMs,
  updated_ms: atMs,
  deleted_ms: null,
});

function projectColumns({ eventType, atMs, metadata }: TenantEvent): KnownColumns {
  switch (eventType) {
    case 'quota.changed':
      return { quotas: canonicalize(metadata['to'] ?? null) };
    case 'project.deleted':
      return { deleted_ms: atMs };
    case 'project.restored':
      return { deleted_ms: null };
    default: {
      const { name } = changesOf(metadata);
      return { settings: text(metadata['settingsHash']), ...(name === undefined ? {} : named(name)) };
    }
  }
}

const named = (name: Json | undefined): KnownColumns => ({
  name: text(name),
  name_key: nameKey(text(name) ?? ''),
});

/** The new value of each changed member. */
function changesOf({ changes }: JsonObject): JsonObject {
  const to = Object.entries(isObject(changes) ? changes : {}).flatMap(([name, change]) =>
    isObject(change) && change['to'] !== undefined ? [[name, change['to']] as const] : [],
  );
  return Object.fromEntries(to);
}

export const text = (value: Json | undefined): string | null =>
  value === undefined || value === null || typeof value === 'string' ? (value ?? null) : canonicalize(value);

export const time = (value: Json | undefined): number | null => parseTimestamp(text(value) ?? '');
