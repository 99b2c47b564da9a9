/**
 * Logs on which checks fail. Some hold what a service refuses, appended past its rules; others are read through a store that
 * answers otherwise than it was written, as after a change of its files.
 */
import type { ReportTemplateId } from '../../../../src/contract/report-words.ts';
import { draftApproval } from '../../../../src/core/decided/approval.ts';
import { draftErasure } from '../../../../src/core/decided/erasure.ts';
import { draftLoss } from '../../../../src/core/decided/loss.ts';
import { draftPrune } from '../../../../src/core/decided/prune.ts';
import { draftReplay } from '../../../../src/core/decided/replay.ts';
import { formatTimestamp } from '../../../../src/core/time.ts';
import { clockChanged, systemEvent } from '../../../../src/service/writes/system.ts';
import type { Services } from '../../../../src/service/port/services.ts';
import { append } from '../../../../src/service/writes/append.ts';
import { templates } from '../../../../src/service/reports/templates/list.ts';
import type { ReportSource } from '../../../../src/service/reports/templates/source.ts';
import type { DraftedReport } from '../../../../src/service/reports/templates/sections.ts';
import type { AppendRequest, StoreReader } from '../../../../src/store/port/store.ts';
import type { Tenant, TestService } from '../../../support/hosted.ts';
import { event } from '../../../support/serving.ts';
import { sampleBalance } from '../../../core/balance/sample.ts';
import { governing } from '../../support/governed.ts';
import { later } from '../templates/filled.ts';
import { sourceOf } from '../templates/world.ts';

type LeafDraft = AppendRequest['leaves'][number];

const dayMs = 86_400_000;

export interface Hostile {
  readonly projectId: string;
  /** The disclosures of a leaf before they were erased. */
  readonly before: { readonly index: number; readonly disclosures: string };
}

/** A project in which every rule that its records can break is broken. The clock goes two days ahead. */
export async function hostileLog(service: TestService, tenant: Tenant): Promise<Hostile> {
  const { services } = service;
  const { projectId } = (await tenant.call('GET', '/auth/identity')).body;
  const made = await tenant.call('POST', '/api-keys', { body: { name: 'approver', scopes: ['*'] } });
  const gov = governing({ call: tenant.call, keys: { person: made.body.key } } as never);
  const say = (members: Record<string, unknown>) => gov.must('POST', '/events', event(members));
  const now = (): string => new Date(Date.now()).toISOString();

  await gov.policy('ask', { 'tool.name': 'refund' }, 'escalate');
  await gov.decide((await gov.tool('quick', 'refund')).approvalId, 'approved');
  const own = await gov.tool('own', 'refund');
  await gov.tool('left', 'refund');
  await gov.tool('unused', 'look');
  await say({ runId: 'lossy', eventType: 'recorder.dropped', timestamp: now() });
  const lacking = { runId: 'recorded', eventType: 'gov.balance/1', timestamp: now(), metadata: leftOut };
  await say(lacking);
  const way = { machine: 'build-7', id: 'notify', result: 'open' };
  const tried = {
    runId: 'agent-drills',
    eventType: 'drill.bypass',
    resource: { name: 'codex' },
    metadata: way,
  };
  await say({ ...tried, timestamp: now() });
  await say({ runId: 'old', eventType: 'agent.step', timestamp: '2020-01-05T09:00:00Z' });

  await say({ runId: 'erased', eventType: 'agent.step', timestamp: now(), metadata: { secret: 'x' } });
  const { events } = await gov.must('GET', '/events?runId=erased');
  const index = Number((await services.store.events(projectId, { runId: 'erased' }, asc))[0]?.index);
  const disclosures = (await services.store.leaf(projectId, index))?.disclosures ?? '';
  await gov.must('POST', '/erasures', { eventId: events[0].eventId });
  await gov.must('PUT', '/billing/retention', { retentionDays: null, legalHold: true });

  await write(services, projectId, [
    ...(await brokenRecords(services, projectId, { ...own, at: now() })),
    ...brokenPlanes(services),
  ]);
  later(2 * dayMs);
  await say({ runId: 'after', eventType: 'agent.step', timestamp: now() });
  return { projectId, before: { index, disclosures } };
}

/** A recording of two calls, of which one is in no event. */
const leftOut = {
  ...sampleBalance,
  found: { calls: 2 },
  remainder: [{ where: 'line 1', why: 'unknown', bytes: 1, hash: 'sha256:00' }],
  leftOut: { calls: 1, parts: 1 },
};

const asc = { order: 'asc', limit: 1, after: -1, fromIndex: 0 } as const;

/** Leaves that a service refuses to append: an own decision, an erasure under a hold, another root, a replay that differs. */
async function brokenRecords(
  { store, salt }: Services,
  projectId: string,
  { approvalId, evaluationId, at }: { approvalId: string | null; evaluationId: string; at: string },
): Promise<LeafDraft[]> {
  const [asked] = await store.leavesOf(projectId, { type: 'gov.evaluation/1', runId: 'own' }, asc);
  const { requestedBy } = (JSON.parse(asked?.record ?? '') as { approval: { requestedBy: string } }).approval;
  const decided = { id: String(approvalId), runId: 'own', evaluationId, outcome: 'approved' } as const;
  const targets = [{ index: 1, digests: ['A'.repeat(43)] }];
  const hash = `sha256:${'0'.repeat(64)}`;
  const list = { n: 1, root: hash } as never;
  return [
    draftApproval({ ...decided, approver: requestedBy, at, reason: null }, salt),
    draftErasure({
      erasureId: 'ers_1',
      targets,
      reasonCode: 'test',
      requestedAt: at,
      executedAt: at,
      keyDestroyed: false,
    }),
    draftPrune({
      minIndex: 3,
      rootAtMinIndex: hash,
      archiveHash: hash,
      archiveSize: 1,
      reasonCode: 'test',
      prunedAt: at,
    } as never),
    draftReplay(
      {
        replayId: 'rpl_1',
        runId: 'own',
        kind: 'decisions',
        treeSize: 3,
        steps: 1,
        replayed: 1,
        notReplayable: 0,
        mismatches: list,
        warnings: 0,
        driftCount: 0,
        at,
        snapshot: null,
        drift: null,
        result: null,
      },
      salt,
    ),
  ];
}

/** What a service records of planes that break a rule, and of its own clock. */
function brokenPlanes({ salt }: Services): LeafDraft[] {
  const context = { nowMs: Date.now(), salt };
  const at = formatTimestamp(context.nowMs);
  const system = (eventType: string): LeafDraft =>
    systemEvent(
      {
        eventType,
        action: 'detect',
        actor: { id: 'gov', type: 'service' },
        resource: { id: 'dpl_1', type: 'data_plane' },
        metadata: {},
      },
      context,
    );
  return [
    system('integrity.violation'),
    system('telemetry.gap_detected'),
    draftLoss({ from: 1, lost: 2, acked: { size: 3, root: `sha256:${'0'.repeat(64)}`, at } }, context.nowMs),
    clockChanged({ eventType: 'clock.jumped', aheadMs: 7_200_000 }, context),
  ];
}

async function write(services: Services, projectId: string, leaves: readonly LeafDraft[]): Promise<void> {
  for (const leaf of leaves) await append(services, { projectId, leaves: [leaf] });
}

/** Builds a report over a source of which some members are others, and a store that answers some questions otherwise. */
export async function builtOver(
  services: Services,
  of: readonly [projectId: string, template: ReportTemplateId],
  { reader = {}, ...members }: Partial<Omit<ReportSource, 'reader'>> & { reader?: Partial<StoreReader> },
): Promise<DraftedReport> {
  const source = await sourceOf(services, of);
  const store = new Proxy<StoreReader>(services.store, {
    get: (target, name) => {
      const value: unknown = Reflect.get(reader, name) ?? Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return templates[of[1]].build({ ...source, ...members, reader: store });
}
