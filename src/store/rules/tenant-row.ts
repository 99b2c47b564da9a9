/**
 * Rows of tenants, the same in both engines.
 * Proven by `test/store/suite/tenancy/tenants.ts`.
 */
import type { MeteredType } from '../../contract/operation.ts';
import { projectOf, type ProjectRow } from '../port/project.ts';
import type {
  ApiKeyRow,
  NamedProject,
  StoredOrganization,
  StoredSession,
  StoredUser,
} from '../port/tenancy.ts';
import type { StoredProject } from '../port/store.ts';

export interface KeyRow {
  key_id: string;
  project_id: string;
  digest: Buffer;
  prefix: string;
  last4: string;
  name: string;
  description: string | null;
  scopes: string;
  created_ms: number;
  created_by: string;
  updated_ms: number;
  last_used_ms: number | null;
  expires_ms: number | null;
  revoked_ms: number | null;
  rotated_from: string | null;
}

/** Columns of `api_key`, in the order of `keyValues`. */
export const keyColumns = [
  'key_id',
  'digest',
  'prefix',
  'last4',
  'name',
  'description',
  'scopes',
  'created_ms',
  'created_by',
  'updated_ms',
  'last_used_ms',
  'expires_ms',
  'revoked_ms',
  'rotated_from',
] as const;

export const keyValues = (key: ApiKeyRow) => [
  key.keyId,
  key.digest,
  key.prefix,
  key.last4,
  key.name,
  key.description,
  JSON.stringify(key.scopes),
  key.createdMs,
  key.createdBy,
  key.updatedMs,
  key.lastUsedMs,
  key.expiresMs,
  key.revokedMs,
  key.rotatedFrom,
];

export const keyOf = (row: KeyRow): ApiKeyRow => ({
  keyId: row.key_id,
  projectId: row.project_id,
  digest: row.digest,
  prefix: row.prefix,
  last4: row.last4,
  name: row.name,
  description: row.description,
  scopes: JSON.parse(row.scopes) as string[],
  createdMs: row.created_ms,
  createdBy: row.created_by,
  updatedMs: row.updated_ms,
  lastUsedMs: row.last_used_ms,
  expiresMs: row.expires_ms,
  revokedMs: row.revoked_ms,
  rotatedFrom: row.rotated_from,
});

export interface OrganizationRow {
  organization_id: string;
  name: string;
  customer_id: string | null;
  home_production: string;
  home_sandbox: string;
  created_ms: number;
}

export const organizationColumns = [
  'organization_id',
  'name',
  'customer_id',
  'home_production',
  'home_sandbox',
  'created_ms',
] as const;

export const organizationOf = (row: OrganizationRow): StoredOrganization => ({
  organizationId: row.organization_id,
  name: row.name,
  customerId: row.customer_id,
  home: { production: row.home_production, sandbox: row.home_sandbox },
  createdMs: row.created_ms,
});

export interface PersonRow {
  user_id: string;
  organization_id: string;
  issuer: string;
  subject: string;
  email: string | null;
  name: string;
  created_ms: number;
}

export const personColumns = [
  'user_id',
  'organization_id',
  'issuer',
  'subject',
  'email',
  'name',
  'created_ms',
] as const;

export const personOf = (row: PersonRow): StoredUser => ({
  userId: row.user_id,
  organizationId: row.organization_id,
  issuer: row.issuer,
  subject: row.subject,
  email: row.email,
  name: row.name,
  createdMs: row.created_ms,
});

export interface SessionRow {
  digest: Buffer;
  kind: StoredSession['kind'];
  user_id: string;
  organization_id: string;
  created_ms: number;
  last_used_ms: number;
  expires_ms: number;
  ended_ms: number | null;
}

export const sessionColumns = [
  'digest',
  'kind',
  'user_id',
  'organization_id',
  'created_ms',
  'last_used_ms',
  'expires_ms',
  'ended_ms',
] as const;

export const sessionOf = (row: SessionRow): StoredSession => ({
  digest: row.digest,
  kind: row.kind,
  userId: row.user_id,
  organizationId: row.organization_id,
  createdMs: row.created_ms,
  lastUsedMs: row.last_used_ms,
  expiresMs: row.expires_ms,
  endedMs: row.ended_ms,
});

/** Columns of `project_profile`, without the project's own columns. */
export interface ProfileRow {
  name: string;
  settings: string;
  quotas: string;
  created_ms: number;
  updated_ms: number;
  deleted_ms: number | null;
}

export type NamedRow = ProjectRow & Pick<ProfileRow, 'name' | 'created_ms' | 'updated_ms'>;

export const namedProjectOf = (row: NamedRow): NamedProject => ({
  project: projectOf(row),
  name: row.name,
  createdMs: row.created_ms,
  updatedMs: row.updated_ms,
});

export const quotasOf = (text: string): StoredProject['quotas'] =>
  JSON.parse(text) as Partial<Record<MeteredType, number | null>>;

export const storedProjectOf = (row: ProfileRow & ProjectRow): StoredProject => ({
  project: projectOf(row),
  name: row.name,
  settings: row.settings,
  quotas: quotasOf(row.quotas),
  createdMs: row.created_ms,
  updatedMs: row.updated_ms,
  deletedMs: row.deleted_ms,
});

/** The time of a use, rounded down to the minute. */
export const minuteOf = (ms: number): number => ms - (ms % 60_000);
