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
import { columnsOf, json, words } from './columns.ts';

export const keyColumns = columnsOf<Omit<ApiKeyRow, 'projectId'>>('api_key', {
  keyId: 'key_id',
  digest: 'digest',
  prefix: 'prefix',
  last4: 'last4',
  name: words('name'),
  description: words('description'),
  scopes: json('scopes'),
  createdMs: 'created_ms',
  createdBy: 'created_by',
  updatedMs: 'updated_ms',
  lastUsedMs: 'last_used_ms',
  expiresMs: 'expires_ms',
  revokedMs: 'revoked_ms',
  rotatedFrom: 'rotated_from',
});

export type OrganizationRow = Omit<StoredOrganization, 'home'> & {
  readonly homeProduction: string;
  readonly homeSandbox: string;
};

export const organizationColumns = columnsOf<OrganizationRow>(
  'organization',
  {
    organizationId: 'organization_id',
    name: words('name'),
    customerId: 'customer_id',
    homeProduction: 'home_production',
    homeSandbox: 'home_sandbox',
    createdMs: 'created_ms',
  },
  { byProject: false },
);

export const organizationRow = ({ home, ...rest }: StoredOrganization): OrganizationRow => ({
  ...rest,
  homeProduction: home.production,
  homeSandbox: home.sandbox,
});
export const organizationOf = (row: OrganizationRow): StoredOrganization => {
  const { homeProduction: production, homeSandbox: sandbox, ...rest } = row;
  return { ...rest, home: { production, sandbox } };
};

export const personColumns = columnsOf<StoredUser>(
  'person',
  {
    userId: 'user_id',
    organizationId: 'organization_id',
    issuer: 'issuer',
    subject: 'subject',
    email: words('email'),
    name: words('name'),
    createdMs: 'created_ms',
  },
  { byProject: false },
);

export const sessionColumns = columnsOf<StoredSession>(
  'session',
  {
    digest: 'digest',
    kind: 'kind',
    userId: 'user_id',
    organizationId: 'organization_id',
    createdMs: 'created_ms',
    lastUsedMs: 'last_used_ms',
    expiresMs: 'expires_ms',
    endedMs: 'ended_ms',
  },
  { byProject: false },
);

type WholeProfile = Omit<StoredProject, 'project'> &
  Pick<StoredProject['project'], 'organizationId' | 'environment'> & { readonly nameKey: string };

/** `nameKey`: the name as it is compared (`nameKey` in `tenants.ts`). */
export const profileColumns = columnsOf<WholeProfile>('project_profile', {
  organizationId: 'organization_id',
  environment: 'environment',
  name: words('name'),
  nameKey: 'name_key',
  settings: 'settings',
  quotas: json('quotas'),
  createdMs: 'created_ms',
  updatedMs: 'updated_ms',
  deletedMs: 'deleted_ms',
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
