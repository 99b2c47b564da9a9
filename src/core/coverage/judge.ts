/**
 * Coverage of a run: whether its sources agree that nothing ran ungoverned. A verdict for each call, from the events of the
 * run alone, so that a verifier who has them comes to the same verdicts. It finds that sources disagree, or that one has a gap; it
 * cannot find what all of them leave out. Tested by `test/core/coverage/judge.test.ts`.
 */
import { coverageVerdicts, type CoverageVerdict, type ReportSource } from '../../contract/coverage.ts';
import type { Ending } from '../../contract/endings.ts';
import { limits } from '../../contract/limits.ts';
import type { RunEvent } from '../events/run-entry.ts';
import { Calls, readEvent, type CallFacts, type Sighting } from './calls.ts';
import { SourceFacts, type NumberGap } from './sources.ts';

/** Verdicts that somebody has to look at. */
export const alarms: ReadonlySet<CoverageVerdict> = new Set(['denied_but_ran', 'ungoverned', 'gap']);

/**
 * Verdicts of 1 knew no `unknown`, `failed` and `user_refused`, and few endings. By 2 a result that does not say how the call
 * ended was one that ended well, and a layer with an `unknown` call passed. A layer of a proof names its rules, so that one
 * from before still recomputes.
 */
export const newestRules = 3;
export type CoverageRules = 1 | 2 | typeof newestRules;

export interface CoveredCall {
  /** The id that the client gave it; null where a source gave none. */
  readonly callId: string | null;
  /** Its first event. */
  readonly eventId: string;
  readonly index: number;
  readonly tool: string | null;
  readonly verdict: CoverageVerdict;
  readonly decision: 'allowed' | 'denied' | null;
  /** How it ended; null: no source says. */
  readonly ending: Ending | null;
  /** A source says that the client or its user refused it. */
  readonly isRefused: boolean;
  readonly sources: readonly ReportSource[];
  /** Why the verdict is `gap`. */
  readonly detail: string | null;
  /** The oldest time that its events have, stated or recorded; Unix milliseconds. */
  readonly firstMs: number;
}

export interface Coverage {
  readonly events: number;
  readonly calls: readonly CoveredCall[];
  readonly counts: Readonly<Record<CoverageVerdict, number>>;
  readonly sources: readonly { readonly source: ReportSource; readonly calls: number }[];
  readonly gaps: readonly NumberGap[];
  /** Whether a call or a gap is an alarm. */
  readonly isAlarming: boolean;
  /** Calls that two sources or more report. */
  readonly confirmed: number;
  readonly rules: CoverageRules;
}

/** Whether a source may have reported a refusal: an error of a program that takes one for the other. */
const isMistakable = ({ failed, succeeded, mistakesRefusals }: Sighting): boolean =>
  mistakesRefusals && failed && !succeeded;

/** How many calls have each verdict. */
export function countsOf(calls: readonly CoveredCall[]): Record<CoverageVerdict, number> {
  const counts = Object.fromEntries(coverageVerdicts.map((verdict) => [verdict, 0])) as Record<
    CoverageVerdict,
    number
  >;
  for (const { verdict } of calls) counts[verdict] += 1;
  return counts;
}

/** Takes the events of a run in order. Cost: about 5 µs an event; memory: about 500 bytes a call. */
export class CoverageJudge {
  readonly #rules: CoverageRules;
  readonly #calls: Calls;
  readonly #sources = new SourceFacts();
  #events = 0;
  #lastServerMs = 0;

  constructor(rules: CoverageRules = newestRules) {
    this.#rules = rules;
    this.#calls = new Calls(rules);
  }

  add(event: RunEvent): void {
    const read = readEvent(event);
    this.#events += 1;
    if (read === null) return;
    this.#lastServerMs = Math.max(this.#lastServerMs, read.serverMs);
    const call = this.#calls.add(read);
    this.#sources.add(read, { reportsCall: call !== null });
  }

  finish(): Coverage {
    const calls = this.#calls.all.map((call) => this.#judge(call));
    const bySource = new Map<ReportSource, number>();
    for (const { sources } of calls) {
      for (const source of sources) bySource.set(source, (bySource.get(source) ?? 0) + 1);
    }
    for (const source of this.#sources.seen) if (!bySource.has(source)) bySource.set(source, 0);
    const gaps = this.#sources.gaps();
    return {
      events: this.#events,
      calls,
      counts: countsOf(calls),
      sources: [...bySource]
        .map(([source, reported]) => ({ source, calls: reported }))
        .toSorted((a, b) => (a.source < b.source ? -1 : 1)),
      gaps,
      isAlarming: gaps.length > 0 || calls.some(({ verdict }) => alarms.has(verdict)),
      confirmed: calls.filter(({ sources }) => sources.length > 1).length,
      rules: this.#rules,
    };
  }

  #judge(call: CallFacts): CoveredCall {
    const { id, eventId, index, tool, decision, ending, sightings, firstMs } = call;
    const [verdict, detail] = this.#verdictOf(call);
    const sources = [...sightings.keys()].toSorted();
    const isRefused = [...sightings.values()].some(({ refused }) => refused);
    return {
      callId: id,
      eventId,
      index,
      tool,
      verdict,
      decision,
      ending,
      isRefused,
      sources,
      detail,
      firstMs,
    };
  }

  #verdictOf(call: CallFacts): readonly [CoverageVerdict, string | null] {
    const seen = [...call.sightings.values()];
    const ran = seen.some((each) => each.ran);
    const isRefused = seen.some((each) => each.refused);
    // a client reports a refusal as a failure too, and one of the proxy as a call that ended
    if (call.decision === 'denied') return [ran && !call.isStopped ? 'denied_but_ran' : 'governed', null];
    const hasFailed = seen.some((each) => each.failed);
    // the first rules had no doubt, and knew no refusal and no failure of an allowed call
    const isFirst = this.#rules === 1;
    const mayHaveRun = hasFailed && !isRefused;
    const isSure = isFirst
      ? ran || mayHaveRun
      : seen.some((each) => (each.ran || (each.failed && !isRefused)) && !isMistakable(each));
    const hasRun = isSure || mayHaveRun;
    if (call.decision === null) return [isSure ? 'ungoverned' : hasRun ? 'unknown' : 'not_run', null];
    const missing = this.#missing(call, hasRun);
    if (missing !== null) return ['gap', missing];
    if (!isFirst && isRefused && !isSure) return ['user_refused', null];
    if (seen.length === 1) return ['single_source', null];
    const isFailed = !isFirst && hasFailed && !seen.some((each) => each.succeeded);
    return [isFailed ? 'failed' : 'governed', null];
  }

  /** What a source lacks of a call that it has to have; null if nothing, or if its report may still come. */
  #missing({ id, sightings, lastMs, lastServerMs }: CallFacts, hasRun: boolean): string | null {
    if (id === null) return null;
    const isOld = this.#lastServerMs - lastServerMs >= limits.coverageSettleSeconds * 1000;
    for (const source of ['otlp', 'transcript'] as const) {
      if (!this.#sources.hasAllCalls(source)) continue;
      if (!isOld && !this.#sources.isLater(source, lastMs)) continue;
      const sighting = sightings.get(source);
      if (sighting === undefined) return `${source} does not have the call`;
      if (!sighting.requested) return `${source} has the result, not the call`;
      const mayHaveRun = sighting.ran || sighting.failed || sighting.refused;
      if (hasRun && !mayHaveRun) return `${source} has the call, not its result`;
    }
    return null;
  }
}
