/**
 * Records a received OTLP request: all of it in one transaction, with what the next requests need to know. An event that
 * the project has already is not recorded again, whatever else its record says now: exporters repeat requests, and a span
 * may come with other spans around it. Requests of one project follow each other, so that a call that a span and a log
 * report is recorded once. Proven by `test/http/otlp/receive.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import type { Signal } from '../../core/intake/otlp/protobuf.ts';
import { serviceId } from '../../core/intake/otlp/sources.ts';
import {
  readBatch,
  receive,
  threadNamesOf,
  traceIdsOf,
  type Batch,
  type IntakeResult,
  type ReceivedEvent,
} from '../../core/intake/receive.ts';
import type { KnownSpan } from '../../core/intake/otlp/joins.ts';
import type { Caller } from '../call/caller.ts';
import type { Services } from '../port/services.ts';
import { append } from '../writes/append.ts';
import { acceptedOf, judgeAll } from './batch.ts';
import { factNames, Facts } from './facts.ts';
import { rejection, type JudgedEvent } from './judge.ts';
import { recordEvents } from './judged.ts';
import { dayOf } from '../../core/intake/otlp/day-balance.ts';
import { closeDays, dayFact } from './day-balances.ts';
import { eachOnce, factsOf, isCompared } from './each-once.ts';
import { linksOf, startsOf } from './links.ts';
import { recordedCalls } from './recorded-calls.ts';
import { countRepeated, isFault, noteSources } from './source-counts.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';

/** What became of the records of a request. */
export interface RecordCounts {
  readonly kept: number;
  /** Records that the project has already. */
  readonly repeated: number;
  /** Records that say nothing about an agent, and metrics. */
  readonly filtered: number;
  readonly rejected: number;
  /** Why the first one was rejected. */
  readonly reason: string | null;
}

/** The runs by which requests of a project wait for each other; no client can name them. */
const readTurn = 'gov.otlp.read';
const recordTurn = 'gov.otlp.record';
const waiting = new WeakMap<Services['runs'], Map<string, number>>();

/**
 * Records the request that `read` returns, after all earlier ones of the project. OVERLOADED where too many wait;
 * PAYLOAD_TOO_LARGE for too many records; QUOTA_EXCEEDED for all of it.
 */
export async function recordReceived(
  services: Services,
  caller: Caller,
  { signal, read }: { readonly signal: Signal; readonly read: () => Promise<Record<string, unknown>> },
): Promise<RecordCounts> {
  const { projectId } = caller.project;
  const counts = waiting.get(services.runs) ?? new Map<string, number>();
  waiting.set(services.runs, counts);
  const before = counts.get(projectId) ?? 0;
  if (before >= limits.otlpWaiting) {
    const detail = `expected at most ${limits.otlpWaiting} waiting requests of a project, got one more; repeat later`;
    throw new GovError('OVERLOADED', detail, { retryAfterSeconds: limits.overloadRetrySeconds });
  }
  counts.set(projectId, before + 1);
  try {
    // one request is read while the one before it is stored; no more than these two are in memory as values
    const { recorded } = await services.runs.inTurn({ projectId, runId: readTurn }, async () => {
      const batch = checkedBatch(signal, await read(), { atMs: services.now(), startedIn: caller.run });
      let enter = (): void => {};
      const entered = new Promise<void>((resolve) => (enter = resolve));
      const recording = services.runs.inTurn({ projectId, runId: recordTurn }, () => {
        enter();
        return recordBatch(services, caller, batch);
      });
      // awaited below, after this turn has ended
      recording.catch(() => {});
      await entered;
      return { recorded: recording };
    });
    return await recorded;
  } finally {
    const left = (counts.get(projectId) ?? 1) - 1;
    if (left === 0) counts.delete(projectId);
    else counts.set(projectId, left);
  }
}

function checkedBatch(
  signal: Signal,
  request: Record<string, unknown>,
  options: { readonly atMs: number; readonly startedIn: string | undefined },
): Batch {
  const batch = readBatch(signal, request, options);
  const records = batch.spans.length + batch.logs.length;
  if (records <= limits.otlpRecords) return batch;
  const detail = `expected at most ${limits.otlpRecords} records, got ${records}; send less, or split it`;
  throw new GovError('PAYLOAD_TOO_LARGE', detail, { extensions: { limit: limits.otlpRecords } });
}

/** Tries again where another process has changed a fact in the meantime. */
const recordBatch = (services: Services, caller: Caller, batch: Batch): Promise<RecordCounts> =>
  untilStored('the sources', () => unlessOvertaken(attemptBatch(services, caller, batch), 'CONFLICT'));

/** A batch as it is to be appended. */
interface Plan {
  readonly received: IntakeResult;
  readonly events: readonly ReceivedEvent[];
  readonly judged: readonly JudgedEvent[];
  readonly facts: Facts;
  /** Whether no earlier request of the project came on this day. */
  readonly isNewDay: boolean;
}

async function attemptBatch(services: Services, caller: Caller, batch: Batch): Promise<RecordCounts> {
  const { projectId } = caller.project;
  let plan = await planOf(services, caller, batch);
  const requestOf = ({ judged, facts }: Plan) => ({ ...acceptedOf(judged), effects: facts.effects() });
  const isEmpty = requestOf(plan).leaves.length === 0;
  if (isEmpty && plan.facts.isEmpty) return recordedOf(batch, plan, { repeated: new Set() });
  const stored = isEmpty
    ? await append(services, { projectId, leaves: [], effects: plan.facts.effects() })
    : await recordEvents(services, caller, async (by) => {
        if (by !== caller) plan = await planOf(services, by, batch);
        return requestOf(plan);
      });
  if ('replayed' in stored) throw new Error('expected an append without an idempotency key, got a replay');
  recordedCalls(services).appended(projectId, requestOf(plan).leaves, stored.assigned);
  const repeated = repeatedIn(plan, stored.assigned);
  if (repeated.size > 0) await countRepeated(services, projectId, { events: plan.events, repeated });
  if (plan.isNewDay) await closeDays(services, projectId);
  return recordedOf(batch, plan, { repeated });
}

async function planOf(services: Services, caller: Caller, batch: Batch): Promise<Plan> {
  const atMs = services.now();
  const { projectId } = caller.project;
  const facts = new Facts(services, { projectId, atMs });
  const traceIds = traceIdsOf(batch);
  const names = [...traceIds, ...threadNamesOf(batch)];
  await facts.load([
    factNames.newestDay,
    ...[...batch.sources.keys()].map((id) => dayFact(id, atMs)),
    ...names.map((id) => factNames.trace + id),
    ...traceIds.map((id) => factNames.spans + id),
    ...[...batch.sources.keys()].map((id) => factNames.source + id),
    ...[...batch.sources.values()].map(({ service }) => factNames.service + serviceId(service)),
    ...[...batch.sequences.keys()].map((id) => factNames.sequence + id),
  ]);
  const known = new Map(
    names.flatMap((id) => {
      const run = facts.get(factNames.trace + id);
      return run === null ? [] : [[id, run] as const];
    }),
  );
  const earlier = new Map(
    traceIds.flatMap((id) => {
      const spans = facts.json<readonly KnownSpan[]>(factNames.spans + id);
      return spans === null ? [] : [[id, spans] as const];
    }),
  );
  const capture = caller.rules.settings.contentCapture;
  const received = receive(batch, { atMs, capture, known, earlier });
  await facts.load(received.events.flatMap(factsOf));
  await facts.load(startsOf(received).map(({ name }) => name));
  const others = await recordedCalls(services).of(services, projectId, received.events.filter(isCompared));
  const events = [
    ...linksOf(received, { known, atMs, facts }),
    ...eachOnce(received, { facts, signal: batch.signal, others, atMs }),
  ];
  const judged = await judgeAll(
    events.map(({ event }) => event),
    services,
    caller,
    // a conversation of the program has a run of its own, which the run of the token links
    { mayJoin: true, onlyRun: undefined },
  );
  for (const [id, run] of [...received.traces, ...received.threads]) facts.set(factNames.trace + id, run);
  noteSources(batch, { received, events, judged, facts, atMs });
  const isNewDay = facts.get(factNames.newestDay) !== dayOf(atMs);
  return { received, events, judged, facts, isNewDay };
}

/** Records of which the log has every event already. */
function repeatedIn(
  { events, judged }: Plan,
  assigned: readonly { readonly outcome: string }[],
): Set<number> {
  const repeated = new Set<number>();
  const fresh = new Set<number>();
  let leaf = 0;
  events.forEach(({ record }, at) => {
    if (isFault(judged[at])) return;
    // another text under a known id is the same record in other company
    const isFresh = assigned[leaf++]?.outcome === 'appended';
    (isFresh ? fresh : repeated).add(record);
  });
  return new Set([...repeated].filter((record) => record >= 0 && !fresh.has(record)));
}

function recordedOf(
  batch: Batch,
  { received, events, judged }: Plan,
  { repeated }: { readonly repeated: ReadonlySet<number> },
): RecordCounts {
  const all = new Set(received.events.map(({ record }) => record));
  const kept = new Set<number>();
  const faulty = new Set<number>();
  let reason = batch.rejected.reason;
  events.forEach(({ record }, at) => {
    const result = judged[at];
    if (result !== undefined && 'fault' in result) {
      faulty.add(record);
      reason ??= rejection(result.fault);
    } else if (record >= 0) kept.add(record);
  });
  for (const record of [...faulty, ...repeated]) kept.delete(record);
  const filtered = received.filtered.values().reduce((sum, count) => sum + count, batch.metrics);
  return {
    kept: kept.size,
    repeated: all.size - kept.size - faulty.size,
    filtered,
    rejected: batch.rejected.count + faulty.size,
    reason,
  };
}
