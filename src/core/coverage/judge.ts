/**
 * Coverage of a run: whether its sources agree that nothing ran ungoverned. A verdict for each call, from the events of the
 * run alone, so that a verifier who has them comes to the same verdicts. It finds that sources disagree, or that one has a gap; it
 * cannot find what all of them leave out. Tested by `test/core/coverage/judge.test.ts`.
 */
import {
  coverageVerdicts,
  redVerdicts,
  type CoverageVerdict,
  type ReportSource,
} from '../../contract/coverage.ts';
import type { Ending } from '../../contract/endings.ts';
import { limits } from '../../contract/limits.ts';
import type { RunEvent } from '../events/run-entry.ts';
import { Calls, type CallFacts } from './calls.ts';
import { KernelPrograms } from './kernel.ts';
import { olderVerdict } from './older-verdict.ts';
import { readEvent } from './read-event.ts';
import { SourceFacts, type NumberGap } from './sources.ts';
import { joinUnnamed } from './unnamed.ts';
import { isInner, isWrapper, verdictOf, firstWrapped, type Verdict } from './verdict.ts';

/** Verdicts that somebody has to look at. */
export const alarms: ReadonlySet<CoverageVerdict> = new Set(redVerdicts);

/**
 * Verdicts of 1 knew no `unknown`, `failed` and `user_refused`, and few endings. By 2 a result that does not say how the call
 * ended was one that ended well, and a layer with an `unknown` call passed. Until 3 nothing compared what a call does. A layer
 * of a proof names its rules, so that an older one still recomputes.
 */
export const newestRules = 4;
export type CoverageRules = 1 | 2 | 3 | typeof newestRules;

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
  readonly sources: readonly ReportSource[];
  /** What the decision and the other sources were compared by; null: nothing, they differ, or the rules are older. */
  readonly compared: 'action' | 'tool' | null;
  /** Why the verdict is what it is, where its name does not say it. */
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
  readonly #kernel = new KernelPrograms();
  /** Null: nobody read the linked runs. */
  #elsewhere: Calls | null = null;
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
    if (this.#rules > 3) this.#kernel.add(read);
    if (read.source === 'kernel') {
      if (this.#rules > 3) this.#sources.seen.add('kernel');
      return;
    }
    const call = this.#calls.add(read);
    this.#sources.add(read, { reportsCall: call !== null });
  }

  /** Runs with the decisions about programs that the kernel saw in this one. */
  get linkedRuns(): readonly string[] {
    return [...this.#kernel.linked];
  }

  /** Takes an event of a linked run; null: all of them were read. A proof is about the events of its run alone, and takes none. */
  addLinked(event: RunEvent | null): void {
    this.#elsewhere ??= new Calls(this.#rules);
    const read = event === null ? null : readEvent(event);
    if (read !== null) this.#elsewhere.add(read);
  }

  finish(): Coverage {
    const calls = this.#rules < 4 ? this.#calls.all.map((call) => this.#judgeOlder(call)) : this.#judgeAll();
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

  #judgeOlder(call: CallFacts): CoveredCall {
    const missing = (hasRun: boolean): string | null => this.#missing(call, hasRun);
    const [verdict, detail] = olderVerdict(call, { rules: this.#rules, missing });
    return coveredCall(call, { verdict, detail, compared: null });
  }

  #judgeAll(): CoveredCall[] {
    joinUnnamed(this.#calls);
    const own = this.#calls.all;
    const kernel = this.#kernel.finish(own, this.#elsewhere?.all ?? null);
    const all = [...own, ...kernel].toSorted((a, b) => a.index - b.index);
    const found = new Map(all.map((call) => [call, coveredCall(call, this.#verdictOf(call))]));
    const bad = all
      .filter((call) => isInner(call.id) && alarms.has(found.get(call)?.verdict ?? 'governed'))
      .toSorted((a, b) => a.startMs - b.startMs);
    for (const [call, covered] of found) {
      if (!isWrapper(call) || covered.verdict !== 'governed') continue;
      const first = firstWrapped(call, bad);
      if (first !== undefined)
        found.set(call, { ...covered, verdict: 'unknown', detail: `the call ${first.id} in it is an alarm` });
    }
    return [...found.values()];
  }

  #verdictOf(call: CallFacts): Verdict {
    return verdictOf(call, {
      missing: (hasRun) => this.#missing(call, hasRun),
      isSettled: this.#isSettled(call),
      mayHaveResult: this.#calls.mayHaveResult(call),
    });
  }

  /** A source that reported the call reported something later, or a minute has passed. */
  #isSettled({ sightings, lastMs, lastServerMs }: CallFacts): boolean {
    const isLater = (['otlp', 'transcript'] as const).some(
      (source) => sightings.has(source) && this.#sources.isLater(source, lastMs),
    );
    return isLater || this.#lastServerMs - lastServerMs >= limits.coverageSettleSeconds * 1000;
  }

  /** What a source lacks of a call that it has to have; null if nothing, or if its report may still come. */
  #missing({ id, sightings, lastMs, lastServerMs }: CallFacts, hasRun: boolean): string | null {
    if (id === null) return null;
    const isOld = this.#lastServerMs - lastServerMs >= limits.coverageSettleSeconds * 1000;
    for (const source of ['otlp', 'transcript'] as const) {
      if (!this.#sources.hasAllCalls(source)) continue;
      if (!isOld && !this.#sources.isLater(source, lastMs)) continue;
      // a recording of Codex has the wrapper of such a call alone
      if (this.#rules > 3 && source === 'transcript' && isInner(id)) continue;
      const sighting = sightings.get(source);
      if (sighting === undefined) return `${source} does not have the call`;
      if (!sighting.requested) return `${source} has the result, not the call`;
      const mayHaveRun = sighting.ran || sighting.started || sighting.failed || sighting.refused;
      if (hasRun && !mayHaveRun) return `${source} has the call, not its result`;
    }
    return null;
  }
}

function coveredCall(call: CallFacts, { verdict, detail, compared }: Verdict): CoveredCall {
  const { id, eventId, index, tool, decision, ending, sightings, firstMs } = call;
  const sources = [...sightings.keys()].toSorted();
  return {
    callId: id,
    eventId,
    index,
    tool,
    verdict,
    decision,
    ending,
    sources,
    compared,
    detail,
    firstMs,
  };
}
