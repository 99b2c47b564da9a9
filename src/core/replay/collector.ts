/**
 * Collects the outcomes of a replay for the response: at most `limits.replaySteps` steps, `limits.graphPartItems` drift
 * diagnostics in equal shares by severity, and `limits.fieldErrors` warnings. All are counted, and the commitment to
 * diverging steps covers all of them. Proven by `test/core/replay/collector.alone.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { driftSeverities, type DriftSeverity } from '../../contract/replay-words.ts';
import type { ListCommitment } from '../graphs/rows.ts';
import { cut, type DriftDiagnostic } from './fields.ts';
import { detailOf, type StepOutcome, type StepRecord, type StepSource } from './steps.ts';
import { type ReplayCounts, ReplaySummary } from './summary.ts';

/** Findings of all repeated steps, from which `drift.ts` derives severities. */
export interface ReplayFindings {
  /** Number of evaluations whose decisions became more or less restrictive, or neither. */
  readonly stricter: number;
  readonly looser: number;
  readonly unchanged: number;
  /** Number of steps of any kind. */
  readonly notReplayable: number;
  readonly riskActionChanged: boolean;
}

export interface ReplayReport {
  readonly steps: readonly StepRecord[];
  /** Number of repeated evaluations and risk decisions. */
  readonly replayed: number;
  /** Gravest first. */
  readonly driftDiagnostics: readonly DriftDiagnostic[];
  /** Number of all diagnostics, also of omitted ones. */
  readonly driftCount: number;
  readonly warnings: readonly string[];
  readonly summary: ReplayCounts;
  /** Commitment to the diverging steps. */
  readonly mismatches: ListCommitment;
  /** Whether steps or drift diagnostics were omitted. */
  readonly truncated: boolean;
}

/** Counts the findings of comparisons without storing them. */
export class FindingsTally {
  readonly #changes = { stricter: 0, looser: 0, unchanged: 0 };
  #notReplayable = 0;
  #riskActionChanged = false;
  #risks = 0;

  add({ status, policyChange, riskActionChanged }: StepOutcome): void {
    if (status === 'not_replayable') this.#notReplayable++;
    if (policyChange !== undefined) this.#changes[policyChange]++;
    if (riskActionChanged === undefined) return;
    this.#risks++;
    this.#riskActionChanged ||= riskActionChanged;
  }

  /** Number of repeated evaluations and risk decisions. */
  get replayed(): number {
    const { stricter, looser, unchanged } = this.#changes;
    return stricter + looser + unchanged + this.#risks;
  }

  findings(): ReplayFindings {
    const notReplayable = this.#notReplayable;
    const riskActionChanged = this.#riskActionChanged;
    return { ...this.#changes, notReplayable, riskActionChanged };
  }
}

const driftShare = limits.graphPartItems / driftSeverities.length;

export class ReplayCollector {
  readonly #steps: StepRecord[] = [];
  readonly #summary = new ReplaySummary();
  readonly #bySeverity: Record<DriftSeverity, DriftDiagnostic[]> = {
    low: [],
    medium: [],
    high: [],
    critical: [],
  };
  #driftCount = 0;
  #driftKept = 0;
  readonly #warnings = new Set<string>();
  #warningsLeftOut = 0;
  readonly #tally = new FindingsTally();
  #count = 0;

  /** Adds the next step. Cost: about 0.2 µs for a match. */
  add(source: StepSource, outcome: StepOutcome): void {
    const index = this.#count++;
    const { status, warnings = [] } = outcome;
    const { eventId, eventType, action, timestamp } = source;
    this.#summary.add({ eventId, index, status });
    if (index < limits.replaySteps) {
      const detail = detailOf(outcome);
      const step = { index, eventId, status, eventType, action, timestamp };
      this.#steps.push(detail === undefined ? step : { ...step, detail });
    }
    this.#tally.add(outcome);
    for (const { field, severity, expected, actual } of outcome.differences?.list ?? []) {
      if (severity === undefined) continue;
      this.drift({ field: `${outcome.subject ?? `steps[${index}]`}${field}`, expected, actual, severity });
    }
    for (const text of warnings) this.warn(text);
  }

  drift(diagnostic: DriftDiagnostic): void {
    this.#driftCount++;
    const list = this.#bySeverity[diagnostic.severity];
    if (list.length >= driftShare) return;
    list.push(diagnostic);
    this.#driftKept++;
  }

  /** Adds a warning once. */
  warn(text: string): void {
    const warning = cut(text, limits.reasoningChars);
    if (this.#warnings.has(warning)) return;
    if (this.#warnings.size < limits.fieldErrors) this.#warnings.add(warning);
    else this.#warningsLeftOut++;
  }

  /** Returns the findings so far. */
  findings(): ReplayFindings {
    return this.#tally.findings();
  }

  finish(): ReplayReport {
    const steps = this.#steps;
    const driftCount = this.#driftCount;
    const warningsLeftOut = this.#warningsLeftOut;
    const more = warningsLeftOut === 0 ? [] : [`${warningsLeftOut} more warnings were left out`];
    return {
      steps,
      replayed: this.#tally.replayed,
      driftDiagnostics: driftSeverities.toReversed().flatMap((severity) => this.#bySeverity[severity]),
      driftCount,
      warnings: [...this.#warnings, ...more],
      summary: this.#summary.counts(),
      mismatches: this.#summary.mismatches(),
      truncated: this.#count > steps.length || driftCount > this.#driftKept,
    };
  }
}
