/** Tenants as store tests make them: organizations with a person and two projects, keys, sessions. */
import { sha256 } from '../../../src/core/hash.ts';
import { zeroTotals } from '../../../src/core/planes/metering.ts';
import { draftLeaf, type LeafDraft } from '../../../src/core/events/record.ts';
import {
  customerChanged,
  keyRevoked,
  operator,
  projectCreated,
  projectDeleted,
  projectUpdated,
  type EventContext,
} from '../../../src/service/access/project-events.ts';
import { keyCreated } from '../../../src/service/writes/system.ts';
import { organizationCreated } from '../../../src/service/access/tenant-events.ts';
import type {
  ApiKeyRow,
  AppendRequest,
  NewProject,
  NewTenant,
  Store,
  StoredProject,
  StoredSession,
} from '../../../src/store/port/store.ts';
import type { Effect } from '../../../src/store/port/store.ts';
import { event, salt, seededBytes, startMs } from './fixture.ts';
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

/** The same with every event that the service tells of it, from which fsck derives its rows. */
export function toldTenant(name: string): NewTenant {
  const { organization, projects, ...made } = tenant(name);
  const events = organization === null ? [] : [organizationCreated(organization, telling)];
  return {
    ...made,
    organization,
    projects: projects.map((each, at) => toldProject(each, at === 0 ? events : [])),
  };
}

/** The same of a project; `others` stand in its log before its own events. */
export function toldProject(
  { stored, leaves, keys }: NewProject,
  others: readonly LeafDraft[] = [],
): NewProject {
  const made = keys.map((key) =>
    keyCreated(key, { nowMs: key.createdMs, randomBytes: seededBytes(key.keyId) }),
  );
  return {
    stored,
    keys,
    leaves: [...leaves.slice(0, 1), ...others, projectCreated(stored, telling), ...made],
  };
}

/** Of events at the time that rows of tenants have here. */
export const telling: EventContext = { nowMs: startMs, salt, by: operator };

/** A change of each kind in `prj_x_live`, each with the event that tells of it. */
export function toldChanges(): AppendRequest {
  const key = apiKey('new', { projectId: 'prj_x_live' });
  const others = [toldUpdate(['x', 'live'], { name: 'renamed' }), toldCustomer('x', 'cus_1')];
  const events = [
    keyCreated(key, { nowMs: startMs, randomBytes: seededBytes('new') }),
    keyRevoked(key, telling),
    ...others.flatMap(({ leaves }) => leaves),
  ];
  const effects: readonly Effect[] = [
    { kind: 'saveApiKey', key },
    { kind: 'revokeApiKey', keyId: key.keyId, revokedMs: startMs, atMs: startMs },
    ...others.flatMap((other) => other.effects ?? []),
    { kind: 'openSession', session: session('x') },
    { kind: 'endSession', digest: session('x').digest, atMs: startMs },
  ];
  return unmetered(events, effects, { projectId: 'prj_x_live' });
}

/** Of project `prj_<org>_<name>`, with the event that tells of it. */
export function toldUpdate(
  [org, name]: readonly [org: string, name: string],
  { settings = '{}', ...more }: { readonly name?: string; readonly settings?: string },
): AppendRequest {
  const changes = more.name === undefined ? {} : { name: { from: name, to: more.name } };
  return unmetered(
    [projectUpdated(storedProject(org, name), telling, { changes, text: settings })],
    [{ kind: 'changeProject', settings, ...more, atMs: startMs }],
    { projectId: `prj_${org}_${name}` },
  );
}

/** The same. */
export const toldDeletion = ([org, name]: readonly [org: string, name: string]): AppendRequest =>
  unmetered(
    [projectDeleted(storedProject(org, name), telling)],
    [{ kind: 'changeProject', deletedMs: startMs, atMs: startMs }],
    { projectId: `prj_${org}_${name}` },
  );

/** Says in the log of its production home who an organization is at the payment provider. */
export const toldCustomer = (org: string, customerId: string): AppendRequest =>
  unmetered(
    [customerChanged({ organizationId: `org_${org}`, customerId: null }, telling, customerId)],
    [{ kind: 'setCustomer', organizationId: `org_${org}`, customerId }],
    { projectId: `prj_${org}_live` },
  );

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
