/**
 * What events of a period say of tool calls and of the programs that recorded them: the one place that counts the tool calls
 * of a log, and those without a decision. Reads bodies, so it costs about 10 µs an event.
 * Proven by `test/service/reports/counts/agree.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import type { ReportSource as ReportSourceName } from '../../../contract/coverage.ts';
import { isOwnId, joinOf, type CallJoin } from '../../../core/coverage/join.ts';
import { governs, namesDecision, sourceOf } from '../../../core/coverage/report.ts';
import { isObject } from '../../../core/json/object.ts';
import { systemRun } from '../../../core/events/record.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { Leaf } from '../../../store/port/store.ts';
import { pagesOf, readEvent, typeOf, type ReadEvent } from '../templates/read.ts';
import type { Period } from '../templates/period.ts';
import type { ReportSource } from '../templates/source.ts';

/** A call as one event reports it. */
interface CallReport<Of> {
  readonly source: ReportSourceName;
  readonly isDecided: boolean;
  readonly tool: string | null;
  readonly of: Of;
}

/** What the events of a period say of one call id of a run. */
interface ReportedCall<Of> {
  reports: CallReport<Of>[];
  readonly refusals: CallReport<Of>[];
}

/** Takes a call that was counted: what `add` got with it. */
type CallTaker<Of> = (of: Of, call: { readonly isDecided: boolean; readonly isRefused: boolean }) => void;

/**
 * Counts the tool calls of a period, each once, whatever number of sources report it, in any order. The reports of one id in
 * a run are one call, unless one source has the id for more. Sources that ask for decisions count before those that report
 * calls from elsewhere; a call that one of them refused is no call of telemetry. Where two spans of one call were recorded
 * as two, a later event says so; it takes a call back only where the other one is known, and is of the same tool.
 */
export class ToolCalls<Of = null> {
  /** Calls, after `finish`. */
  calls = 0;
  /** Those that name no decision about them. */
  undecided = 0;
  /** Calls that were denied or blocked, and did not run. */
  refused = 0;
  readonly #byId = new Map<string, ReportedCall<Of>>();
  readonly #counted: CallTaker<Of>;
  #kept = 0;

  /** `counted`: called with `of` of each call, at the latest by `finish`. */
  constructor(counted: CallTaker<Of> = () => {}) {
    this.#counted = counted;
  }

  /** `of`: anything about the call of the event. */
  add({ clear: { eventType, runId }, metadata, members }: CallEvent, of: Of): void {
    const join = joinOf({ eventType, metadata });
    if (join?.type === 'tool.call') this.#join(runId, join);
    const isRefusal = eventType === 'tool.denied' || eventType === 'tool.call_blocked';
    if (!isRefusal && eventType !== 'tool.call') return;
    const source = sourceOf(metadata);
    const key = keyOf(runId, { id: metadata['toolCallId'], source });
    const call = key === null ? undefined : this.#callOf(key);
    const tool = toolIn(members);
    const report = { source, isDecided: namesDecision(metadata), tool, of };
    if (call === undefined) this.#count([report], isRefusal);
    else (isRefusal ? call.refusals : call.reports).push(report);
  }

  /** Counts what is known of calls by their ids. */
  finish(): void {
    for (const { reports, refusals } of this.#byId.values()) {
      const governed = reports.filter(({ source }) => governs(source));
      const isRefused = refusals.some(({ source }) => governs(source));
      this.#count(mostOfOne(governed.length > 0 || isRefused ? governed : reports), false);
      this.#count(mostOfOne(refusals), true);
    }
    this.#byId.clear();
  }

  #count(reports: readonly CallReport<Of>[], isRefused: boolean): void {
    for (const { isDecided, of } of reports) {
      if (isRefused) this.refused += 1;
      else this.calls += 1;
      if (!isRefused && !isDecided) this.undecided += 1;
      this.#counted(of, { isDecided, isRefused });
    }
  }

  /** Undefined beyond the most that are kept: each report is a call then. */
  #callOf(key: string): ReportedCall<Of> | undefined {
    const known = this.#byId.get(key);
    if (known !== undefined || this.#kept >= limits.reportGroups) return known;
    const call: ReportedCall<Of> = { reports: [], refusals: [] };
    this.#byId.set(key, call);
    this.#kept += 1;
    return call;
  }

  /** A join of calls that are not in the period, or were not kept, changes nothing. */
  #join(runId: string, { from, to, isCopy, run }: CallJoin): void {
    const source = 'otlp';
    const key = keyOf(runId, { id: from, source });
    const target = keyOf(run ?? runId, { id: to, source });
    const call = key === null ? undefined : this.#byId.get(key);
    if (call === undefined || target === null) return;
    const other = this.#byId.get(target);
    const report = call.reports.findLast((each) => each.source === source);
    const hasOther =
      other !== undefined &&
      (other.refusals.length > 0 ||
        other.reports.some((each) => each !== report && (each.tool === null || each.tool === report?.tool)));
    if (report === undefined || (isCopy && !hasOther)) return;
    if (!isCopy && other !== undefined && !hasOther) return;
    call.reports = call.reports.filter((each) => each !== report);
    if (!isCopy) this.#callOf(target)?.reports.push(report);
  }
}

type CallEvent = Pick<ReadEvent, 'clear' | 'metadata' | 'members'>;

/** The reports of the source with most of them; of equally many, those with most decisions. */
function mostOfOne<Of>(reports: readonly CallReport<Of>[]): readonly CallReport<Of>[] {
  const bySource = [...Map.groupBy(reports, ({ source }) => source).values()];
  const decided = (each: readonly CallReport<Of>[]): number =>
    each.filter(({ isDecided }) => isDecided).length;
  const [most = []] = bySource.toSorted((a, b) => b.length - a.length || decided(b) - decided(a));
  return most;
}

/** An id that an importer made up names a call in its own source alone; a call without an id is no other's. */
function keyOf(
  runId: string,
  { id, source }: { readonly id: unknown; readonly source: string },
): string | null {
  if (typeof id !== 'string' || id === '') return null;
  return JSON.stringify(isOwnId(id) ? [runId, id] : [runId, id, source]);
}

function toolIn(members: ReadEvent['members']): string | null {
  const resource = members.get('resource');
  const name = isObject(resource) ? resource['name'] : resource;
  return typeof name === 'string' ? name : null;
}

/** What the runs of a period show about how they were recorded. */
export interface Recorders {
  /** Runs with an event that names the program that recorded it, while the run went on. */
  readonly automatic: ReadonlySet<string>;
  /** Runs in which the recorder says that it dropped events. */
  readonly lossy: ReadonlySet<string>;
}

const calling = /^(?:tool\.(?:call|denied|call_blocked)|event\.completed)$/;
/** A decision, the hook or the proxy of a client, or telemetry: no person types these beside a run. */
const program = /"\/metadata\/(?:evaluationId|recordedBy)","|"\/metadata\/importer","otlp"/;
const lost = 'recorder.dropped';

/** One pass over the events of the period that are not pruned, without those of the service. */
export async function activityIn(
  source: ReportSource,
  period: Period,
): Promise<{ readonly toolCalls: ToolCalls; readonly recorders: Recorders }> {
  const toolCalls = new ToolCalls();
  const automatic = new Set<string>();
  const lossy = new Set<string>();
  for await (const leaves of pagesOf(source, period, { bodies: true })) {
    for (const leaf of leaves) {
      const type = typeOf(leaf.record);
      if (type === null || !(calling.test(type) || type === lost || namesProgram(leaf))) continue;
      const event = readEvent(leaf);
      if (event === null || event.clear.runId === systemRun) continue;
      toolCalls.add(event, null);
      const { runId } = event.clear;
      if (type === lost && lossy.size < limits.reportGroups) lossy.add(runId);
      if (namesProgram(leaf) && isOnTime(event) && automatic.size < limits.reportGroups) automatic.add(runId);
    }
  }
  toolCalls.finish();
  return { toolCalls, recorders: { automatic, lossy } };
}

const namesProgram = ({ disclosures }: Leaf): boolean => disclosures !== null && program.test(disclosures);

const isOnTime = ({ clear, serverMs }: ReadEvent): boolean =>
  Math.abs((parseTimestamp(clear.timestamp) ?? 0) - serverMs) <= limits.recordedSkewSeconds * 1000;
