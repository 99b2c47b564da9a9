/**
 * Repeats recorded evaluations, with the policies in force then or with others. The input is the recorded policy input or,
 * if that was erased, the retained part that the conditions read. Paths that a policy reads beyond it are named, never
 * guessed. Proven by `test/core/replay/again.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { actionRecomputes } from '../action/recorded.ts';
import { escalating, type Evaluation as RecordedEvaluation } from '../decided/evaluation.ts';
import { engine } from '../policies/language/ast.ts';
import type { PolicyInput } from '../policies/evaluate/compile.ts';
import type { ReadSet } from '../policies/language/read-set.ts';
import type { PolicySet, SetDecision } from '../policies/set/in-force.ts';
import type { ListCommitment } from '../graphs/rows.ts';
import type { Evaluation, PolicyReference, Reevaluation } from './steps.ts';

export type OpenEvaluation = RecordedEvaluation & { readonly list: ListCommitment };

/** Returns whether all decisions of an evaluation can still be read. */
export const isWhole = ({ decisions, list }: OpenEvaluation): boolean => decisions.length === list.n;

/** Converts a recorded evaluation for `compareEvaluation`. Leaves do not name the engine: there is only one so far. */
export const recordedEvaluation = ({ decisions, combined }: RecordedEvaluation): Evaluation => ({
  engine,
  policies: decisions.flatMap(({ policyId, version, policyHash }) =>
    version === null || policyHash === null ? [] : [{ id: policyId, version, policyHash }],
  ),
  decisions,
  combined,
});

/**
 * Returns the decision of `set` for a recorded policy input; null if neither the input nor its retained part is left.
 * `reads`: the paths that the conditions of that time read, which were retained. Cost: about 1 µs a policy.
 */
export function evaluateAgain(
  recorded: RecordedEvaluation,
  set: PolicySet,
  reads: ReadSet,
): Reevaluation | null {
  const whole = recorded.checkpoint !== null;
  const checkpoint = checkpointOf(recorded, reads);
  if (checkpoint === null) return null;
  const ids = recorded.policyIds ?? [];
  const { decisions, summary } = set.decide(checkpoint, { ids });
  const lacking = whole ? none : lackingIn(set, ids, reads);
  const policies = decisions.flatMap(({ policyId, version }): PolicyReference[] => {
    const policyHash = set.get(policyId)?.policy.policyHash;
    return version === null || policyHash === undefined ? [] : [{ id: policyId, version, policyHash }];
  });
  return { engine, policies, decisions, combined: summary.combined, ...lacking, masked: [] };
}

/** Repeats the decision of the set that was in force; null if the inputs were erased. */
function decideAgain(recorded: RecordedEvaluation, set: PolicySet): SetDecision | null {
  const checkpoint = checkpointOf(recorded, set.readSet);
  return checkpoint === null ? null : set.decide(checkpoint, { ids: recorded.policyIds ?? [] });
}

/** Returns the recorded policy input. If no path is read, an empty input suffices. */
function checkpointOf({ checkpoint, readSet }: RecordedEvaluation, reads: ReadSet): PolicyInput | null {
  if (checkpoint !== null) return checkpoint as unknown as PolicyInput;
  if (readSet !== null) return readSet as unknown as PolicyInput;
  return reads.paths.length === 0 ? { context: {} } : null;
}

type LackedInputs = Pick<Reevaluation, 'undecided' | 'notRetained'>;
const none: LackedInputs = { undecided: [], notRetained: [] };

/** Returns the policies that read more than was retained, and these paths, at most `limits.fieldErrors`. */
function lackingIn(set: PolicySet, ids: readonly string[], reads: ReadSet): LackedInputs {
  const asked = ids.length === 0 ? set.versions().map(({ policyId }) => policyId) : ids;
  const undecided: string[] = [];
  const notRetained = new Set<string>();
  for (const policyId of asked) {
    const member = set.get(policyId);
    const missing = member === undefined ? [] : reads.missing(member.condition.node);
    if (missing.length === 0) continue;
    undecided.push(policyId);
    for (const path of missing) if (notRetained.size < limits.fieldErrors) notRetained.add(path);
  }
  return { undecided, notRetained: [...notRetained].sort() };
}

/** Whether a policy that escalated accepts only a signed approval. */
export const requiresSignature = (decisions: RecordedEvaluation['decisions'], set: PolicySet): boolean =>
  escalating(decisions).some(({ policyId }) => set.get(policyId)?.policy.requireSignedApproval === true);

/** Whether the recorded action of a tool call is not the one of its call. Of another engine nobody can say it. */
export const hasOtherAction = ({ checkpoint, policySource }: RecordedEvaluation): boolean =>
  policySource === 'tool' && actionRecomputes(checkpoint) === false;

/**
 * Returns whether a repeated evaluation equals the recorded one in every decision, and its action is the one of its call; null
 * if the inputs were erased.
 */
export function recomputes(recorded: OpenEvaluation, set: PolicySet): boolean | null {
  const again = isWhole(recorded) ? decideAgain(recorded, set) : null;
  if (again === null) return null;
  const { decisions, summary } = again;
  const { approval } = recorded;
  return (
    !hasOtherAction(recorded) &&
    (approval === null ||
      (approval.signatureRequired === true) ===
        (approval.presence === 'signed' || requiresSignature(recorded.decisions, set))) &&
    summary.combined === recorded.combined &&
    summary.total === recorded.policyCount &&
    decisions.length === recorded.decisions.length &&
    decisions.every((decision, at) => {
      const was = recorded.decisions[at];
      return (
        was !== undefined &&
        was.policyId === decision.policyId &&
        was.version === decision.version &&
        was.policyHash === (set.get(decision.policyId)?.policy.policyHash ?? null) &&
        was.decision === decision.decision &&
        was.outcome === decision.outcome &&
        was.severity === decision.severity
      );
    })
  );
}
