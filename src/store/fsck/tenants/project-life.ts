/**
 * What the system events of a project give of its keys and of itself, column by column and whatever the engine: each
 * change of theirs is one event, in the transaction of the change (`src/service/access/project-events.ts`). Memory grows with
 * the keys that were ever made: about 500 bytes each. Proven by `test/host/data/tamper-tenants.long.test.ts`.
 */
import { sha256Text } from '../../../core/hash.ts';
import { canonicalize, type Json, type JsonObject } from '../../../core/json/parse.ts';
import { parseTimestamp } from '../../../core/time.ts';
import { nameKey } from '../../rules/tenants.ts';
import { isObject } from '../../../core/json/object.ts';

/** By name of the column; one that no event tells, or none that can still be read, is left out. */
export type Told = Record<string, string | number | null>;

/** A system event whose body stands whole. Members may be anything where its record was altered, which is reported. */
export interface TenantEvent {
  readonly eventType: string;
  readonly atMs: number | null;
  readonly actorId: string;
  readonly resourceId: string;
  readonly metadata: JsonObject;
}

export class TenantLife {
  readonly #projectId: string;
  readonly #keys = new Map<string, Told>();
  #project: Told | null = null;
  #unread = { keys: 0, projects: 0 };

  constructor(projectId: string) {
    this.#projectId = projectId;
  }

  /** By key id. */
  get keys(): ReadonlyMap<string, Told> {
    return this.#keys;
  }

  /** Null where no event that can be read made it: a plane's has none. */
  get project(): Told | null {
    return this.#project;
  }

  /** Events that made a key, or a project, and cannot be read: of so many rows nothing is known. */
  get unread(): Readonly<Record<'keys' | 'projects', number>> {
    return this.#unread;
  }

  /** In log order. */
  add(event: TenantEvent): void {
    if (event.eventType.startsWith('api_key.')) this.#addKeyEvent(event);
    // the log of an organization's home tells of its other projects too
    else if (event.resourceId === this.#projectId) this.#addProjectEvent(event);
  }

  /** An event whose body is gone, or is not what was logged: what it changed is not known any more. */
  forget(eventType: string): void {
    const columns = changedBy[eventType] ?? [];
    const told = eventType.startsWith('api_key.') ? this.#keys.values() : [this.#project ?? {}];
    for (const each of told) for (const column of columns) delete each[column];
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

/** The columns that an event changes of rows that were there before it; events of keys and projects are all here. */
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

export const tellsOfTenant = (eventType: string): boolean => Object.hasOwn(changedBy, eventType);

const newKey = ({ atMs, actorId, metadata }: TenantEvent): Told => ({
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

/** Those of them that are told. */
function keyColumns(members: JsonObject): Told {
  const { name, description, scopes, expiresAt } = members;
  return {
    ...(name === undefined ? {} : { name: text(name) }),
    ...(description === undefined ? {} : { description: text(description) }),
    ...(scopes === undefined ? {} : { scopes: JSON.stringify(scopes) }),
    ...(expiresAt === undefined ? {} : { expires_ms: time(expiresAt) }),
  };
}

/** One that ends already does not live longer (`src/store/rules/tenants.ts`); where its end is not known, it stays so. */
function revoke(key: Told | undefined, untilMs: number | null, atMs: number | null): void {
  if (key === undefined) return;
  const { revoked_ms: end } = key;
  key['updated_ms'] = atMs;
  if (end !== undefined) key['revoked_ms'] = Math.min(untilMs ?? Infinity, Number(end ?? Infinity));
}

const newProject = ({ atMs, metadata }: TenantEvent): Told => ({
  organization_id: text(metadata['organizationId']),
  environment: text(metadata['environment']),
  ...named(metadata['name']),
  settings: sha256Text('{}'),
  quotas: '{}',
  created_ms: atMs,
  updated_ms: atMs,
  deleted_ms: null,
});

function projectColumns({ eventType, atMs, metadata }: TenantEvent): Told {
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

const named = (name: Json | undefined): Told => ({ name: text(name), name_key: nameKey(text(name) ?? '') });

/** What each member was changed to. */
function changesOf({ changes }: JsonObject): JsonObject {
  const to = Object.entries(isObject(changes) ? changes : {}).flatMap(([name, change]) =>
    isObject(change) && change['to'] !== undefined ? [[name, change['to']] as const] : [],
  );
  return Object.fromEntries(to);
}

export const text = (value: Json | undefined): string | null =>
  value === undefined || value === null || typeof value === 'string' ? (value ?? null) : canonicalize(value);

export const time = (value: Json | undefined): number | null => parseTimestamp(text(value) ?? '');
