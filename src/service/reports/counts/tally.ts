/**
 * One pass over the records of a period, without bodies: what was recorded, of which runs and systems, when, and what was
 * decided. Cost: about 5 µs a leaf. The clear members of a record match patterns without quotes, so a pattern at its end reads
 * our own spelling exactly; `readRecord` reads any other.
 * Proven by `test/service/reports/counts/tally.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { systemRun } from '../../../core/events/record.ts';
import { readRecord } from '../../../core/events/run-entry.ts';
import type { JsonObject } from '../../../core/json/parse.ts';
import { parseTimestamp } from '../../../core/time.ts';
import { indexedLeaves } from '../../../store/port/store.ts';
import { increase } from './by-name.ts';
import { isIn, type Period } from '../templates/period.ts';
import { leavesOf, pagesOf, statedMs, systemEvents } from '../templates/read.ts';
import type { ReportSource } from '../templates/source.ts';

export interface RunSpan {
  readonly runId: string;
  systemId: string | null;
  /** Whether the first event of the run is in the period. */
  begins: boolean;
  events: number;
  readonly firstIndex: number;
  readonly firstRecordedMs: number;
  lastRecordedMs: number;
  /** By the clock of the client. */
  firstMs: number;
  lastMs: number;
}

export interface SystemSpan {
  runs: number;
  events: number;
  readonly firstRecordedMs: number;
  lastRecordedMs: number;
}

/** Time without any entry. */
export interface SilentSpan {
  readonly fromMs: number;
  readonly toMs: number;
}

const quietKept = 10;
const dayMs = 86_400_000;

const tail =
  /^(?:"_sd_hash":"[A-Za-z0-9_-]{43}",)?(?:"aiSystemId":"([^"\\]*)",)?(?:"causedBy":\[[^\]\\]*\],)?"eventId":"[^"\\]*","eventType":"([^"\\]*)","runId":"([^"\\]*)","runSeq":(\d+),"serverTimestamp":"([^"\\]*)","timestamp":"([^"\\]*)","type":"gov\.event\/1"\}$/;
const tailStart = '],"_sd_alg":"sha-256",';
const eventEnding = '"type":"gov.event/1"}';

export class Tally {
  /** Leaves that were read. */
  leaves = 0;
  /** Events without those of the service itself. */
  events = 0;
  /** Whether the period has the first event of the service itself. */
  serviceBegins = false;
  /** Events by type. */
  readonly types = new Map<string, number>();
  /** Events of the service by type. */
  readonly serviceTypes = new Map<string, number>();
  /** Other leaves by type. */
  readonly records = new Map<string, number>();
  /** Evaluations by combined decision, risk decisions by action. */
  readonly evaluations = new Map<string, number>();
  readonly risks = new Map<string, number>();
  replaysDiffering = 0;
  replaysDrifting = 0;
  readonly runs = new Map<string, RunSpan>();
  /** Runs beyond `limits.reportGroups`, which are counted by their first event alone. */
  moreRuns = 0;
  readonly systems = new Map<string, SystemSpan>();
  /** Events of systems beyond `limits.reportGroups`. */
  moreOfSystems = 0;
  /** Events by UTC day of their recording. */
  readonly days = new Map<number, number>();
  /** Events whose own time differs from the server's by more than `limits.recordedSkewSeconds`. */
  skewed = 0;
  mostBehindMs = 0;
  mostAheadMs = 0;
  /** The longest times without an entry, longest first. */
  readonly quiet: SilentSpan[] = [];
  #newestMs = 0;

  /** The period begins or ends here, without an entry. */
  addEdge(ms: number): void {
    this.#addTime(ms);
  }

  addRecord(index: number, record: string): void {
    this.leaves += 1;
    if (!record.endsWith(eventEnding)) {
      this.#addOther(JSON.parse(record) as JsonObject);
      return;
    }
    const start = record.indexOf(tailStart);
    const found = start === -1 ? null : tail.exec(record.slice(start + tailStart.length));
    if (found === null) {
      this.#addStrange(index, record);
      return;
    }
    const [, systemId = null, eventType = '', runId = '', runSeq = '', server = '', client = ''] = found;
    this.#addEvent({ index, systemId, eventType, runId, isFirst: runSeq === '0', server, client });
  }

  /** A record with escapes, or of a later version. */
  #addStrange(index: number, record: string): void {
    const clear = readRecord(record);
    if (clear === null) return;
    const { aiSystemId } = JSON.parse(record) as JsonObject;
    const { eventType, runId, runSeq, serverTimestamp: server, timestamp: client } = clear;
    const systemId = typeof aiSystemId === 'string' ? aiSystemId : null;
    this.#addEvent({ index, systemId, eventType, runId, isFirst: runSeq === 0, server, client });
  }

  #addEvent(event: {
    index: number;
    systemId: string | null;
    eventType: string;
    runId: string;
    isFirst: boolean;
    server: string;
    client: string;
  }): void {
    const serverMs = parseTimestamp(event.server) ?? 0;
    this.#addTime(serverMs);
    if (event.runId === systemRun) {
      this.serviceBegins ||= event.isFirst;
      increase(this.serviceTypes, event.eventType);
      return;
    }
    const clientMs = parseTimestamp(event.client) ?? serverMs;
    this.events += 1;
    increase(this.types, event.eventType);
    increase(this.days, Math.floor(serverMs / dayMs));
    this.#addSkew(clientMs - serverMs);
    const run = this.#addRun(event, { serverMs, clientMs });
    if (event.systemId !== null) this.#addSystem(event.systemId, run, serverMs);
  }

  #addTime(serverMs: number): void {
    const since = this.#newestMs;
    this.#newestMs = Math.max(since, serverMs);
    if (since === 0 || serverMs <= since) return;
    const shortest = this.quiet.at(-1);
    const isLong = shortest === undefined || serverMs - since > shortest.toMs - shortest.fromMs;
    if (this.quiet.length === quietKept && !isLong) return;
    this.quiet.push({ fromMs: since, toMs: serverMs });
    this.quiet.sort((a, b) => b.toMs - b.fromMs - (a.toMs - a.fromMs) || a.fromMs - b.fromMs);
    if (this.quiet.length > quietKept) this.quiet.pop();
  }

  #addSkew(ms: number): void {
    if (Math.abs(ms) > limits.recordedSkewSeconds * 1000) this.skewed += 1;
    this.mostAheadMs = Math.max(this.mostAheadMs, ms);
    this.mostBehindMs = Math.max(this.mostBehindMs, -ms);
  }

  #addRun(
    {
      runId,
      index,
      isFirst,
      systemId,
    }: { runId: string; index: number; isFirst: boolean; systemId: string | null },
    { serverMs, clientMs }: { serverMs: number; clientMs: number },
  ): RunSpan | null {
    const known = this.runs.get(runId);
    if (known !== undefined) {
      known.events += 1;
      known.systemId ??= systemId;
      known.lastRecordedMs = serverMs;
      if (clientMs < known.firstMs) known.firstMs = clientMs;
      if (clientMs > known.lastMs) known.lastMs = clientMs;
      return known;
    }
    if (this.runs.size >= limits.reportGroups) {
      if (isFirst) this.moreRuns += 1;
      return null;
    }
    const run: RunSpan = {
      runId,
      systemId,
      begins: isFirst,
      events: 1,
      firstIndex: index,
      firstRecordedMs: serverMs,
      lastRecordedMs: serverMs,
      firstMs: clientMs,
      lastMs: clientMs,
    };
    this.runs.set(runId, run);
    return run;
  }

  #addSystem(systemId: string, run: RunSpan | null, serverMs: number): void {
    const known = this.systems.get(systemId);
    const isNewRun = run?.events === 1;
    if (known !== undefined) {
      known.events += 1;
      known.runs += isNewRun ? 1 : 0;
      known.lastRecordedMs = serverMs;
      return;
    }
    if (this.systems.size >= limits.reportGroups) {
      this.moreOfSystems += 1;
      return;
    }
    this.systems.set(systemId, {
      runs: 1,
      events: 1,
      firstRecordedMs: serverMs,
      lastRecordedMs: serverMs,
    });
  }

  #addOther(clear: JsonObject): void {
    const { type, combined, action, mismatches, driftCount, at } = clear;
    if (typeof type !== 'string') return;
    increase(this.records, type);
    switch (type) {
      case 'gov.evaluation/1':
        increase(this.evaluations, String(combined));
        break;
      case 'gov.decision/1':
        increase(this.risks, String(action));
        break;
      case 'gov.replay/1':
        if ((mismatches as { n?: number } | undefined)?.n) this.replaysDiffering += 1;
        if (Number(driftCount) > 0) this.replaysDrifting += 1;
        break;
      case 'gov.index/1':
        this.#addTime(typeof at === 'string' ? (parseTimestamp(at) ?? 0) : 0);
        break;
      default:
    }
  }

  /** Runs with an event, also those that are counted alone. */
  get runCount(): number {
    return this.runs.size + this.moreRuns;
  }

  /** Runs that name no AI system, of those in `runs`. */
  get unnamed(): number {
    return [...this.runs.values()].filter(({ systemId }) => systemId === null).length;
  }

  recorded(type: string): number {
    return this.records.get(type) ?? 0;
  }
}

export async function tallyOf(source: ReportSource, period: Period): Promise<Tally> {
  const tally = new Tally();
  if (period.startMs > period.firstMs) tally.addEdge(period.startMs);
  if (period.from < period.prunedBelow) await addKept(source, period, tally);
  for await (const leaves of pagesOf(source, period, { bodies: false })) {
    for (const { index, record } of leaves) tally.addRecord(index, record);
  }
  tally.addEdge(Math.min(period.endMs, period.asOfMs));
  return tally;
}

/** Decisions and changes that a pruning left, and events of the service. */
async function addKept(source: ReportSource, period: Period, tally: Tally): Promise<void> {
  const below = { ...period, to: Math.min(period.to, period.prunedBelow) };
  for await (const { index, leaf } of systemEvents(source, below)) tally.addRecord(index, leaf.record);
  // no pruning removes them, and the store finds them by their type
  for (const type of indexedLeaves) {
    for await (const { index, clear, leaf } of leavesOf(source, { type }, below)) {
      if (isIn(below, index, statedMs(clear))) tally.addRecord(index, leaf.record);
    }
  }
}
