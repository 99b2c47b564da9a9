/**
 * Writes of organizations, people, sessions, profiles of projects and API keys. `TenantRows` says what each one is.
 * Proven by `test/store/suite/tenancy/keys.ts`, `test/store/suite/tenancy/projects.ts` and
 * `test/store/suite/tenancy/tenants.ts`.
 */
import type {
  ApiKeyRow,
  StoredOrganization,
  StoredProject,
  StoredSession,
  StoredUser,
} from '../port/store.ts';
import type { TenantEffect } from '../port/tenancy.ts';
import type { Homes } from '../rules/homes.ts';
import {
  keyColumns,
  organizationColumns,
  organizationRow,
  personColumns,
  profileColumns,
  sessionColumns,
} from '../rules/tenant-row.ts';
import { type ProjectProfile, nameKey } from '../rules/tenants.ts';
import { insert, update, upsert, write, type Writer } from './statement.ts';

type EffectOf<Kind extends TenantEffect['kind']> = Extract<TenantEffect, { kind: Kind }>;

const addKey = insert(keyColumns);
/** The time of a key's creation stays. */
const putKey = upsert(keyColumns, {
  key: ['keyId'],
  also: ['createdMs'],
  set: [
    'digest',
    'prefix',
    'last4',
    'name',
    'description',
    'scopes',
    'createdBy',
    'updatedMs',
    'lastUsedMs',
    'expiresMs',
    'revokedMs',
    'rotatedFrom',
  ],
});
const changeKey = update(keyColumns, {
  set: ['name', 'description', 'scopes', 'expiresMs', 'updatedMs'],
  by: ['keyId'],
});
const revokeKey = update(keyColumns, { set: ['revokedMs', 'updatedMs'], by: ['keyId'] });

export const keyWrites = <Done>(run: Writer<Done>) => ({
  addApiKey: (key: ApiKeyRow) => run(addKey, key),
  /** Replaces a key with this id. */
  putApiKey: (key: ApiKeyRow) => run(putKey, key),
  changeApiKey: ({ keyId, name, description, scopes, expiresMs, atMs }: EffectOf<'changeApiKey'>) =>
    run(changeKey, { keyId, name, description, scopes, expiresMs, updatedMs: atMs }),
  revokeApiKey: ({ keyId, revokedMs, atMs }: EffectOf<'revokeApiKey'>) =>
    run(revokeKey, { keyId, revokedMs, updatedMs: atMs }),
});

const addProfile = insert(profileColumns);
const saveProfile = update(profileColumns, {
  set: ['name', 'nameKey', 'settings', 'quotas', 'deletedMs', 'updatedMs'],
  by: [],
});

export const profileWrites = <Done>(run: Writer<Done>) => ({
  addProfile: ({ project: { organizationId, environment }, ...profile }: StoredProject) =>
    run(addProfile, { ...profile, organizationId, environment, nameKey: nameKey(profile.name) }),
  saveProfile: (profile: ProjectProfile, updatedMs: number) =>
    run(saveProfile, { ...profile, nameKey: nameKey(profile.name), updatedMs }),
});

const addOrganization = insert(organizationColumns);
const addPerson = insert(personColumns);
const saveHomes = update(organizationColumns, {
  set: ['homeProduction', 'homeSandbox'],
  by: ['organizationId'],
});
const setCustomer = update(organizationColumns, { set: ['customerId'], by: ['organizationId'] });
const openSession = insert(sessionColumns);
const endSession = update(sessionColumns, { set: ['endedMs'], by: ['digest'], where: 'ended_ms IS NULL' });
const useSession = write<{ readonly digest: Uint8Array; readonly minute: number }>(
  'note use of session',
  `UPDATE session SET last_used_ms = :minute::int8
   WHERE digest = :digest AND ended_ms IS NULL AND last_used_ms < :minute::int8`,
);

export const organizationWrites = <Done>(run: Writer<Done>) => ({
  addOrganization: (made: StoredOrganization) => run(addOrganization, organizationRow(made)),
  addPerson: (made: StoredUser) => run(addPerson, made),
  saveHomes: (organizationId: string, { production, sandbox }: Homes) =>
    run(saveHomes, { organizationId, homeProduction: production, homeSandbox: sandbox }),
  setCustomer: ({ organizationId, customerId }: EffectOf<'setCustomer'>) =>
    run(setCustomer, { organizationId, customerId }),
  openSession: (made: StoredSession) => run(openSession, made),
  endSession: ({ digest, atMs }: EffectOf<'endSession'>) => run(endSession, { digest, endedMs: atMs }),
  useSession: (digest: Uint8Array, minute: number) => run(useSession, { digest, minute }),
});
