/**
 * The leaf of a policy evaluation, `gov.evaluation/1` (docs/proofs.md, contract O5): in clear which policy set
 * decided, what came out, and the approval that an escalation opened; committed the checkpoint, what of it the
 * conditions read, and each decision.
 * Proven by `test/core/decided/evaluation.test.ts`.
 */
import { isSystemRun } from '../../contract/system-runs.ts';
import type { PolicyEvaluationRecord } from '../../contract/governance.ts';
import { limits } from '../../contract/limits.ts';
import type { PolicyAction } from '../../contract/policy-words.ts';
import { labelled } from '../hash.ts';
import type { Json, JsonObject } from '../json/parse.ts';
import { counts } from '../policy/evaluate/decision.ts';
import { draftLeaf, type OtherDraft } from '../event/record.ts';
import { hashesCommitment, type ListCommitment, type OpenLeaf } from './leaf.ts';
import { spellingOf } from './outcome-cache.ts';
import type { RecordedDecision } from './recorded-decision.ts';

export const policySources = ['requested', 'active', 'tool'] as const;
export type PolicySource = (typeof policySources)[number];

/** The approval that an escalation opened, for the time until it expires. */
export type OpenedApproval = {
  readonly id: string;
  /** Key id of the principal that asked, who never decides it. */
  readonly requestedBy: string;
  readonly expiresAt: string;
};

export interface Evaluation {
  readonly id: string;
  readonly runId: string;
  readonly policySource: PolicySource;
  /** How many policies were evaluated; more than are listed where only non-default decisions are. */
  readonly policyCount: number;
  /** Ids that were asked for, in order; null for all active ones. */
  readonly policyIds: readonly string[] | null;
  readonly policySetHash: string;
  /** Index of the newest gov.policy/1 leaf when it was decided, null where there was none. */
  readonly policyIndex: number | null;
  readonly combined: PolicyAction;
  /** Null where it opened none. */
  readonly approval: OpenedApproval | null;
  readonly evaluatedAt: string;
  readonly decisions: readonly RecordedDecision[];
  /** Decisions of policies in review: recorded, not enforced. */
  readonly shadow: readonly RecordedDecision[];
  /** `{step?, context}`; null once it was erased. */
  readonly checkpoint: JsonObject | null;
  /** The smallest checkpoint that holds what the conditions read; kept where the whole one is erased. */
  readonly readSet: JsonObject | null;
}

/** A leaf of more commitments than `limits.policiesListed` decisions commits to their list as one. */
export function draftEvaluation(evaluation: Evaluation, salt: () => string): OtherDraft {
  const { runId, decisions, shadow, checkpoint, readSet, policyIds, ...clear } = evaluation;
  const committed: (readonly [pointer: string, value: Json, canonical?: string])[] = [];
  const listed = decisions.map((decision, at) => {
    const { text, leaf } = spellingOf(decision);
    return { commitment: [`/decisions/${at}`, decision, text] as const, leaf };
  });
  if (checkpoint !== null) committed.push(['/checkpoint', checkpoint]);
  if (readSet !== null) committed.push(['/readSet', readSet]);
  if (policyIds !== null) committed.push(['/policyIds', [...policyIds]]);
  if (shadow.length > 0) committed.push(['/shadow', [...shadow]]);
  if (decisions.length > limits.policiesListed) committed.push(['/decisions', [...decisions]]);
  else committed.push(...listed.map(({ commitment }) => commitment));
  const picked = policyIds !== null;
  const fields = { ...clear, picked, decisions: hashesCommitment(listed.map(({ leaf }) => leaf)) };
  return draftLeaf('gov.evaluation/1', fields, { runId, id: evaluation.id, committed, salt });
}

/** An evaluation as its leaf tells it: erased members are null or left out. */
export interface OpenEvaluation extends Evaluation {
  /** What was committed to. */
  readonly list: ListCommitment;
  /** Whether the caller picked the policies, also where their ids were erased. */
  readonly picked: boolean;
}

export function openEvaluation({ clear, committed }: OpenLeaf): OpenEvaluation {
  const fields = clear as unknown as Omit<OpenEvaluation, 'decisions'> & { decisions: ListCommitment };
  const object = (name: string): JsonObject | null => (committed.get(name) ?? null) as JsonObject | null;
  const list = (name: string): RecordedDecision[] =>
    Object.values(committed.get(name) ?? {}) as unknown as RecordedDecision[];
  return {
    id: fields.id,
    runId: fields.runId,
    policySource: fields.policySource,
    policyCount: fields.policyCount,
    policyIds: (committed.get('policyIds') ?? null) as string[] | null,
    policySetHash: fields.policySetHash,
    policyIndex: fields.policyIndex,
    combined: fields.combined,
    approval: fields.approval,
    evaluatedAt: fields.evaluatedAt,
    decisions: list('decisions'),
    shadow: list('shadow'),
    checkpoint: object('checkpoint'),
    readSet: object('readSet'),
    list: fields.decisions,
    picked: fields.picked,
  };
}

/** The evaluation in leaf `index` as it is listed and exported. */
export const evaluationRecordBody = (index: number, evaluation: OpenEvaluation): PolicyEvaluationRecord => ({
  id: evaluation.id,
  // a tool call without a run is kept in a run of the service
  runId: isSystemRun(evaluation.runId) ? null : evaluation.runId,
  policySource: evaluation.policySource,
  policyCount: evaluation.policyCount,
  decisions: evaluation.decisions,
  shadow: evaluation.shadow,
  checkpoint: evaluation.checkpoint,
  policySetHash: evaluation.policySetHash,
  combined: evaluation.combined,
  evaluatedAt: evaluation.evaluatedAt,
  sequence: index,
});

/** Why an evaluation came to `escalate`: what the first policy that escalated says. */
export function escalationReason(decisions: readonly RecordedDecision[]): string {
  const escalating = decisions.find(({ decision, outcome }) => decision === 'escalate' && counts(outcome));
  return escalating?.reasoning ?? '';
}

const argumentsLabel = 'gov.toolargs/v1';

/** `SHA-256("gov.toolargs/v1\n" || JCS(arguments))` of a tool call, and how long the canonical form is. */
export function argumentsHash(given: JsonObject): { readonly hash: string; readonly bytes: number } {
  const { preimage, hash } = labelled(argumentsLabel, given);
  return { hash, bytes: Buffer.byteLength(preimage) - argumentsLabel.length - 1 };
}
