/** What the races of `races.ts` are made of: contenders, what they are about, and what must hold afterwards. */
import type { OperationId } from '../../../src/contract/table.ts';
import { nobodysIds, rowRequest, unknownReceiver, type Ids } from '../../support/rows.ts';
import { event, type CallOptions } from '../../support/serving.ts';
import type { Answer } from '../../support/answer.ts';
import type { TestService } from '../../support/hosted.ts';
import { exportEnd, type Filled } from './filled.ts';

/** The first process, with the key of the project; `idToken` of a person of this name. */
export interface Racing {
  readonly service: TestService;
  readonly filled: Filled;
  readonly projectId: string;
  readonly call: (method: string, path: string, options?: CallOptions) => Promise<Answer>;
  readonly made: (method: string, path: string, body?: unknown) => Promise<Answer['body']>;
  readonly idToken: (name: string) => Promise<string>;
}

/** One request; `path` without a base is below that of the process. */
export interface Contender extends CallOptions {
  readonly method: string;
  readonly path: string;
}

export interface Race {
  /** Every status that a contender may get. */
  readonly statuses: readonly number[];
  /**
   * How many contenders get the first of them. Default: all where there is one status, else at least one, because a
   * race that nobody wins tests nothing. `any`: what it is about may end by itself before.
   */
  readonly won?: 'one' | 'any';
  /** How many contend; default: 8. */
  readonly count?: number;
  /** The requests of so many contenders, after making what they are about. */
  readonly contenders: (racing: Racing, count: number) => Promise<readonly Contender[]>;
  /** What must hold afterwards. Throws where it does not. */
  readonly after?: (racing: Racing, answers: readonly Answer[]) => Promise<void>;
}

/** Why an operation is raced elsewhere, or not at all. */
export type NoRace = string;

export const requestOf = (id: OperationId, ids: Partial<Ids>, filled: Ids = nobodysIds): Contender =>
  rowRequest(id, { ...filled, ...ids }) as Contender;

/** The same request of all; `make` makes the ids that it is about, beside those of the filled project. */
export const same =
  (
    id: OperationId,
    make: (racing: Racing) => Promise<Partial<Ids>> = async () => ({}),
    change: Partial<Contender> = {},
  ): Race['contenders'] =>
  async (racing, count) => {
    const request = { ...requestOf(id, await make(racing), racing.filled), ...change };
    return Array.from({ length: count }, () => request);
  };

/** A request of its own for each. */
export const each =
  (request: (at: number, racing: Racing) => Contender): Race['contenders'] =>
  async (racing, count) =>
    Array.from({ length: count }, (_, at) => request(at, racing));

/** A race about one thing, which `contender` and `after` know. */
export function raceFor<Thing>({
  make,
  contender,
  after,
  ...race
}: Pick<Race, 'statuses' | 'won'> & {
  readonly make: (racing: Racing) => Promise<Thing>;
  readonly contender: (thing: Thing, at: number) => Contender;
  readonly after: (thing: Thing, racing: Racing, answers: readonly Answer[]) => Promise<void>;
}): Race {
  let made: { readonly thing: Thing } | undefined;
  return {
    ...race,
    contenders: async (racing, count) => {
      const thing = await make(racing);
      made = { thing };
      return Array.from({ length: count }, (_, at) => contender(thing, at));
    },
    after: async (racing, answers) => {
      if (made === undefined) failWith('expected contenders before');
      else await after(made.thing, racing, answers);
    },
  };
}

let named = 0;
export const fresh = (kind: string): string => `race-${kind}-${++named}`;

export const newRun = async ({ made }: Racing): Promise<{ runId: string; eventId: string }> => {
  const runId = fresh('run');
  const { eventId } = await made('POST', '/events', event({ runId }));
  return { runId, eventId };
};
export const newPolicy = async ({ made }: Racing): Promise<{ policyId: string }> => {
  const policyId = fresh('policy');
  await made('POST', '/governance/policies', requestOf('createPolicy', { policyId }).body);
  return { policyId };
};
export const publishedPolicy = async (racing: Racing): Promise<{ policyId: string }> => {
  const { policyId } = await newPolicy(racing);
  await racing.made('POST', `/governance/policies/${policyId}/publish`);
  await racing.made('POST', `/governance/policies/${policyId}/transition`, { targetStatus: 'disabled' });
  return { policyId };
};
export const newEndpoint = async ({ made }: Racing): Promise<{ endpointId: string }> => {
  const { endpoint } = await made('POST', '/webhooks/endpoints', {
    url: unknownReceiver(fresh('hooks')),
    enabled: false,
  });
  return endpoint;
};
export const newKey = async ({ made }: Racing): Promise<{ keyId: string }> =>
  (await made('POST', '/api-keys', { name: fresh('key') })).record;
export const newPlane = async ({ made }: Racing): Promise<{ dataPlaneId: string }> =>
  (await made('POST', '/telemetry/planes', { name: fresh('plane') })).dataPlane;
export const newProject = async ({ made }: Racing): Promise<{ projectId: string }> => {
  const { id } = await made('POST', '/projects', { name: fresh('project'), environment: 'production' });
  return { projectId: id };
};
export const newTemplate = async ({ made }: Racing): Promise<{ reportTemplateId: string }> =>
  made('POST', '/reporting/templates', { name: fresh('t'), sections: ['policy-changes/changes'] });
export const newSchedule = async ({ made }: Racing): Promise<{ scheduleId: string }> =>
  made('POST', '/reporting/schedules', {
    name: fresh('schedule'),
    reportTemplateId: 'executive-summary',
    window: 'previous_day',
    cron: '0 6 1 1 *',
  });
export const newShare = async ({ made, filled }: Racing): Promise<{ shareId: string }> =>
  made('POST', `/reporting/executions/${filled.executionId}/shares`, { format: 'csv' });
/** A delivery that may be sent again. */
export const newDelivery = async ({ made }: Racing): Promise<{ webhookDeliveryId: string }> => {
  const { endpoint } = await made('POST', '/webhooks/endpoints', { url: unknownReceiver(fresh('hooks')) });
  const { deliveryId } = await made('POST', `/webhooks/endpoints/${endpoint.endpointId}/test`);
  return { webhookDeliveryId: deliveryId };
};
export const newExport = async ({ made }: Racing): Promise<{ exportId: string }> =>
  made('POST', '/exports', { resource: 'audit_events', format: 'json' });
export const completeExport = async (racing: Racing): Promise<{ exportId: string }> => {
  const { exportId } = await newExport(racing);
  await exportEnd(racing.call, exportId);
  return { exportId };
};

export const failWith = (what: string): never => {
  throw new Error(what);
};
/** Nobody's acknowledged item is missing from a list of all. */
export const listed =
  (path: string, idOf: (item: Answer['body']) => string): NonNullable<Race['after']> =>
  async ({ call }, answers) => {
    const { data } = (await call('GET', path)).body;
    const ids = new Set((data as Answer['body'][]).map(idOf));
    for (const { status, body } of answers) {
      if (status !== 201) continue;
      const id = idOf(body.record ?? body.endpoint ?? body.dataPlane ?? body);
      if (!ids.has(id)) failWith(`expected ${id} in ${path}, got none`);
    }
  };
