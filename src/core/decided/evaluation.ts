/**
 * The leaf of a policy evaluation, `gov.evaluation/1` (`docs/reference/proof-format.md`, contract O5). In clear: the policy set, the
 * combined decision, and the approval that an escalation opened. Committed: the policy input, the part of it that the
 * conditions read, and each decision.
 * Proven by `test/core/decided/evaluation.test.ts`.
 */
import { isSystemRun } from '../../contract/system-runs.ts';
import type { RecordedEvaluation } from '../../contract/governance.ts';
import { limits } from '../../contract/limits.ts';
import type { PolicyAction } from '../../contract/policy-words.ts';
import { shownOf } from './view.ts';
import { shownHash } from './view-hash.ts';
import { labelled } from '../hash.ts';
import { isObject } from '../json/object.ts';
import { canonicalize, type Json, type JsonObject } from '../json/parse.ts';
import { counts } from '../policies/evaluate/decision.ts';
import { draftLeaf, type OtherDraft } from '../events/record.ts';
import { hashesCommitment, type ListCommitment, type OpenLeaf } from './leaf.ts';
import { spellingOf } from './outcome-cache.ts';
import type { RecordedDecision } from './recorded-decision.ts';

const policySources = ['requested', 'active', 'tool'] as const;
export type PolicySource = (typeof policySources)[number];

/** The approval that an escalation opened, until it expires. */
export type OpenedApproval = {
  readonly id: string;
  /** Key id of the requester, who cannot decide the approval. */
  readonly requestedBy: string;
  readonly expiresAt: string;
  /** Present where only a signed approval is accepted: a policy that escalated says so, or `presence` does. */
  readonly signatureRequired?: true;
  /** How the approval is bound to its call (`src/core/decided/subject.ts`); absent in leaves of older releases. */
  readonly binding?: 'gov.subject/1';
  /** Present where an agent asked a plane: whether a person has to sign. */
  readonly presence?: 'signed' | 'none';
};

export interface Evaluation {
  readonly id: string;
  readonly runId: string;
  readonly policySource: PolicySource;
  /** Number of evaluated policies; more than are listed if only non-default decisions are listed. */
  readonly policyCount: number;
  /** Requested policy ids, in order; null for all active policies. */
  readonly policyIds: readonly string[] | null;
  readonly policySetHash: string;
  /** Index of the newest gov.policy/1 leaf at the evaluation; null without one. */
  readonly policyIndex: number | null;
  readonly combined: PolicyAction;
  /** Null if no approval was opened. */
  readonly approval: OpenedApproval | null;
  readonly evaluatedAt: string;
  readonly decisions: readonly RecordedDecision[];
  /** Decisions of policies in review: recorded but not enforced. */
  readonly shadow: readonly RecordedDecision[];
  /** The policy input `{step?, context}`; null if erased. */
  readonly checkpoint: JsonObject | null;
  /** The smallest policy input with everything that the conditions read; stored after the whole one is erased. */
  readonly readSet: JsonObject | null;
}

/** Drafts the leaf. More than `limits.policiesListed` decisions are committed as one list. */
export function draftEvaluation(evaluation: Evaluation, salt: () => string): OtherDraft {
  const { runId, decisions, shadow, checkpoint, readSet, policyIds, ...clear } = evaluation;
  const committed: (readonly [pointer: string, value: Json, canonical?: string])[] = [];
  const listed = decisions.map((decision, at) => {
    const { text, leaf } = spellingOf(decision);
    return { commitment: [`/decisions/${at}`, decision, text] as const, leaf };
  });
  if (checkpoint !== null) committed.push(['/checkpoint', checkpoint]);
  if (readSet !== null) committed.push(['/readSet', readSet]);
  // a bundle discloses it to compare what was signed, without the arguments
  if (clear.approval !== null && checkpoint !== null)
    committed.push(['/call', askedCall(checkpoint, clear.policySource)]);
  if (policyIds !== null) committed.push(['/policyIds', [...policyIds]]);
  if (shadow.length > 0) committed.push(['/shadow', [...shadow]]);
  if (decisions.length > limits.policiesListed) committed.push(['/decisions', [...decisions]]);
  else committed.push(...listed.map(({ commitment }) => commitment));
  const picked = policyIds !== null;
  const fields = { ...clear, picked, decisions: hashesCommitment(listed.map(({ leaf }) => leaf)) };
  return draftLeaf('gov.evaluation/1', fields, { runId, id: evaluation.id, committed, salt });
}

/** An evaluation as read from its leaf: erased members are null or empty. */
export interface OpenEvaluation extends Evaluation {
  /** The commitment to the decisions. */
  readonly list: ListCommitment;
  /** Whether the caller chose the policies, even if their ids are erased. */
  readonly picked: boolean;
  /** The call that waits for the approval; null without an approval, or if it is erased, withheld or of another form. */
  readonly asked: AskedCall | null;
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
    asked: readAskedCall(committed.get('call')),
  };
}

/** Returns the evaluation in leaf `index` as exports have it; lists add `evaluationId`. */
export const evaluationRecordBody = (index: number, evaluation: OpenEvaluation): RecordedEvaluation => ({
  id: evaluation.id,
  // A tool call without a run is recorded in a run of the service.
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

/** Returns the name of the tool in a policy input `{context: {tool: {name}}}`; null without one. */
export function evaluatedTool(checkpoint: unknown): string | null {
  const context = isObject(checkpoint) ? checkpoint['context'] : undefined;
  const tool = isObject(context) ? context['tool'] : undefined;
  const name = isObject(tool) ? tool['name'] : undefined;
  return typeof name === 'string' ? name : null;
}

/** Returns the decisions of the policies that escalated. */
export const escalating = (decisions: readonly RecordedDecision[]): RecordedDecision[] =>
  decisions.filter(({ decision, outcome }) => decision === 'escalate' && counts(outcome));

/** Returns the reason of an escalation: the reasoning of the first policy that escalated. */
export const escalationReason = (decisions: readonly RecordedDecision[]): string =>
  escalating(decisions)[0]?.reasoning ?? '';

/** Actor (JCS), tool and arguments of an evaluated call; null where it has none, or where it was erased. */
export interface EvaluatedCall {
  readonly actor: string | null;
  readonly tool: string | null;
  readonly argumentsHash: string | null;
}

/** The tool call in the input of an evaluation. A client controls its members. */
export function evaluatedCall({ checkpoint }: Pick<Evaluation, 'checkpoint'>): EvaluatedCall {
  const context = objectOf(checkpoint?.['context']);
  const given = objectOf(context?.['arguments']);
  const name = objectOf(context?.['tool'])?.['name'];
  const actor = context?.['actor'] ?? null;
  return {
    actor: actor === null ? null : canonicalize(actor),
    tool: typeof name === 'string' ? name : null,
    argumentsHash: given === null ? null : argumentsHash(given).hash,
  };
}

/** The call that waits for an approval: the whole tool as the policies saw it. A type, because it is JSON. */
export type AskedCall = {
  readonly tool: JsonObject | null;
  readonly argumentsHash: string | null;
  /** Of what an approver sees of it without redaction (`src/core/decided/view.ts`). Older leaves lack it. */
  readonly shownHash?: string;
};

export function askedCall(checkpoint: JsonObject, policySource: PolicySource): AskedCall {
  const input = objectOf(checkpoint['context']);
  return {
    tool: objectOf(input?.['tool']),
    argumentsHash: evaluatedCall({ checkpoint }).argumentsHash,
    shownHash: shownHash(shownOf(input, { isCall: policySource === 'tool' })),
  };
}

function readAskedCall(value: Json | undefined): AskedCall | null {
  if (!isObject(value)) return null;
  const { tool, argumentsHash, shownHash: shown } = value;
  const isRead =
    (tool === null || isObject(tool)) && (argumentsHash === null || typeof argumentsHash === 'string');
  if (!isRead || (shown !== undefined && typeof shown !== 'string')) return null;
  return { tool, argumentsHash, ...(shown === undefined ? {} : { shownHash: shown }) };
}

const objectOf = (value: Json | undefined): JsonObject | null => (isObject(value) ? value : null);

const argumentsLabel = 'gov.toolargs/v1';

/** Returns `SHA-256("gov.toolargs/v1\n" || JCS(arguments))` of a tool call, and the bytes of the canonical form. */
export function argumentsHash(given: JsonObject): { readonly hash: string; readonly bytes: number } {
  const { preimage, hash } = labelled(argumentsLabel, given);
  return { hash, bytes: Buffer.byteLength(preimage) - argumentsLabel.length - 1 };
}
