/**
 * A store with webhooks, driven by hand: an injected clock, and a sender that answers as the test says. What the sender
 * itself does is tested over real sockets in `test/host/outbound/post.test.ts` and `../sending.test.ts`.
 */
import Database from 'better-sqlite3';
import { join } from 'node:path';
import { createSeal } from '../../../../src/host/keys/seal.ts';
import { silentLog } from '../../../../src/service/call/log.ts';
import type { Services } from '../../../../src/service/port/services.ts';
import type { OutboundAnswer, OutboundPost } from '../../../../src/service/hosting/outbound.ts';
import { newCursor } from '../../../../src/service/outbox/follow.ts';
import {
  type EndpointData,
  endpointKind,
  laneKind,
  newEndpoint,
} from '../../../../src/service/webhooks/endpoint.ts';
import { cursorId, cursorKind, followOnce } from '../../../../src/service/webhooks/following.ts';
import { laneLeaseMs, workLane } from '../../../../src/service/webhooks/lane.ts';
import { deliveryBody, deliveryKind } from '../../../../src/service/webhooks/message.ts';
import { systemEvent } from '../../../../src/service/writes/system.ts';
import type { WebhookDelivery } from '../../../../src/contract/webhooks.ts';
import { draftRiskDecision } from '../../../../src/core/decided/risk-decision.ts';
import { openStore, type SqliteStore } from '../../../../src/store/sqlite/store.ts';
import type { StoredDocument } from '../../../../src/store/port/store.ts';
import {
  dropFolder,
  genesis,
  HandClock,
  newFolder,
  projectOf,
  salt,
  seededBytes,
} from '../../../store/support/fixture.ts';

export const projectId = 'prj_a';
export const answered = (statusCode: number, more: Partial<OutboundAnswer> = {}): OutboundAnswer => ({
  ok: statusCode < 300,
  statusCode,
  retryAfterMs: null,
  durationMs: 5,
  failed: statusCode < 300 ? null : `the receiver answered ${statusCode}`,
  isFinal: statusCode === 410,
  ...more,
});

export interface PostOffice {
  readonly store: SqliteStore;
  readonly clock: HandClock;
  readonly services: Services;
  /** What was sent so far. */
  readonly sent: OutboundPost[];
  endpoint(name: string, members?: { events?: readonly string[]; enabled?: boolean }): Promise<string>;
  /** Logs risk decisions that block, each of which is one event. */
  block(count: number): Promise<void>;
  /** Logs system events of failed jobs, whose ids are in their bodies. */
  fail(count: number): Promise<void>;
  /** Changes stored rows below the store. */
  alter(sql: string): void;
  /** The messages of the log of the process. */
  readonly logged: string[];
  /** Follows the log to its end. */
  follow(): Promise<void>;
  /** Works on every due lane, once each. Returns their endpoints. */
  work(): Promise<string[]>;
  deliveries(endpointId?: string): Promise<WebhookDelivery[]>;
  lane(endpointId: string): Promise<StoredDocument>;
  end(): Promise<void>;
}

export async function openPostOffice(
  answer: (message: OutboundPost, clock: HandClock) => OutboundAnswer,
): Promise<PostOffice> {
  const dataDir = newFolder();
  const clock = new HandClock();
  const random = seededBytes('webhooks');
  const store = openStore({ dataDir, clock, randomBytes: random, reserveBytes: 0 });
  await store.createProject(projectOf('a'), genesis('a'));
  const sent: OutboundPost[] = [];
  const logged: string[] = [];
  const services = {
    store,
    now: clock.now,
    salt,
    randomBytes: random,
    log: { ...silentLog, error: (_: unknown, message: string) => void logged.push(message) },
    seal: createSeal(Buffer.alloc(32), random),
    tail: { grew: () => undefined, watch: () => () => undefined },
    checkpoints: { grew: () => undefined },
    outbound: {
      post: async (message: OutboundPost) => {
        sent.push(message);
        return answer(message, clock);
      },
    },
  } as unknown as Services;
  await store.saveDocuments(projectId, [newCursor(cursorKind, cursorId, { next: 0, nowMs: clock.ms })]);
  const drawer = { store, clock, services };
  return {
    ...drawer,
    sent,
    logged,
    fail: (count) => fail(drawer, count),
    alter: (sql) => alter(dataDir, sql),
    endpoint: (name, members) => createEndpoint(drawer, name, members),
    block: (count) => block(drawer, count),
    follow: () => followAll(drawer),
    work: () => workAll(drawer),
    deliveries: async (parentId) => {
      const filter = { kind: deliveryKind, ...(parentId === undefined ? {} : { parentId }) };
      return (await store.documents(projectId, filter, { limit: 10_000 })).map(deliveryBody);
    },
    lane: async (endpointId) => (await store.document(projectId, laneKind, endpointId))!,
    end: async () => {
      await store.close();
      dropFolder(dataDir);
    },
  };
}

type Drawer = Pick<PostOffice, 'store' | 'clock' | 'services'>;

async function createEndpoint(
  { store, clock, services }: Drawer,
  name: string,
  { events = ['*'], enabled = true }: { events?: readonly string[]; enabled?: boolean } = {},
): Promise<string> {
  const endpointId = `whe_${name}`;
  const data = {
    url: `https://${name}.test/`,
    events: events as EndpointData['events'],
    description: '',
    updatedMs: clock.ms,
    secret: services.seal.seal(`whsec_${Buffer.alloc(32, name).toString('base64')}`),
    previous: null,
    disabledReason: null,
    fromIndex: (await store.head(projectId, 'audit')).size,
  };
  await store.saveDocuments(projectId, newEndpoint(endpointId, { data, enabled, nowMs: clock.ms, most: 20 }));
  return endpointId;
}

async function block({ store, clock }: Drawer, count: number): Promise<void> {
  const { size } = await store.head(projectId, 'audit');
  const leaves = Array.from({ length: count }, (_, at) => {
    const record = {
      id: `rsk_${size + at}`,
      runId: 'r1',
      action: 'block',
      score: 1,
      deterministicInputsHash: 'x',
      configHash: 'y',
      evaluatedAt: new Date(clock.ms).toISOString(),
      wouldBeAction: null,
      factors: [],
      inputs: null,
    } as const;
    return draftRiskDecision(record, salt);
  });
  await store.append({ projectId, leaves, meter: { op: 'none', units: 0 } });
}

async function fail({ store, clock }: Drawer, count: number): Promise<void> {
  const leaves = Array.from({ length: count }, (_, at) =>
    systemEvent(
      {
        eventType: 'job.failed',
        action: 'run',
        actor: { id: 'gov', type: 'system' },
        resource: { id: `job_${at}`, type: 'job' },
        metadata: { type: 'export', runId: 'r1' },
      },
      { nowMs: clock.ms, salt },
    ),
  );
  await store.append({ projectId, leaves, meter: { op: 'none', units: 0 } });
}

function alter(dataDir: string, sql: string): void {
  const db = new Database(join(dataDir, 'gov.db'));
  const triggers = db
    .prepare<[], { name: string }>("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    .all();
  for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
  if (db.prepare(sql).run().changes === 0) throw new Error('expected changed rows');
  db.close();
}

async function followAll({ store, services }: Drawer): Promise<void> {
  let cursor = await store.document(projectId, cursorKind, cursorId);
  while (cursor !== null) {
    const step = await followOnce(services, cursor);
    cursor = step.cursor === 'lost' ? await store.document(projectId, cursorKind, cursorId) : step.cursor;
  }
}

async function workAll({ store, clock, services }: Drawer): Promise<string[]> {
  const worked: string[] = [];
  for (;;) {
    const claimed = await store.claimDocument({
      kind: laneKind,
      statuses: ['ready', 'slow', 'busy'],
      nowMs: clock.ms,
      leaseMs: laneLeaseMs,
      becomes: 'busy',
    });
    if (claimed === null || worked.includes(claimed.documentId)) return worked;
    worked.push(claimed.documentId);
    await workLane(services, claimed, () => false);
  }
}

export const isEndpointEnabled = async ({ store }: PostOffice, endpointId: string): Promise<string> =>
  (await store.document(projectId, endpointKind, endpointId))?.status ?? 'deleted';
