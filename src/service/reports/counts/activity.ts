/**
 * What events of a period say of tool calls and of the programs that recorded them: the one place that counts the tool calls
 * of a log, and those without a decision. Reads bodies, so it costs about 10 µs an event.
 * Proven by `test/service/reports/counts/agree.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { joinOf } from '../../../core/coverage/join.ts';
import { namesDecision, sourceOf } from '../../../core/coverage/report.ts';
import { systemRun } from '../../../core/events/record.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { Leaf } from '../../../store/port/store.ts';
import { pagesOf, readEvent, typeOf, type ReadEvent } from '../templates/read.ts';
import type { Period } from '../templates/period.ts';
import type { ReportSource } from '../templates/source.ts';

/**
 * Counts of the tool calls of a period. A report of a further source about the same call is another type, and no second
 * call; where two spans of one call were recorded as two, a later event says so.
 */
export class ToolCalls<Of = null> {
  /** Events `tool.call`, each call once. */
  calls = 0;
  /** Those that name no decision about them. */
  undecided = 0;
  /** Events `tool.denied` and `tool.call_blocked`: calls that did not run. */
  refused = 0;
  /** Calls that telemetry reports, by run and id: a later event may say that one is a copy. */
  readonly #reported = new Map<string, Of[]>();
  #kept = 0;

  /** `of`: anything about the call. Returns that of the call which the event shows to be a copy, as a list of one. */
  add({ clear: { eventType, runId }, metadata }: CallEvent, of: Of): readonly [copy?: Of] {
    if (eventType === 'tool.denied' || eventType === 'tool.call_blocked') this.refused += 1;
    const join = joinOf({ eventType, metadata });
    if (join?.isCopy === true && join.type === 'tool.call') return this.#copy(keyOf(runId, join.from));
    if (eventType !== 'tool.call') return [];
    this.calls += 1;
    if (!namesDecision(metadata)) this.undecided += 1;
    if (sourceOf(metadata) === 'otlp' && this.#kept < limits.reportGroups) {
      const key = keyOf(runId, metadata['toolCallId']);
      this.#reported.set(key, [...(this.#reported.get(key) ?? []), of]);
      this.#kept += 1;
    }
    return [];
  }

  /** A call that is not in the period, or was not kept, stays counted. */
  #copy(key: string): readonly [copy?: Of] {
    const [of, ...rest] = this.#reported.get(key) ?? [];
    if (of === undefined) return [];
    this.#reported.set(key, rest);
    this.calls -= 1;
    this.undecided -= 1;
    return [of];
  }
}

type CallEvent = Pick<ReadEvent, 'clear' | 'metadata'>;

const keyOf = (runId: string, callId: unknown): string => JSON.stringify([runId, callId]);

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
  return { toolCalls, recorders: { automatic, lossy } };
}

const namesProgram = ({ disclosures }: Leaf): boolean => disclosures !== null && program.test(disclosures);

const isOnTime = ({ clear, serverMs }: ReadEvent): boolean =>
  Math.abs((parseTimestamp(clear.timestamp) ?? 0) - serverMs) <= limits.recordedSkewSeconds * 1000;
