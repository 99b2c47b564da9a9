/**
 * The operator's tasks on the store of a hosted service: list projects, restore a deleted one, set quotas, and
 * set the payment customer of an organization. Each change and its event of the system run are one append. On
 * SQLite the service must be stopped. On PostgreSQL it continues, and uses a change within five seconds. Proven
 * by `test/host/service/operator.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { MeteredType } from '../../contract/operation.ts';
import { formatTimestamp } from '../../core/time.ts';
import { byOperator } from '../../service/writes/asking.ts';
import {
  customerChanged,
  operator,
  projectRestored,
  quotaChanged,
  type EventContext,
} from '../../service/access/project-events.ts';
import type { Services } from '../../service/port/services.ts';
import {
  changeFound,
  changeTenant,
  type TenantJudgement,
  type ProjectChange,
} from '../../service/access/tenant-change.ts';
import type { StoredProject } from '../../store/port/store.ts';
import { once } from '../process/once.ts';
import { openService, type ServiceOptions } from './serve.ts';

/**
 * Opens the store, runs `work`, signs grown logs, and closes. Throws as `openService` does, and CONFLICT while
 * a service serves SQLite.
 */
export async function operate<Value>(
  options: ServiceOptions,
  work: (services: Services) => Promise<Value>,
): Promise<Value> {
  return once((await openService(options)).assembled, work);
}

export interface OperatedProject {
  readonly projectId: string;
  readonly name: string;
  readonly environment: 'production' | 'sandbox';
  readonly organizationId: string;
  readonly createdAt: string;
  readonly deletedAt: string | null;
  /** Quotas that the operator set. The others are those of the environment. */
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

/** Projects of one organization or of all, with deleted ones, newest first, page by page. */
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

/** Whether anything changed, and the resulting project. */
export interface OperatorResult {
  readonly changed: boolean;
  readonly project: OperatedProject;
}

/**
 * Restores a deleted project with its keys. NOT_FOUND, or NAME_TAKEN where another project has its name now.
 */
export const restoreProject = (services: Services, projectId: string): Promise<OperatorResult> =>
  change(services, projectId, (stored, telling) =>
    stored.deletedMs === null
      ? null
      : { effect: { deletedMs: null }, event: () => projectRestored(stored, telling) },
  );

/** `undefined` returns to the quota of the environment, null is unlimited. */
export type QuotaChange = Readonly<Partial<Record<MeteredType, number | null | undefined>>>;

/** Sets monthly quotas of a project and keeps all others. NOT_FOUND, also where the project is deleted. */
export const setQuotas = (
  services: Services,
  projectId: string,
  wanted: QuotaChange,
): Promise<OperatorResult> =>
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
  judge: (stored: StoredProject, telling: EventContext) => ProjectChange | null,
): Promise<OperatorResult> {
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

/** Sets or removes the payment customer of an organization. NOT_FOUND. */
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
    async (nowMs): Promise<TenantJudgement<{ changed: boolean }>> => {
      const now = (await store.organization(organizationId)) ?? organization;
      if (now.customerId === customerId) return { change: null, answer: { changed: false } };
      const leaf = customerChanged(now, { nowMs, salt, by: operator }, customerId);
      const effects = [{ kind: 'setCustomer', organizationId, customerId }] as const;
      return { change: { leaves: [leaf], effects }, answer: { changed: true } };
    },
  );
  return { changed: 'changed' in changed && changed.changed, organizationId, name, customerId };
}
