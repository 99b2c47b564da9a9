/**
 * Opens the forwarding of a plane or a service. Loads its modules only where there are targets. Proven by
 * `test/plane/serve/forwards.long.test.ts`.
 */
import { hostname } from 'node:os';
import type { LogSource } from '../../core/forwards/record.ts';
import type { Log } from '../../service/call/log.ts';
import type { Project, Store } from '../../store/port/store.ts';
import type { Variables } from '../config/layers.ts';
import type { ForwardTarget } from './config.ts';
import type { ForwardService } from './forwarding.ts';
import type { Transport, TransportOptions } from './transport.ts';

interface Options {
  readonly store: Store;
  readonly projects: () => AsyncIterable<LogSource>;
  readonly now: () => number;
  readonly randomBytes: (size: number) => Buffer;
  readonly log: Log;
  readonly env: Variables;
}

/** Undefined where there is no target. Contacts nobody before `start`. */
export async function openForwarding(
  targets: readonly ForwardTarget[],
  { randomBytes, env, ...options }: Options,
): Promise<ForwardService | undefined> {
  if (targets.length === 0) return undefined;
  const { ForwardService: Made } = await import('./forwarding.ts');
  const host = hostname();
  return new Made({
    ...options,
    targets,
    hostname: host,
    owner: randomBytes(12).toString('hex'),
    random: Math.random,
    open: (target) => openTransport(target, { env, hostname: host, log: options.log }),
  });
}

export const sourceOf = ({ projectId, organizationId, environment, auditOrigin }: Project): LogSource => ({
  projectId,
  organizationId,
  environment,
  origin: auditOrigin,
});

/** The one project of a plane. */
export const onlyProject = (source: LogSource) =>
  async function* (): AsyncGenerator<LogSource> {
    yield source;
  };

const pageProjects = 100;

/** The projects of a service that are not deleted. */
export const livingProjects = (store: Pick<Store, 'everyProject'>) =>
  async function* (): AsyncGenerator<LogSource> {
    for (let after: string | undefined; ;) {
      const page = { ...(after === undefined ? {} : { after }), limit: pageProjects };
      const found = await store.everyProject({}, page);
      for (const { project, deletedMs } of found) if (deletedMs === null) yield sourceOf(project);
      if (found.length < pageProjects) return;
      after = found.at(-1)?.project.projectId;
    }
  };

/** Opens the transport of a target. Loads only its own modules. Throws where a secret or certificate cannot be read. */
export async function openTransport(target: ForwardTarget, options: TransportOptions): Promise<Transport> {
  switch (target.kind) {
    case 'syslog':
      return new (await import('./stream.ts')).StreamTransport(target);
    case 'http':
      return new (await import('./http.ts')).HttpTransport(target, options);
    case 's3':
      return new (await import('./objects.ts')).ObjectTransport(target, options);
  }
}
