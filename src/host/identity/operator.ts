/**
 * What the operator of a hosted service does beside it, at its store: lists projects, brings a deleted one back, sets
 * quotas, says who an organization is at the payment provider. Each change is an event of the system run, in the same
 * append. SQLite has one process at a time; on PostgreSQL the service goes on, and follows within five seconds.
 * Proven by `test/host/identity/operator.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { MeteredType } from '../../contract/operation.ts';
import { formatTimestamp } from '../../core/time.ts';
import { byOperator } from '../../service/events/asking.ts';
import {
  customerChanged,
  operator,
  projectRestored,
  quotaChanged,
  type Telling,
} from '../../service/access/project-events.ts';
import type { Services } from '../../service/dependencies.ts';
import {
  changeFound,
  changeTenant,
  type Judgement,
  type ProjectChange,
} from '../../service/access/tenant-change.ts';
import type { StoredProject } from '../../store/port/store.ts';
import { openService, type ServiceOptions } from '../service/serve.ts';

/** Opens the store, does `work`, signs what grew, closes. As `openService`; CONFLICT while SQLite is served. */
export async function operate<Value>(
  options: ServiceOptions,
  work: (services: Services) => Promise<Value>,
): Promise<Value> {
  const { services, engine } = (await openService(options)).assembled;
  try {
    const value = await work(services);
    await services.checkpoints.signGrown();
    return value;
  } finally {
    await engine.work.close();
    await engine.store.close();
  }
}

export interface OperatedProject {
  readonly projectId: string;
  readonly name: string;
  readonly environment: 'production' | 'sandbox';
  readonly organizationId: string;
  readonly createdAt: string;
  readonly deletedAt: string | null;
  /** What the operator set; the others are those of the environment. */
  readonly quotas: StoredProject['quotas'];
}

const shown = ({ project, name, quotas, createdMs, deletedMs }: StoredProject): OperatedProject => ({
  projectId: project.projectId,
  name,
  environment: project.environment,
  organizationId: project.organizationId,
  createdAt: formatTimestamp(createdMs),
  deletedAt: deletedMs === null ? null : formatTimestamp(deletedMs),
  quotas,
});

/** Projects of one organization or of all, deleted ones too, newest first, page by page. */
export async function* everyProject(
  { store }: Pick<Services, 'store'>,
  filter: { readonly organizationId?: string },
): AsyncGenerator<readonly OperatedProject[]> {
  const limit = limits.pageMax;
  for (let after: string | undefined; ;) {
    const page = await store.everyProject(filter, after === undefined ? { limit } : { limit, after });
    yield page.map(shown);
    after = page.at(-1)?.project.projectId;
    if (page.length < limit || after === undefined) return;
  }
}

/** Whether anything changed, and the project as it stands then. */
export interface Operated {
  readonly changed: boolean;
  readonly project: OperatedProject;
}

/** Brings a deleted project back, with its keys. NOT_FOUND; NAME_TAKEN where another one has its name by now. */
export const restoreProject = (services: Services, projectId: string): Promise<Operated> =>
  change(services, projectId, (stored, telling) =>
    stored.deletedMs === null
      ? null
      : { effect: { deletedMs: null }, event: () => projectRestored(stored, telling) },
  );

/** `undefined` goes back to the quota of the environment, null is unlimited. */
export type QuotaChange = Readonly<Partial<Record<MeteredType, number | null | undefined>>>;

/** Sets monthly quotas of a project; those that are not named stay. NOT_FOUND, also where it is deleted. */
export const setQuotas = (services: Services, projectId: string, wanted: QuotaChange): Promise<Operated> =>
  change(services, projectId, (stored, telling) => {
    const merged = Object.entries({ ...stored.quotas, ...wanted }).filter(([, units]) => units !== undefined);
    const quotas = Object.fromEntries(merged) as StoredProject['quotas'];
    const isSame =
      JSON.stringify(merged.toSorted()) === JSON.stringify(Object.entries(stored.quotas).toSorted());
    return isSame ? null : { effect: { quotas }, event: () => quotaChanged(stored, telling, quotas) };
  });

async function change(
  services: Services,
  projectId: string,
  judge: (stored: StoredProject, telling: Telling) => ProjectChange | null,
): Promise<Operated> {
  const { store, salt } = services;
  const project = await store.project(projectId);
  if (project === null) throw new GovError('NOT_FOUND', `no project has the id ${projectId}`);
  const find = async (): Promise<StoredProject> => {
    const stored = await store.storedProject(project.organizationId, projectId);
    if (stored === null) throw new GovError('NOT_FOUND', `${projectId} is no project of an organization`);
    return stored;
  };
  const { stored, event } = await changeFound(
    services,
    { projectId, asking: byOperator, find },
    (before, nowMs) => judge(before, { nowMs, salt, by: operator }),
  );
  return { changed: event !== null, project: shown(stored) };
}

export interface OperatedOrganization {
  readonly changed: boolean;
  readonly organizationId: string;
  readonly name: string;
  readonly customerId: string | null;
}

/** Says who an organization is at the payment provider, or that it is nobody there. NOT_FOUND. */
export async function setCustomer(
  services: Services,
  organizationId: string,
  customerId: string | null,
): Promise<OperatedOrganization> {
  const { store, salt } = services;
  const organization = await store.organization(organizationId);
  if (organization === null) throw new GovError('NOT_FOUND', `no organization has the id ${organizationId}`);
  const { home, name } = organization;
  const changed = await changeTenant(
    services,
    { projectId: home.production, asking: byOperator },
    async (nowMs): Promise<Judgement<{ changed: boolean }>> => {
      const now = (await store.organization(organizationId)) ?? organization;
      if (now.customerId === customerId) return { change: null, answer: { changed: false } };
      const leaf = customerChanged(now, { nowMs, salt, by: operator }, customerId);
      const effects = [{ kind: 'setCustomer', organizationId, customerId }] as const;
      return { change: { leaves: [leaf], effects }, answer: { changed: true } };
    },
  );
  return { changed: 'changed' in changed && changed.changed, organizationId, name, customerId };
}
