/**
 * Replays the recorded decisions of a run (docs/how-to/replay-a-run.md). Checks each event against its leaf hash,
 * evaluates each evaluation again with the policies in force at its time, and each risk decision with its
 * recorded configuration. Where a snapshot names other policies, every evaluation also runs with them, which
 * only grades the drift. Proven by `test/service/replay/handlers.engines.test.ts`.
 */
import type { SnapshotInput } from '../../contract/governance.ts';
import { valuesAt } from '../../core/events/bodies.ts';
import { openEvaluation } from '../../core/decided/evaluation.ts';
import type { OpenLeaf } from '../../core/decided/leaf.ts';
import { openRiskDecision, type RiskRecord } from '../../core/decided/risk-decision.ts';
import type { Snapshot } from '../../core/decided/snapshot.ts';
import { RiskAgain } from '../../core/proofs/decision-lineage.ts';
import { hashText } from '../../core/hash.ts';
import type { PolicySet } from '../../core/policies/set/in-force.ts';
import {
  evaluateAgain,
  hasOtherAction,
  isWhole,
  recordedEvaluation,
  type OpenEvaluation,
} from '../../core/replay/again.ts';
import { FindingsTally, type ReplayCollector } from '../../core/replay/collector.ts';
import { noSnapshot, snapshotDrift } from '../../core/replay/drift.ts';
import {
  compareEvaluation,
  compareLeaf,
  compareRisk,
  compareSequence,
  notReplayable,
  type StepOutcome,
  type StepSource,
} from '../../core/replay/steps.ts';
import type { RunEvent } from '../../core/events/run-entry.ts';
import type { RunAt } from '../proofs/decided-leaves.ts';
import { LoggedPolicies, type LoggedSet } from '../in-force/logged.ts';
import { otherPolicies } from './other-policies.ts';
import { routerOf } from '../policies/risk-router.ts';
import { noEvents } from '../events/run-stream.ts';
import { leavesOfRun } from './run-leaves.ts';
import { snapshotOf } from '../policies/run-snapshot.ts';
import type { TaskContext } from '../call/work.ts';

interface DecisionReplay {
  /** The snapshot that the run is compared with. */
  readonly snapshot: Snapshot | null;
  /** Indexes of leaves that differ from the log. */
  readonly altered: readonly number[];
}

/** The most altered leaves that the result names. */
const alteredNamed = 100;

/** Adds a step for every recorded event and decision of the run. RUN_HAS_NO_EVENTS where it has none. */
export async function replayDecisions(
  context: TaskContext,
  run: RunAt & { readonly at: string },
  options: { readonly given: SnapshotInput | null; readonly collector: ReplayCollector },
): Promise<DecisionReplay> {
  const { given, collector } = options;
  const recorded = await snapshotOf(context.reader, run);
  const other = await otherPolicies(context, run, { recorded, given });
  const isCompared = recorded !== null || given !== null;
  // the first warning: a result keeps the first ones alone
  if (!isCompared) collector.warn(noSnapshot.ofRun);
  for (const text of other.warnings) collector.warn(text);
  const steps = new DecisionSteps(context, run, { collector, other: other.set });
  const altered: number[] = [];
  let count = 0;
  for await (const leaf of leavesOfRun(context, run)) {
    count++;
    if (leaf.kind === 'event') steps.event(leaf.event);
    else if (leaf.kind === 'evaluation') await steps.evaluation(leaf.leaf);
    else if (leaf.kind === 'risk') await steps.risk(leaf.leaf);
    else {
      steps.altered(leaf.index, leaf.expected);
      if (altered.length < alteredNamed) altered.push(leaf.index);
    }
  }
  if (count === 0) throw noEvents(run.runId);
  if (isCompared) {
    const findings = steps.findings(recorded?.policyHash !== other.actual?.policyHash);
    const { driftDiagnostics, warnings } = snapshotDrift(recorded, other.actual, findings);
    for (const diagnostic of driftDiagnostics) collector.drift(diagnostic);
    for (const text of warnings) collector.warn(text);
  }
  return { snapshot: given ?? recorded, altered };
}

class DecisionSteps {
  readonly #context: TaskContext;
  readonly #run: RunAt & { readonly at: string };
  readonly #collector: ReplayCollector;
  readonly #policies: LoggedPolicies;
  readonly #risks = new RiskAgain();
  /** The policies of the snapshot where they are others; null where they are unknown. */
  readonly #other: PolicySet | null;
  readonly #withOther = new FindingsTally();
  #riskActionChanged = false;
  #nextSeq = 0;

  constructor(
    context: TaskContext,
    run: RunAt & { readonly at: string },
    { collector, other }: { collector: ReplayCollector; other: PolicySet | null },
  ) {
    this.#context = context;
    this.#run = run;
    this.#collector = collector;
    this.#policies = new LoggedPolicies(context, run, run.treeSize);
    this.#other = other;
  }

  /** Adds an event. Its hash was checked when it was read; this notices a missing one. */
  event({ index, clear, disclosures }: RunEvent): void {
    const source: StepSource = {
      eventId: clear?.eventId ?? unknownId(index),
      eventType: clear?.eventType ?? 'unknown',
      action: actionOf(disclosures),
      timestamp: clear?.timestamp ?? this.#run.at,
    };
    this.#collector.add(source, compareSequence(this.#nextSeq, clear?.runSeq ?? -1));
    this.#nextSeq = (clear?.runSeq ?? this.#nextSeq) + 1;
  }

  altered(index: number, expected: Uint8Array): void {
    const source = { eventId: unknownId(index), eventType: 'unknown', action: '', timestamp: this.#run.at };
    this.#collector.add(source, compareLeaf(hashText(expected), ''));
    this.#nextSeq++;
  }

  async evaluation(leaf: OpenLeaf): Promise<void> {
    const recorded = openEvaluation(leaf);
    const inForce = await this.#policies.at(leaf.index);
    const { id, combined, evaluatedAt } = recorded;
    const source = { eventId: id, eventType: 'policy.evaluation', action: combined, timestamp: evaluatedAt };
    this.#collector.add(source, evaluated(recorded, inForce));
    if (this.#other !== null && isWhole(recorded)) {
      const again = evaluateAgain(recorded, this.#other, inForce.set.readSet);
      const outcome = again === null ? lost : compareEvaluation(recordedEvaluation(recorded), again);
      this.#withOther.add(outcome);
    } else this.#withOther.add(lost);
  }

  async risk(leaf: OpenLeaf): Promise<void> {
    const recorded = openRiskDecision(leaf);
    const { id, action, evaluatedAt } = recorded;
    const source = { eventId: id, eventType: 'risk.decision', action, timestamp: evaluatedAt };
    const again = this.#risks.decide(recorded);
    this.#collector.add(source, again === null ? lost : compareRisk(recorded, again));
    this.#riskActionChanged ||= await this.#isRoutedOtherwise(recorded);
  }

  /** Whether the project's current configuration would route the decision differently. */
  async #isRoutedOtherwise(recorded: RiskRecord): Promise<boolean> {
    const router = await routerOf(this.#context.reader, this.#run.projectId);
    if (recorded.configHash === router.configHash) return false;
    return (this.#risks.decide(recorded, router)?.action ?? recorded.action) !== recorded.action;
  }

  /** Findings that grade drift: the decisions of the snapshot's policies, where they are others. */
  findings(otherPolicies: boolean) {
    const findings = (otherPolicies ? this.#withOther : this.#collector).findings();
    return { ...findings, riskActionChanged: findings.riskActionChanged || this.#riskActionChanged };
  }
}

const actionPointer = new Set(['/action']);

/** Empty where the action was erased. */
function actionOf(disclosures: string | null): string {
  const action = disclosures === null ? '' : valuesAt(disclosures, actionPointer).get('/action');
  return typeof action === 'string' ? action : '';
}

const lost = notReplayable('inputs_erased');

/** Names an event that cannot be read, and so has no id, by its index. */
const unknownId = (index: number): string => `leaf-${index}`;

function evaluated(recorded: OpenEvaluation, { set, unknown }: LoggedSet): StepOutcome {
  const asked = recorded.policyIds;
  const lacking = asked === null ? unknown : unknown.filter((policyId) => asked.includes(policyId));
  if (lacking.length > 0) return notReplayable('policy_not_known', lacking);
  const again = isWhole(recorded) ? evaluateAgain(recorded, set, set.readSet) : null;
  if (again === null) return lost;
  const outcome = compareEvaluation(recordedEvaluation(recorded), again);
  if (!hasOtherAction(recorded)) return outcome;
  return { ...outcome, status: 'mismatch', note: 'the recorded action is not the action of its call' };
}
