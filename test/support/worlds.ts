/**
 * Where the same requests have to be answered alike: a plane, and the hosted service on either engine. In each, somebody
 * has a project and keys of it.
 */
import { planeOperations } from '../../plane/serve/operations.ts';
import type { Usage } from '../../src/contract/metering.ts';
import { table, type OperationId } from '../../src/contract/table.ts';
import { postgresBelow, sqliteBelow } from './below.ts';
import {
  engines,
  startService,
  type EngineName,
  type StartService,
  type Tenant,
  type TestService,
} from './hosted.ts';
import { startPlane, type StartOptions, type TestPlane } from './serving.ts';

export type WorldName = 'plane' | EngineName;

/** Those that this machine has: `describe.each(worlds)('… on %s', (world) => …)`. */
export const worlds: readonly WorldName[] = ['plane', ...engines];

/** What is served there. */
export const operationsOf = (world: WorldName): readonly OperationId[] =>
  world === 'plane' ? planeOperations : (Object.keys(table) as OperationId[]);

/** A tenant of a service, used as the one of a plane is. */
export interface HostedPlane extends TestPlane {
  readonly service: TestService;
  readonly tenant: Tenant;
  readonly projectId: string;
}

/** Somebody who has just signed up, with the keys that are asked for, made through the interface. */
export async function startHosted(
  { extraKeys = {}, environment = 'production', ...options }: StartOptions,
  service: StartService,
): Promise<HostedPlane> {
  const { timeouts, overloadDelayMs } = options;
  const started = await startService({
    ...(timeouts === undefined ? {} : { timeouts }),
    ...(overloadDelayMs === undefined ? {} : { overloadDelayMs }),
    ...service,
  });
  const tenant = await started.signUp('tenant');
  const call: TestPlane['call'] = (method, path, callOptions = {}) =>
    tenant.call(method, path, { environment, ...callOptions });
  const { projectId } = (await call('GET', '/auth/identity')).body;
  return {
    ...started,
    service: started,
    tenant,
    projectId,
    baseUrl: environment === 'production' ? started.baseUrl : `${started.origin}/sandbox/api/v1`,
    key: tenant.keys[environment],
    keys: await createKeys(started, tenant, extraKeys),
    call,
    ...(started.database === null
      ? sqliteBelow(started.dataDir, projectId)
      : postgresBelow(started.database.superuser, projectId)),
    units: async (type) => {
      const { items } = (await call('GET', '/metering/usage')).body as Usage;
      return items.find((item) => item.type === type)?.used ?? 0;
    },
  };
}

async function createKeys(
  service: TestService,
  tenant: Tenant,
  wanted: NonNullable<StartOptions['extraKeys']>,
): Promise<Record<string, string>> {
  const keys: Record<string, string> = {};
  let other: Tenant | undefined;
  for (const [name, { scopes, project, expiresMs, revoked = false }] of Object.entries(wanted)) {
    if (expiresMs !== undefined) throw new Error('a service makes no key that has expired');
    if (project === 'other') other ??= await service.signUp('other');
    const owner = project === 'other' && other !== undefined ? other : tenant;
    const created = await owner.call('POST', '/api-keys', { body: { name, scopes } });
    keys[name] = created.body.key;
    if (revoked) await owner.call('DELETE', `/api-keys/${created.body.record.keyId}`);
  }
  return keys;
}

/** `service`: of a world that is one. */
export async function startWorld(
  world: WorldName,
  { service = {}, ...options }: StartOptions & { readonly service?: StartService } = {},
): Promise<TestPlane | HostedPlane> {
  return world === 'plane' ? startPlane(options) : startHosted(options, { ...service, engine: world });
}
