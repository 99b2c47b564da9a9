/**
 * What events of a period say of tool calls and of the programs that recorded them: the one place that counts the tool calls
 * of a log, and those without a decision. Reads bodies, so it costs about 10 µs an event.
 * Proven by `test/service/reports/counts/agree.test.ts`.
 */
import { limits } from '../../../contract/limits.ts';
import { namesDecision } from '../../../core/coverage/report.ts';
import { systemRun } from '../../../core/events/record.ts';
import { parseTimestamp } from '../../../core/time.ts';
import type { Leaf } from '../../../store/port/store.ts';
import { pagesOf, readEvent, typeOf, type ReadEvent } from '../templates/read.ts';
import type { Period } from '../templates/period.ts';
import type { ReportSource } from '../templates/source.ts';

/** Counts of the tool calls of a period. */
export class ToolCalls {
  /** Events `tool.call`. A report of a further source about the same call is another type, and no second call. */
  calls = 0;
  /** Those that name no decision about them. */
  undecided = 0;
  /** Events `tool.denied` and `tool.call_blocked`: calls that did not run. */
  refused = 0;

  add({ clear: { eventType }, metadata }: Pick<ReadEvent, 'clear' | 'metadata'>): void {
    if (eventType === 'tool.denied' || eventType === 'tool.call_blocked') this.refused += 1;
    if (eventType !== 'tool.call') return;
    this.calls += 1;
    if (!namesDecision(metadata)) this.undecided += 1;
  }
}

/** What the runs of a period show about how they were recorded. */
export interface Recorders {
  /** Runs with an event that names the program that recorded it, while the run went on. */
  readonly automatic: ReadonlySet<string>;
  /** Runs in which the recorder says that it dropped events. */
  readonly lossy: ReadonlySet<string>;
}

const calling = /^tool\.(?:call|denied|call_blocked)$/;
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
      toolCalls.add(event);
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
