/**
 * Sends due deliveries. A claim belongs to one process at a time. The attempt is stored before it is made, its outcome
 * after it: where a process ends in between, the lease passes and the delivery is sent once more, under the same id. So
 * a receiver gets each delivery at least once, and after a stored success never again. Proven by
 * `test/service/reports/deliveries/due.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { GovError } from '../../../contract/problems.ts';
import type { DocumentChange, StoredDocument } from '../../../store/port/store.ts';
import type { Services } from '../../port/services.ts';
import { isDeletedProject } from '../../call/deleted.ts';
import { append } from '../../writes/append.ts';
import type { OutboundAnswer } from '../../hosting/outbound.ts';
import type { Bounds, Counts } from '../bounds.ts';
import { statusOf } from '../body.ts';
import { dataOf, reportKind, type StoredReport } from '../stored.ts';
import { disableScheduleTarget } from '../schedules/disable.ts';
import { mostAttempts, pauseAfter } from '../../outbox/attempts.ts';
import { deliveryKind, type StoredDelivery } from './document.ts';
import { deliveryFailed, reportDelivered } from './events.ts';
import { refused, send, type DeliveryToSend } from './send.ts';
import type { DeliverySlots, Turn } from './slots.ts';

/** A delivery to a slow receiver that finds no slot is due again after this time. */
const deferredMs = 10_000;

/**
 * Sends until nothing is due, or the bounds end it, and waits for what it began. Adds to `counts`. Several runs of a
 * process share the slots, so a run that waits for a slow receiver does not keep another from starting.
 */
export async function processDeliveries(
  services: Services,
  counts: Counts,
  { isOver, slots }: Bounds & { readonly slots: DeliverySlots },
): Promise<void> {
  const own = new Set<Promise<void>>();
  while (!isOver()) {
    const claimed = slots.reserve() ? await claim(services, slots) : null;
    if (claimed !== null) {
      counts.processed += 1;
      const turn: Turn = { projectId: claimed.projectId, isSlow: false };
      const work = deliver(services, claimed, { slots, turn })
        .then((outcome) => void (counts[outcome] += 1))
        .finally(() => {
          slots.end(turn);
          own.delete(work);
        });
      own.add(work);
    } else if (own.size === 0) return;
    else await Promise.race(own);
  }
  await Promise.all(own);
}

async function claim({ store, now }: Services, slots: DeliverySlots): Promise<StoredDocument | null> {
  let claimed: StoredDocument | null = null;
  try {
    claimed = await store.claimDocument({
      kind: deliveryKind,
      statuses: ['pending', 'processing'],
      nowMs: now(),
      leaseMs: limits.deliveryLeaseSeconds * 1000,
      becomes: 'processing',
      most: limits.deliveriesAtOnce,
    });
    return claimed;
  } finally {
    if (claimed === null) slots.cancel();
  }
}

interface DeliveryTurn {
  readonly slots: DeliverySlots;
  readonly turn: Turn;
}

type Outcome = 'succeeded' | 'failed' | 'skipped';

/** Sends one claimed delivery. `skipped`: it is tried again, or another process has it. */
async function deliver(services: Services, claimed: StoredDocument, place: DeliveryTurn): Promise<Outcome> {
  try {
    return await attempt(services, claimed, place);
  } catch (error) {
    const isLost =
      error instanceof GovError && (error.code === 'PRECONDITION_FAILED' || error.code === 'CONFLICT');
    // its lease passes, then it is tried again
    if (!isLost)
      services.log.error({ err: error, deliveryId: claimed.documentId }, 'a delivery could not be settled');
    return 'skipped';
  }
}

async function attempt(
  services: Services,
  claimed: StoredDocument,
  { slots, turn }: DeliveryTurn,
): Promise<Outcome> {
  const { store, now } = services;
  const { projectId, documentId: deliveryId, parentId } = claimed;
  const before = dataOf<StoredDelivery>(claimed);
  if (!slots.admit(turn, before)) {
    const later = changeOf(claimed, before, { status: 'pending', dueMs: now() + deferredMs });
    await store.saveDocuments(projectId, [later]);
    return 'skipped';
  }
  const delivery = { ...before, attempts: before.attempts + 1, lastAttemptMs: now() };
  const document = { ...claimed, data: JSON.stringify(delivery) };
  // every earlier attempt ended with its process
  if (before.attempts >= mostAttempts) {
    return settle(services, {
      document,
      delivery: before,
      answer: refused('each attempt ended with its process'),
    });
  }
  if (await isDeletedProject(services, projectId)) {
    return settle(services, { document, delivery: before, answer: refused('the project was deleted') });
  }
  const parent = await store.document(projectId, reportKind, parentId ?? '');
  const sending = parent === null ? null : sendingOf(parent, { delivery, deliveryId, nowMs: now() });
  if (sending === null) {
    const answer = refused('the artifact of the report has expired; create the report again');
    return settle(services, { document, delivery, answer });
  }
  const { projectId: _own, ...change } = document;
  if ((await store.saveDocuments(projectId, [{ save: change }])) !== 'saved') return 'skipped';
  const answer = await send(services, sending);
  slots.learn(turn, delivery, answer);
  const scheduleId = sending.report.scheduleId;
  const current = { ...document, version: document.version + 1 };
  return settle(services, { document: current, delivery, answer, sending, scheduleId });
}

/** Null where the report has no artifact of the format any more. */
function sendingOf(
  parent: StoredDocument,
  { delivery, deliveryId, nowMs }: { delivery: StoredDelivery; deliveryId: string; nowMs: number },
): DeliveryToSend | null {
  const report = dataOf<StoredReport>(parent);
  const artifact = report.artifacts.find(({ format }) => format === delivery.format);
  if (artifact === undefined || artifact.made === null) return null;
  if (statusOf(parent, report, nowMs) !== 'completed') return null;
  const made = { ...artifact.made, artifactId: artifact.artifactId };
  const { projectId, documentId: executionId } = parent;
  return { projectId, executionId, deliveryId, report, delivery, format: delivery.format, made };
}

interface SettledDelivery {
  readonly document: StoredDocument;
  readonly delivery: StoredDelivery;
  readonly answer: OutboundAnswer;
  readonly sending?: DeliveryToSend;
  readonly scheduleId?: string | null;
}

const gone = 410;

async function settle(services: Services, settled: SettledDelivery): Promise<Outcome> {
  const { now, salt, randomBytes } = services;
  const { document, answer, sending } = settled;
  const { projectId, documentId: deliveryId, parentId } = document;
  const delivery: StoredDelivery = {
    ...settled.delivery,
    lastStatusCode: answer.statusCode,
    errorSummary: answer.failed?.slice(0, limits.reportErrorChars) ?? null,
  };
  const of = { deliveryId, executionId: parentId ?? '', delivery };
  const context = { nowMs: now(), salt };
  if (answer.ok && sending !== undefined) {
    const event = reportDelivered({ ...of, sha256: sending.made.sha256 }, context);
    await saveWith(services, { document, delivery, status: 'delivered', event });
    return 'succeeded';
  }
  const pause = pauseAfter(delivery.attempts, answer, randomBytes(4).readUInt32BE() / 2 ** 32);
  if (pause !== null) {
    const save = changeOf(document, delivery, { status: 'pending', dueMs: now() + pause });
    await services.store.saveDocuments(projectId, [save]);
    return 'skipped';
  }
  await saveWith(services, { document, delivery, status: 'failed', event: deliveryFailed(of, context) });
  const { scheduleId = null } = settled;
  if (answer.statusCode === gone && scheduleId !== null) {
    await disableScheduleTarget(services, { projectId, scheduleId, delivery });
  }
  return 'failed';
}

/** Stores the end of a delivery with its event in one transaction. PRECONDITION_FAILED where the lease was lost. */
async function saveWith(
  services: Services,
  {
    document,
    delivery,
    status,
    event,
  }: {
    readonly document: StoredDocument;
    readonly delivery: StoredDelivery;
    readonly status: 'delivered' | 'failed';
    readonly event: ReturnType<typeof deliveryFailed>;
  },
): Promise<void> {
  await append(services, {
    projectId: document.projectId,
    leaves: [event],
    effects: [{ kind: 'saveDocuments', changes: [changeOf(document, delivery, { status, dueMs: null })] }],
  });
}

function changeOf(
  { projectId: _own, ...document }: StoredDocument,
  delivery: StoredDelivery,
  change: { readonly status: string; readonly dueMs: number | null },
): DocumentChange {
  return { save: { ...document, ...change, data: JSON.stringify(delivery) } };
}
