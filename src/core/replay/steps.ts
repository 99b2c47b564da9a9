/**
 * The steps of a replay (contract F12, `docs/how-to/replay-a-run.md`): recorded results compared with repeated ones.
 * Steps have no state, so a replay continues after a mismatch. Nothing here evaluates: the caller evaluates with the
 * policies and the configuration of its choice, and passes both sides.
 * Proven by `test/core/replay/steps.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { PolicyAction, PolicyOutcome } from '../../contract/policy-words.ts';
import type { StepStatus } from '../../contract/replay-words.ts';
import type { RiskVerdict } from '../risk/router.ts';
import type { Json } from '../json/parse.ts';
import { restriction } from '../policies/evaluate/decision.ts';
import { cut, Differences } from './fields.ts';
import { pointerToken } from '../json/pointer.ts';

/** The recorded event of a step. */
export interface StepSource {
  readonly eventId: string;
  readonly eventType: string;
  readonly action: string;
  readonly timestamp: string;
}

export interface StepRecord extends StepSource {
  /** 0, 1, 2 … in replay order. */
  readonly index: number;
  readonly status: StepStatus;
  /** For a step that does not match: expected and actual value. At most `limits.reasoningChars` characters. */
  readonly detail?: string;
}

type PolicyChange = 'stricter' | 'looser' | 'unchanged';

/** The result of a comparison. */
export interface StepOutcome {
  readonly status: StepStatus;
  /** First part of the detail. */
  readonly note?: string;
  readonly differences?: Pick<Differences, 'list' | 'count'>;
  /** Subject of the differences in drift diagnostics; default: the step. */
  readonly subject?: string;
  /** For an evaluation that could be replayed. */
  readonly policyChange?: PolicyChange;
  /** For a risk decision that could be replayed. */
  readonly riskActionChanged?: boolean;
  readonly warnings?: readonly string[];
}

export const match: StepOutcome = Object.freeze({ status: 'match' });

/** Returns whether a step with this status differs from the record. A step that cannot be replayed does not count. */
export const diverges = (status: StepStatus): boolean =>
  status === 'mismatch' || status === 'missing' || status === 'extra';

const notReplayableReasons = [
  'inputs_erased',
  'inputs_not_retained',
  'policy_not_known',
  'configuration_not_known',
] as const;
export type NotReplayableReason = (typeof notReplayableReasons)[number];

/** `paths`: the inputs that are not available any more. */
export const notReplayable = (reason: NotReplayableReason, paths: readonly string[] = []): StepOutcome => ({
  status: 'not_replayable',
  note: paths.length === 0 ? reason : `${reason}: ${named(paths)}`,
});

const named = (paths: readonly string[]): string =>
  cut(paths.slice(0, limits.fieldErrors).join(', '), limits.reasoningChars / 2);

/** Returns the detail of an outcome, or undefined without one. */
export function detailOf({ note, differences }: StepOutcome): string | undefined {
  const parts = note === undefined ? [] : [note];
  const { list, count } = differences ?? { list: [], count: 0 };
  let chars = note?.length ?? 0;
  let shown = 0;
  for (const { field, expected, actual } of list) {
    const pair = `expected ${expected === '' ? 'nothing' : expected}, got ${actual === '' ? 'nothing' : actual}`;
    const part = field === '' ? pair : `${field}: ${pair}`;
    // Reserves space for the count of omitted differences.
    if (chars + part.length > limits.reasoningChars - 40) break;
    parts.push(part);
    chars += part.length + 2;
    shown++;
  }
  if (count > shown) parts.push(`and ${count - shown} more`);
  return parts.length === 0 ? undefined : parts.join('; ');
}

export interface PolicyReference {
  readonly id: string;
  readonly version: number;
  readonly policyHash: string;
}

/** One policy evaluation, recorded or repeated. */
export interface Evaluation {
  readonly engine: string;
  /** Policies that matched or were indeterminate. */
  readonly policies: readonly PolicyReference[];
  /** A policy that is not listed raised no objection: `allow`. */
  readonly decisions: readonly {
    readonly policyId: string;
    readonly decision: PolicyAction;
    readonly outcome: PolicyOutcome;
  }[];
  readonly combined: PolicyAction;
}

/** The repeated evaluation of a recorded policy input, or of the retained part of it. */
export interface Reevaluation extends Evaluation {
  /** Policies that read values that were not retained, so that their decision is unknown; and these paths. */
  readonly undecided: readonly string[];
  readonly notRetained: readonly string[];
  /** Paths whose values are masked in the record. */
  readonly masked: readonly string[];
}

/**
 * Compares a recorded evaluation with its replay. A mismatch is another decision, outcome or combination, or another hash
 * for the same version; a newer version with the same decision is no mismatch. Less restrictive in any policy, or
 * combined, is looser. Cost: linear in the policies.
 */
export function compareEvaluation(recorded: Evaluation, again: Reevaluation): StepOutcome {
  const differences = new Differences();
  const changes = new Set<number>();
  const before = byPolicy(recorded);
  const after = byPolicy(again);
  const undecided = new Set(again.undecided);
  for (const id of [...new Set([...before.keys(), ...after.keys()])].sort()) {
    const change = comparePolicy(
      { id, before: before.get(id), after: after.get(id) },
      undecided,
      differences,
    );
    changes.add(change);
  }
  const complete = undecided.size === 0 && again.notRetained.length === 0;
  if (complete) {
    differences.texts('/combined', recorded.combined, again.combined);
    changes.add(Math.sign(restriction(again.combined) - restriction(recorded.combined)));
  }
  const warnings = evaluationWarnings(recorded, again);
  if (differences.count === 0 && !complete) {
    return { ...notReplayable('inputs_not_retained', again.notRetained), warnings };
  }
  const policyChange = changes.has(-1) ? 'looser' : changes.has(1) ? 'stricter' : 'unchanged';
  return { status: differences.count === 0 ? 'match' : 'mismatch', differences, policyChange, warnings };
}

interface PolicySide {
  readonly reference: PolicyReference | undefined;
  readonly decision: PolicyAction;
  /** Undefined if the policy is not in the list of decisions. */
  readonly outcome: PolicyOutcome | undefined;
}

function byPolicy({ policies, decisions }: Evaluation): Map<string, PolicySide> {
  const sides = new Map<string, PolicySide>();
  for (const reference of policies) {
    sides.set(reference.id, { reference, decision: 'allow', outcome: undefined });
  }
  for (const { policyId, decision, outcome } of decisions) {
    sides.set(policyId, { reference: sides.get(policyId)?.reference, decision, outcome });
  }
  return sides;
}

interface Pair {
  readonly id: string;
  readonly before: PolicySide | undefined;
  readonly after: PolicySide | undefined;
}

/** Returns −1 if the policy became less restrictive, 1 if more, 0 if neither or if one side lacks it. */
function comparePolicy(
  { id, before, after }: Pair,
  undecided: ReadonlySet<string>,
  differences: Differences,
): number {
  const was = before?.reference;
  const is = after?.reference;
  const field = (member: string): string => `/policies/${pointerToken(id)}/${member}`;
  if (was !== undefined && was.version === is?.version && was.policyHash !== is.policyHash) {
    differences.add(field('policyHash'), was.policyHash, is.policyHash);
  }
  if (undecided.has(id)) return 0;
  // An absent policy raises no objection.
  if ((before?.decision ?? 'allow') !== (after?.decision ?? 'allow')) {
    differences.add(field('decision'), before?.decision ?? '', after?.decision ?? '');
  } else if (before?.outcome !== undefined && after?.outcome !== undefined) {
    if (before.outcome !== after.outcome) differences.add(field('outcome'), before.outcome, after.outcome);
  }
  if (before === undefined || after === undefined) return 0;
  return Math.sign(restriction(after.decision) - restriction(before.decision));
}

function evaluationWarnings(recorded: Evaluation, { engine, masked }: Reevaluation): string[] {
  const warnings: string[] = [];
  if (recorded.engine !== engine) {
    warnings.push(`recorded by engine ${cut(recorded.engine)}, replayed by ${cut(engine)}`);
  }
  if (masked.length > 0) warnings.push(`masked in the record: ${named(masked)}`);
  return warnings;
}

/** Compares a recorded risk decision with the repeated one, member by member. */
export function compareRisk(recorded: RiskVerdict, again: RiskVerdict): StepOutcome {
  const differences = new Differences();
  differences.values('', riskMembers(recorded), riskMembers(again));
  const riskActionChanged =
    recorded.action !== again.action || recorded.wouldBeAction !== again.wouldBeAction;
  return { status: differences.count === 0 ? 'match' : 'mismatch', differences, riskActionChanged };
}

function riskMembers(verdict: RiskVerdict): Json {
  const { action, wouldBeAction, score, deterministicInputsHash, configHash } = verdict;
  const factors = verdict.factors.map(({ name, weight, value, contribution }) => ({
    name,
    weight,
    value,
    contribution,
  }));
  return { action, wouldBeAction, score, deterministicInputsHash, configHash, factors };
}

const critical = { differs: 'critical', absent: 'critical' } as const;

/** Compares the number of an event in its run with the next expected number; a difference is critical. */
export function compareSequence(expected: number, actual: number): StepOutcome {
  if (expected === actual) return match;
  const differences = new Differences(critical);
  differences.add('/runSeq', String(expected), String(actual));
  return { status: 'mismatch', differences };
}

/** Compares the leaf hash in the log with the hash of the record, both `sha256:…`; a difference is critical. */
export function compareLeaf(expected: string, actual: string): StepOutcome {
  const differences = new Differences(critical);
  // An empty text, a missing hash, matches nothing.
  if (expected !== actual || expected === '') differences.add('/leafHash', expected, actual);
  return { status: differences.count === 0 ? 'match' : 'mismatch', differences };
}
