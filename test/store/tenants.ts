/** Tenants as store tests make them: organizations with a person and two projects, keys, sessions. */
import { sha256 } from '../../src/core/hash.ts';
import { zeroTotals } from '../../src/core/metering.ts';
import { draftLeaf } from '../../src/core/record.ts';
import type {
  ApiKeyRow,
  Effect,
  NewProject,
  NewTenant,
  Store,
  StoredProject,
  StoredSession,
} from '../../src/store/port.ts';
import { event, startMs } from './fixture.ts';
import { unmetered } from './governance.ts';

export const digestOf = (text: string): Buffer => sha256(text);

export const apiKey = (id: string, more: Partial<ApiKeyRow> = {}): ApiKeyRow => ({
  keyId: `key_${id}`,
  projectId: 'prj_a',
  digest: digestOf(`token ${id}`),
  prefix: 'gov_live_abcd',
  last4: 'wxyz',
  name: `key ${id}`,
  description: null,
  scopes: ['events:write', 'log:read'],
  createdMs: startMs,
  createdBy: 'operator',
  updatedMs: startMs,
  lastUsedMs: null,
  expiresMs: null,
  revokedMs: null,
  rotatedFrom: null,
  ...more,
});

/** Project `prj_<org>_<name>` of organization `org_<org>`. */
export function storedProject(
  org: string,
  name: string,
  more: Partial<StoredProject> & { readonly environment?: 'production' | 'sandbox' } = {},
): StoredProject {
  const { environment = 'production', ...rest } = more;
  return {
    project: {
      projectId: `prj_${org}_${name}`,
      organizationId: `org_${org}`,
      environment,
      auditOrigin: `test/${org}/${name}/audit`,
      meteringOrigin: `test/${org}/${name}/metering/0`,
    },
    name,
    settings: '{}',
    quotas: {},
    createdMs: startMs,
    updatedMs: startMs,
    deletedMs: null,
    ...rest,
  };
}

/** With its genesis leaf, an event that tells of it, and a key. */
export function newProject(stored: StoredProject): NewProject {
  const { projectId } = stored.project;
  return {
    stored,
    leaves: [
      draftLeaf('gov.genesis/1', { projectId }),
      event({ runId: 'gov.system', eventType: 'project.created' }),
    ],
    keys: [apiKey(projectId, { projectId })],
  };
}

/** Projects `prj_<name>_live` and `prj_<name>_test`. */
export const tenant = (name: string, more: Partial<NewTenant> = {}): NewTenant => ({
  by: null,
  organization: {
    organizationId: `org_${name}`,
    name: `organization ${name}`,
    customerId: null,
    home: { production: `prj_${name}_live`, sandbox: `prj_${name}_test` },
    createdMs: startMs,
  },
  user: {
    userId: `usr_${name}`,
    organizationId: `org_${name}`,
    issuer: 'https://issuer.test',
    subject: name,
    email: `${name}@example.test`,
    name: `person ${name}`,
    createdMs: startMs,
  },
  projects: [
    newProject(storedProject(name, 'live')),
    newProject(storedProject(name, 'test', { environment: 'sandbox' })),
  ],
  ...more,
});

/** More projects for an organization that is there. */
export const moreProjects = (...made: readonly StoredProject[]): NewTenant => ({
  by: null,
  organization: null,
  user: null,
  projects: made.map(newProject),
});

export const session = (name: string, more: Partial<StoredSession> = {}): StoredSession => ({
  digest: digestOf(`session ${name}`),
  kind: 'browser',
  userId: `usr_${name}`,
  organizationId: `org_${name}`,
  createdMs: startMs,
  lastUsedMs: startMs,
  expiresMs: startMs + 12 * 3_600_000,
  endedMs: null,
  ...more,
});

/** A request of one system event with effects, as every change of tenants is. */
export const change = (projectId: string, ...effects: readonly Effect[]) =>
  unmetered([event({ runId: 'gov.system', eventType: 'tenant.changed' })], effects, { projectId });

export const apply = (store: Store, projectId: string, ...effects: readonly Effect[]) =>
  store.append(change(projectId, ...effects));

export const used = (units: Partial<typeof zeroTotals>) => ({ ...zeroTotals, ...units });
