/**
 * The work on one lane: sends what is due to one endpoint, a few messages at a time, until nothing is due or the turn of
 * the lane ends. Lanes do not wait for each other, so a receiver that is dead or slow delays its own messages only. After
 * failures a lane holds, up to a minute and a fifth, and then tries a single message.
 * A crash leaves the lane with its lease, and its turns where they were: another worker sends them again, with the same
 * ids. Proven by `test/service/webhooks/sending.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { DisabledReason } from '../../contract/webhooks.ts';
import { backoffMs, type Backoff } from '../../core/backoff.ts';
import type { DocumentChange, StoredDocument } from '../../store/port/store.ts';
import type { Services } from '../port/services.ts';
import { isDeletedProject } from '../call/deleted.ts';
import { append } from '../writes/append.ts';
import type { OutboundAnswer } from '../hosting/outbound.ts';
import { isSlow } from '../outbox/slow.ts';
import { outcomeOf, send, type Outcome } from './attempt.ts';
import {
  changedEndpoint,
  endpointData,
  endpointKind,
  isEnabled,
  laneData,
  laneKind,
  type EndpointData,
  type LaneData,
} from './endpoint.ts';
import { endpointDisabled } from './events.ts';
import {
  changedDelivery,
  deliveryData,
  deliveryKind,
  endedTurn,
  newTurn,
  turnKind,
  turnOf,
} from './message.ts';
import { withoutProject } from './stored.ts';

/** A worker has the lane for so long. */
export const laneLeaseMs = 120_000;
/** No new attempt starts after this time, so that the last one ends within the lease. */
const workMs = 20_000;
const turnsAtOnce = 40;
const sentAtOnce = 4;
/** Outcomes are saved at the latest after this time. */
const savedAfterMs = 2000;
const failuresBeforeHold = 3;
/** The jitter comes on top, also of what a receiver asks for. */
const hold: Backoff = { firstMs: 1000, mostMs: 60_000, jitter: 0 };
const throttledMs = 5000;
const jitter = 0.2;

interface Work {
  readonly services: Services;
  readonly projectId: string;
  readonly endpointId: string;
  readonly isStopped: () => boolean;
}

/** Works on a claimed lane. Returns with the lane saved, or left to the worker that has it now. */
export async function workLane(
  services: Services,
  claimed: StoredDocument,
  isStopped: () => boolean,
): Promise<void> {
  const work: Work = { services, projectId: claimed.projectId, endpointId: claimed.documentId, isStopped };
  const endsMs = services.now() + workMs;
  let lane = claimed;
  let state = laneData(claimed);
  for (;;) {
    const round = await workRound(work, state);
    state = round.state;
    const isOver = round.isDone || services.now() > endsMs || isStopped();
    if (!isOver) continue;
    const saved = await release(work, lane, { ...round, leaseMs: claimed.dueMs });
    if (saved === 'released' || saved === 'lost') return;
    // messages came meanwhile
    lane = saved;
    state = { ...state, calls: laneData(saved).calls };
  }
}

interface Round {
  readonly state: LaneData;
  /** Whether nothing is due now. */
  readonly isDone: boolean;
  /** Whether the endpoint is gone, and everything that waited for it. */
  readonly isDeleted?: boolean;
  /** When something is due; null: nothing waits. */
  readonly dueMs: number | null;
}

async function workRound(work: Work, state: LaneData): Promise<Round> {
  const { services, projectId, endpointId } = work;
  const { store, now } = services;
  const [endpoint, turns] = await Promise.all([
    store.document(projectId, endpointKind, endpointId),
    store.documents(projectId, { kind: turnKind, parentId: endpointId }, { limit: turnsAtOnce }),
  ]);
  const first = turns[0];
  if (first === undefined) return { state, isDone: true, isDeleted: endpoint === null, dueMs: null };
  if (endpoint === null || !isEnabled(endpoint)) {
    await cancel(work, turns, 'the endpoint was disabled or deleted');
    return { state, isDone: false, dueMs: now() };
  }
  const { dueMs } = turnOf(first);
  const nextMs = Math.max(dueMs, state.heldUntilMs);
  if (nextMs > now()) return { state, isDone: true, dueMs: nextMs };
  if (await isDeletedProject(services, projectId)) {
    await cancel(work, turns, 'the project was deleted');
    return { state, isDone: false, dueMs: now() };
  }
  const due = turns.filter((turn) => turnOf(turn).dueMs <= now());
  const after = await sendTurns(work, { endpoint, turns: due, state });
  return { state: after, isDone: false, dueMs: Math.max(now(), after.heldUntilMs) };
}

interface SentDelivery {
  readonly turn: StoredDocument;
  readonly delivery: StoredDocument;
  readonly outcome: Outcome;
}

/** Sends turns until one fails or time passes, then saves the outcomes. Returns the state of the lane. */
async function sendTurns(
  work: Work,
  {
    endpoint,
    turns,
    state: before,
  }: { endpoint: StoredDocument; turns: readonly StoredDocument[]; state: LaneData },
): Promise<LaneData> {
  const { services, isStopped } = work;
  const data = endpointData(endpoint);
  const sent: SentDelivery[] = [];
  const untilMs = services.now() + savedAfterMs;
  const waiting = [...turns];
  let state = before;
  let isGone = false;
  const one = async (): Promise<void> => {
    for (let turn = waiting.shift(); turn !== undefined; turn = waiting.shift()) {
      const done = await sendTurn(work, { turn, data });
      if (done !== null) {
        sent.push(done.sent);
        isGone ||= done.answer?.statusCode === 410;
        if (done.answer !== null)
          state = stateAfter(state, done.answer, { nowMs: services.now(), random: Math.random() });
      }
      if (state.failures > 0 || services.now() > untilMs || isStopped()) return;
    }
  };
  // after failures a single message tells whether the receiver is back
  const lanes = before.failures > 0 ? 1 : sentAtOnce;
  await Promise.all(Array.from({ length: lanes }, one));
  await save(work, sent);
  const { failingSinceMs } = state;
  const failingMs = failingSinceMs === null ? 0 : services.now() - failingSinceMs;
  if (isGone) await disable(work, endpoint, 'gone');
  else if (failingMs >= limits.webhookFailingHours * 3_600_000) await disable(work, endpoint, 'failing');
  return state;
}

/** Null where the delivery is missing, as after its history ended. */
async function sendTurn(
  { services, projectId }: Work,
  { turn, data }: { turn: StoredDocument; data: EndpointData },
): Promise<{ readonly sent: SentDelivery; readonly answer: OutboundAnswer | null } | null> {
  const { store, now } = services;
  const delivery = await store.document(projectId, deliveryKind, turnOf(turn).deliveryId);
  if (delivery === null) {
    await store.saveDocuments(projectId, [endedTurn(turn)]);
    return null;
  }
  const before = deliveryData(delivery);
  const { createdMs } = delivery;
  if (now() - createdMs > limits.webhookWaitingHours * 3_600_000) {
    const error = `not sent: it waited longer than ${limits.webhookWaitingHours} hours`;
    const outcome = { status: 'failed', data: { ...before, nextMs: null, error } } as const;
    return { sent: { turn, delivery, outcome }, answer: null };
  }
  const answer = await send(services, before, data);
  const outcome = outcomeOf(before, answer, { nowMs: now(), createdMs, random: Math.random() });
  return { sent: { turn, delivery, outcome }, answer };
}

/**
 * Each message that throttles or fails makes the lane wait longer; a success ends that. `random`, from 0 to 1, spreads
 * lanes whose receivers failed, or asked for the same time, at the same moment: none comes back sooner.
 */
function stateAfter(
  before: LaneData,
  answer: OutboundAnswer,
  { nowMs, random }: { readonly nowMs: number; readonly random: number },
): LaneData {
  const { ok, statusCode, retryAfterMs } = answer;
  if (ok) {
    return {
      ...before,
      class: isSlow(answer) ? 'slow' : 'ready',
      failures: 0,
      failingSinceMs: null,
      heldUntilMs: 0,
    };
  }
  const failures = before.failures + 1;
  const isThrottled = statusCode !== null && [429, 502, 504].includes(statusCode);
  const grown = failures < failuresBeforeHold ? 0 : backoffMs(hold, failures - failuresBeforeHold + 1, 0);
  const leastMs = Math.max(grown, isThrottled ? throttledMs : 0, retryAfterMs ?? 0);
  const heldMs = Math.round(leastMs * (1 + jitter * random));
  return {
    ...before,
    class: 'slow',
    failures,
    failingSinceMs: before.failingSinceMs ?? nowMs,
    heldUntilMs: Math.max(before.heldUntilMs, nowMs + heldMs),
  };
}

const changesOf = (endpointId: string, { turn, delivery, outcome }: SentDelivery): DocumentChange[] => {
  const { status, data } = outcome;
  const next =
    data.nextMs === null
      ? []
      : [
          newTurn({
            deliveryId: delivery.documentId,
            endpointId,
            attempt: data.attempt + 1,
            dueMs: data.nextMs,
          }),
        ];
  return [changedDelivery(delivery, status, data), endedTurn(turn), ...next];
};

/** Saves all at once, or each alone where another worker changed one of them. */
async function save({ services, projectId, endpointId }: Work, sent: readonly SentDelivery[]): Promise<void> {
  const { store } = services;
  if (sent.length === 0) return;
  const all = sent.flatMap((each) => changesOf(endpointId, each));
  if ((await store.saveDocuments(projectId, all)) === 'saved' || sent.length === 1) return;
  for (const each of sent) await store.saveDocuments(projectId, changesOf(endpointId, each));
}

/** The endpoint is disabled or deleted: nothing more is sent. */
async function cancel(
  { services, projectId }: Work,
  turns: readonly StoredDocument[],
  why: string,
): Promise<void> {
  const { store } = services;
  const error = `cancelled: ${why}`;
  for (const turn of turns) {
    const delivery = await store.document(projectId, deliveryKind, turnOf(turn).deliveryId);
    const ended = { nextMs: null, error };
    const change =
      delivery === null
        ? []
        : [changedDelivery(delivery, 'cancelled', { ...deliveryData(delivery), ...ended })];
    await store.saveDocuments(projectId, [endedTurn(turn), ...change]);
  }
}

/** Disables the endpoint, with an event in the log. Its owner may have changed it meanwhile: then it stays. */
async function disable(
  { services, projectId }: Work,
  endpoint: StoredDocument,
  reason: DisabledReason,
): Promise<void> {
  const { now, salt } = services;
  const nowMs = now();
  const data = { ...endpointData(endpoint), updatedMs: nowMs, disabledReason: reason };
  const changes = [changedEndpoint(endpoint, data, false)];
  const event = endpointDisabled({ endpointId: endpoint.documentId, reason }, { nowMs, salt });
  try {
    await append(services, {
      projectId,
      leaves: [event],
      effects: [{ kind: 'saveDocuments', changes }],
    });
  } catch (error) {
    if (!(error instanceof GovError) || error.code !== 'PRECONDITION_FAILED') throw error;
  }
}

/** Returns the lane where somebody called meanwhile, `lost` where another worker has it. */
async function release(
  { services, projectId, endpointId }: Work,
  lane: StoredDocument,
  { state, dueMs, isDeleted = false, leaseMs }: Round & { readonly leaseMs: number | null },
): Promise<'released' | 'lost' | StoredDocument> {
  const { store } = services;
  const saved = { ...withoutProject(lane), status: state.class, dueMs, data: JSON.stringify(state) };
  const { kind, documentId, version } = lane;
  const change: DocumentChange = isDeleted ? { remove: { kind, documentId, version } } : { save: saved };
  if ((await store.saveDocuments(projectId, [change])) === 'saved') return 'released';
  const now = await store.document(projectId, laneKind, endpointId);
  return now !== null && now.status === 'busy' && now.dueMs === leaseMs ? now : 'lost';
}
