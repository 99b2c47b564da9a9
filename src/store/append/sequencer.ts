/**
 * The sequencer: gives drafts their index in the log, inside the transaction of one commit.
 * It plans requests one by one in memory; each plan sees the earlier requests. The engine writes all rows
 * together at the end. A refused request leaves no trace, because its plan is dropped before anything of it
 * is kept.
 * Records, bodies, tiles, run rows, counters, metering leaves, stored answers, effects and heads are one
 * transaction. A crash before COMMIT leaves nothing of the commit. A crash after it leaves everything.
 * Proven by `test/store/suite/log/append.ts` and `test/store/sqlite/crash.long.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';
import { addUnits, meterRecord, meterRef } from '../../core/planes/metering.ts';
import { draftLoss, type AckedHead, type Loss, type LossRecord } from '../../core/decided/loss.ts';
import { hashText } from '../../core/hash.ts';
import { leafHash } from '../../core/merkle/tree.ts';
import {
  sealEvent,
  serverTime,
  type EventDraft,
  type LeafDraft,
  type OtherDraft,
} from '../../core/events/record.ts';
import type {
  AppendOutcome,
  AppendRequest,
  LeafOutcome,
  IdempotencyWrite,
  StoredResponse,
} from '../port/store.ts';
import type { Effect } from '../port/store.ts';
import { answerOf, rangeOf } from '../port/store.ts';
import type { ClientEvents, KeptAnswers, StoredEventId } from './repeats.ts';
import { heldLedgers, heldRuns, heldRunsOfAll, type Ledger, type RunState } from './ledger.ts';
import { PendingCommit, type PendingLeaf, type MeterRow, type Plan } from './pending.ts';
import { overQuota, usedOf } from './quota.ts';
import { periodAt } from './period.ts';
import type { Period } from './period.ts';
import type { RandomPool } from './random.ts';
import { storedLeaves } from './stored-leaves.ts';

/** The parts that an engine provides. They see its tables and the earlier requests of the same commit. */
export interface SequencerParts {
  readonly clock: { now(): number };
  readonly random: RandomPool;
  /** Reads a project's state. Throws NOT_FOUND for an unknown project. */
  openLedger(projectId: string): Ledger;
  /** The acknowledged leaves that the log lacks and has not recorded, or null. Asked when a ledger was read. */
  lossOf?(projectId: string, ledger: Ledger): Loss | null;
  /** Called for each log that a durable commit extended. `loss`: what the commit recorded, or null. */
  acknowledged?(projectId: string, head: AckedHead, loss: LossRecord | null): void;
  readonly kept: KeptAnswers;
  readonly clients: ClientEvents;
  readRun(project: number, runId: string): RunState | null;
  /** Checks and then writes one effect of a request. `assigned` has the indexes of its leaves. */
  applyEffect(project: number, effect: Effect, assigned: readonly LeafOutcome[]): void;
  /** Numbers that no run and no event type of the project has. */
  nextRunNo(project: number): number;
  nextTypeNo(project: number): number;
  readonly rows: {
    addEntry(project: number, entry: PendingLeaf): void;
    addMeter(project: number, row: MeterRow): void;
    /** Writes the period at the first metered append of a month. */
    addPeriod(project: number, period: Period): void;
  };
}

export type RepeatOutcome = Extract<AppendOutcome, { outcome: 'replayed' | 'key_reused' }>;

type IdempotencyKey = Pick<IdempotencyWrite, 'key' | 'fingerprint'>;

export class Sequencer {
  readonly #parts: SequencerParts;
  /** Least recently written first. */
  readonly #ledgers = new Map<string, Ledger>();
  /** A new map for each commit: a cleared map keeps its full table in memory. */
  #pending = new Map<string, PendingCommit>();

  constructor(parts: SequencerParts) {
    this.#parts = parts;
  }

  /** The additions of requests since the last `settle`, by project. */
  get added(): Iterable<PendingCommit> {
    return this.#pending.values();
  }

  /** Plans one request. If it throws, memory keeps nothing of the request. */
  append(request: AppendRequest): AppendOutcome {
    const pending = this.#pendingOf(request.projectId);
    const { idempotency, expect = {} } = request;
    const repeated = idempotency === undefined ? null : this.#find(pending, idempotency);
    if (repeated !== null) return repeated;
    const { run, revisedMs = pending.revisedMs } = expect;
    if (revisedMs !== pending.revisedMs) return { outcome: 'revised' };
    const plan = this.#newPlan(pending);
    const refused = overQuota(pending, request, { period: plan.period, clients: this.#parts.clients });
    if (refused !== null) return refused;
    if (run !== undefined) {
      const events = this.#runOf(pending, run.runId)?.events ?? 0;
      if (events !== run.events) return { outcome: 'stale', events };
    }
    if (!pending.isCurrent(expect)) return { outcome: 'outdated' };
    this.#assignAll(pending, plan, request);
    if (request.whole === true && plan.assigned.some(({ outcome }) => outcome === 'conflict'))
      throw conflict();
    for (const effect of request.effects ?? [])
      this.#parts.applyEffect(pending.ledger.no, effect, plan.assigned);
    const response = this.#keepAnswer(pending, request, plan);
    this.#accept(pending, request, plan);
    for (const effect of request.effects ?? []) {
      if (effect.kind === 'changeProject') pending.revisedMs = effect.atMs;
    }
    const used = usedOf(request.meter?.op ?? 'none', plan.period, pending.totals);
    const outcome = { outcome: 'stored', assigned: plan.assigned, response, used } as const;
    const [entry] = plan.entries;
    if (request.paths !== true || entry === undefined) return outcome;
    const stored = { leaves: null };
    pending.awaited.push({ first: entry.index, last: entry.index + plan.entries.length - 1, stored });
    return { ...outcome, stored };
  }

  /** The outcome of an earlier request with this idempotency key, or null for a new key. */
  repeated(projectId: string, idempotency: IdempotencyKey): RepeatOutcome | null {
    return this.#find(this.#pendingOf(projectId), idempotency);
  }

  /** Call it after COMMIT: the pending additions are durable. */
  settle(): void {
    for (const [projectId, pending] of this.#pending) {
      const { ledger, lastMs, totals, period, policyIndex, configIndex, revisedMs, runs, types } = pending;
      const root = ledger.audit.root();
      locate(pending, root);
      ledger.audit.settle();
      ledger.metering.settle();
      ledger.lastMs = lastMs;
      ledger.totals = totals;
      ledger.period = period;
      ledger.policyIndex = policyIndex;
      ledger.configIndex = configIndex;
      ledger.revisedMs = revisedMs;
      for (const [name, no] of types) ledger.types.set(name, no);
      for (const [runId, run] of runs) {
        ledger.runs.delete(runId);
        ledger.runs.set(runId, run);
      }
      for (const runId of ledger.runs.keys()) {
        if (ledger.runs.size <= heldRuns) break;
        ledger.runs.delete(runId);
      }
      if (pending.hashes.length === 0) continue;
      const { size } = ledger.audit;
      this.#parts.acknowledged?.(projectId, { size, root, atMs: lastMs }, pending.loss);
    }
    this.#pending = new Map();
    this.#release();
  }

  /** Call it after a failed transaction. The next use reads the ledgers of its projects again. */
  forget(): void {
    for (const projectId of this.#pending.keys()) this.#ledgers.delete(projectId);
    this.#pending = new Map();
  }

  /** Drops projects that were not written to lately. */
  #release(): void {
    if (this.#ledgers.size <= heldRunsOfAll / heldRuns) return;
    let runs = 0;
    for (const ledger of this.#ledgers.values()) runs += ledger.runs.size;
    for (const [projectId, ledger] of this.#ledgers) {
      if (this.#ledgers.size <= heldLedgers && runs <= heldRunsOfAll) return;
      this.#ledgers.delete(projectId);
      runs -= ledger.runs.size;
    }
  }

  #pendingOf(projectId: string): PendingCommit {
    let pending = this.#pending.get(projectId);
    if (pending !== undefined) return pending;
    const held = this.#ledgers.get(projectId);
    const ledger = held ?? this.#parts.openLedger(projectId);
    this.#ledgers.delete(projectId);
    this.#ledgers.set(projectId, ledger);
    pending = new PendingCommit(ledger);
    this.#pending.set(projectId, pending);
    const loss = held === undefined ? (this.#parts.lossOf?.(projectId, ledger) ?? null) : null;
    if (loss !== null) this.#record(pending, projectId, loss);
    return pending;
  }

  /** Adds the leaf of a loss, before the leaves of any request. */
  #record(pending: PendingCommit, projectId: string, loss: Loss): void {
    const plan = this.#newPlan(pending);
    const request = { projectId, leaves: [draftLoss(loss, plan.serverMs)] };
    this.#assignAll(pending, plan, request);
    this.#accept(pending, request, plan);
    pending.loss = { ...loss, at: serverTime(plan.serverMs) };
  }

  #find({ ledger }: PendingCommit, { key, fingerprint }: IdempotencyKey): RepeatOutcome | null {
    const kept = this.#parts.kept.find(ledger.no, key);
    if (kept === null) return null;
    return kept.fingerprint === fingerprint
      ? { outcome: 'replayed', response: kept.response }
      : { outcome: 'key_reused' };
  }

  #newPlan({ lastMs, period, totals }: PendingCommit): Plan {
    const serverMs = Math.max(this.#parts.clock.now(), lastMs);
    return {
      serverMs,
      period: periodAt(period, serverMs, totals),
      entries: [],
      assigned: [],
      runs: new Map(),
      types: new Map(),
    };
  }

  #assignAll(pending: PendingCommit, plan: Plan, { leaves, fingerprints }: AppendRequest): void {
    leaves.forEach((draft, position) => {
      plan.assigned.push(this.#assign(pending, plan, { draft, fingerprint: fingerprints?.get(position) }));
    });
  }

  #assign(
    pending: PendingCommit,
    plan: Plan,
    { draft, fingerprint }: { draft: LeafDraft; fingerprint: string | undefined },
  ): LeafOutcome {
    const index = pending.size + plan.entries.length;
    const { serverMs } = plan;
    if (draft.kind === 'other') {
      const record = recordAt(draft, serverMs);
      plan.entries.push({ draft, index, record, leaf: leafHash(record), event: null });
      return { outcome: 'appended', index, eventId: null, leafHash: null, runSeq: null, serverMs };
    }
    const earlier = this.#claimClientId(pending, plan, { draft, index, fingerprint });
    if (earlier !== null) return earlier;
    const run = this.#extendRun(pending, plan, { draft, index });
    const runSeq = run.events - 1;
    const random = this.#parts.random.bits26();
    const { eventId, record, leaf } = sealEvent(draft, { index, runSeq, serverMs, random });
    const typeNo = this.#typeOf(pending, plan, draft.eventType);
    plan.entries.push({ draft, index, record, leaf, event: { eventId, run, runSeq, typeNo } });
    return { outcome: 'appended', index, eventId, leafHash: hashText(leaf), runSeq, serverMs };
  }

  /** The outcome of an event with a known client id, or null for a new id. */
  #claimClientId(
    pending: PendingCommit,
    plan: Plan,
    event: { draft: EventDraft; index: number; fingerprint: string | undefined },
  ): LeafOutcome | null {
    const { draft, index, fingerprint } = event;
    if (draft.clientEventId === null) return null;
    if (fingerprint === undefined)
      throw new Error(`expected a fingerprint for clientEventId of leaf ${index}, got none`);
    const project = pending.ledger.no;
    const earlier = this.#parts.clients.claim(project, draft.clientEventId, { index, fingerprint });
    if (earlier === null) return null;
    if (earlier.fingerprint !== fingerprint) return { outcome: 'conflict' };
    const known =
      plannedEvent(plan.entries[earlier.index - pending.size]) ??
      pending.eventAt(earlier.index) ??
      this.#parts.clients.event(project, earlier.index);
    return { outcome: 'duplicate', index: earlier.index, ...known };
  }

  /** Returns the event's run, with the event counted. */
  #extendRun(
    pending: PendingCommit,
    plan: Plan,
    { draft, index }: { draft: EventDraft; index: number },
  ): RunState {
    const { runId, timestampMs, aiSystemId } = draft;
    let run = plan.runs.get(runId);
    if (run === undefined) {
      const known = this.#runOf(pending, runId);
      run = known === null ? this.#newRun(pending.ledger.no, draft, index) : { ...known };
      plan.runs.set(runId, run);
    }
    run.events += 1;
    run.lastIndex = index;
    run.firstMs = Math.min(run.firstMs, timestampMs);
    run.lastMs = Math.max(run.lastMs, timestampMs);
    run.lastServerMs = plan.serverMs;
    run.aiSystemId ??= aiSystemId;
    return run;
  }

  /** Numbers of refused plans stay unused. */
  #newRun(project: number, { runId, timestampMs }: EventDraft, index: number): RunState {
    return {
      no: this.#parts.nextRunNo(project),
      runId,
      events: 0,
      firstIndex: index,
      lastIndex: index,
      firstMs: timestampMs,
      lastMs: timestampMs,
      lastServerMs: 0,
      aiSystemId: null,
    };
  }

  #runOf({ ledger, runs }: PendingCommit, runId: string): RunState | null {
    return runs.get(runId) ?? ledger.runs.get(runId) ?? this.#parts.readRun(ledger.no, runId);
  }

  #typeOf({ ledger, types }: PendingCommit, plan: Plan, name: string): number {
    const known = ledger.types.get(name) ?? types.get(name) ?? plan.types.get(name);
    if (known !== undefined) return known;
    const no = this.#parts.nextTypeNo(ledger.no);
    plan.types.set(name, no);
    return no;
  }

  #keepAnswer(pending: PendingCommit, request: AppendRequest, plan: Plan): StoredResponse | null {
    if (request.idempotency === undefined) return null;
    const { key, fingerprint, response: answer } = request.idempotency;
    const leaves = rangeOf(plan.assigned);
    const written = answerOf(answer, plan.assigned);
    const response = leaves === null ? written : { ...written, leaves };
    this.#parts.kept.save(pending.ledger.no, key, { fingerprint, response, atMs: plan.serverMs });
    return response;
  }

  /** From here on only a storage error can throw, and that fails the whole commit. */
  #accept(pending: PendingCommit, request: AppendRequest, plan: Plan): void {
    this.#meter(pending, request, plan);
    for (const entry of plan.entries) this.#parts.rows.addEntry(pending.ledger.no, entry);
    pending.accept(plan);
  }

  /** Adds the metering leaf: one for each request that appends leaves or counts units. */
  #meter(
    pending: PendingCommit,
    { meter = { op: 'none', units: 0 } }: AppendRequest,
    { entries, serverMs, period }: Plan,
  ): void {
    const units = meter.units === 'accepted' ? (meter.op === 'none' ? 0 : entries.length) : meter.units;
    if (entries.length === 0 && units === 0) return;
    const totals = addUnits(pending.totals, meter.op, units);
    const nonce = this.#parts.random.bytes(16);
    const firstIndex = pending.size;
    const ref = meterRef(
      nonce,
      firstIndex,
      entries.map(({ leaf }) => leaf),
    );
    const record = meterRecord({ op: meter.op, units, at: serverTime(serverMs), ref, totals });
    const index = pending.meterSize;
    this.#parts.rows.addMeter(pending.ledger.no, { index, firstIndex, count: entries.length, nonce, record });
    pending.meterHashes.push(leafHash(record));
    pending.totals = totals;
    if (units === 0 || period === pending.period) return;
    this.#parts.rows.addPeriod(pending.ledger.no, period);
    pending.period = period;
  }
}

/** Fills in where the leaves of requests are, before the edge is settled. */
function locate({ awaited, hashes, ledger: { audit } }: PendingCommit, root: Uint8Array): void {
  if (awaited.length === 0) return;
  // a copy in memory of its own, as `storedLeaves` has it
  const tree = { size: audit.size, root: new Uint8Array(root) };
  const before = audit.size - hashes.length;
  for (const { first, last, stored } of awaited) {
    const own = hashes.slice(first - before, last + 1 - before);
    stored.leaves = storedLeaves(audit, { first, last }, { tree, hashes: own });
  }
}

function plannedEvent(entry: PendingLeaf | undefined): StoredEventId | null {
  const event = entry?.event ?? null;
  return entry === undefined || event === null
    ? null
    : { eventId: event.eventId, leafHash: hashText(entry.leaf) };
}

/** A record with its server time, which the draft of a `gov.index/1` leaf lacks. */
function recordAt({ record, timeAt }: OtherDraft, serverMs: number): string {
  if (timeAt === undefined) return record;
  return record.slice(0, timeAt) + serverTime(serverMs) + record.slice(timeAt);
}

function conflict(): GovError {
  const detail = 'expected a new clientEventId, or the content of its first use, got other content';
  const pointer = '/clientEventId';
  return new GovError('VALIDATION_ERROR', `body ${pointer}: ${detail}`, {
    errors: [{ pointer, in: 'body', code: 'CLIENT_EVENT_ID_CONFLICT', detail }],
  });
}
