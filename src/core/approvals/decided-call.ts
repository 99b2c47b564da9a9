/**
 * An evaluation as the layer `policy_compliance` knows it, and what lets its call run: an approval in time, of the same call.
 * Proven by `test/core/proofs/compliance.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { PolicyAction } from '../../contract/policy-words.ts';
import type { Approver } from './signature.ts';
import type { DecidedApproval } from '../decided/approval.ts';
import type { EvaluatedCall, OpenedApproval } from '../decided/evaluation.ts';
import { parseTimestamp } from '../time.ts';

export interface DecidedCall {
  readonly index: number;
  readonly combined: PolicyAction;
  readonly approval: OpenedApproval | null;
  readonly whole: boolean;
  readonly call: EvaluatedCall;
  readonly subject: string | null;
  readonly shownHash: string | undefined;
  /** Whether the input was erased, so that the call is unknown. */
  readonly erased: boolean;
  readonly expiresMs: number;
  readonly policySetHash: string;
  /** Index of the approving leaf; Infinity without approval. */
  approvedAt: number;
  approver: string | null;
  /** Who signed the approval; null without a valid signature. */
  signer: Approver | null;
  used: boolean;
  /** Whether an event was judged by it: a later approval or use of it changes that judgement. */
  isJudged: boolean;
  /** The evaluation whose approval this one used; null if it used none. */
  grant: DecidedCall | null;
  /** The evaluation of the hook whose permission this one, of the proxy, joined; null if it joined none. */
  joins: DecidedCall | null;
  /** The evaluation that joined the permission of this one. */
  joinedBy: DecidedCall | null;
  /** The evaluation that used the approval of this one, and the event that then ran; null until then. */
  use: { readonly by: DecidedCall; ran: number | null } | null;
}

type Decision = Pick<DecidedApproval, 'id' | 'outcome' | 'approver' | 'at'>;

export function approves({ id, outcome, approver, at }: Decision, opened: OpenedApproval | null): boolean {
  if (opened === null || outcome !== 'approved' || id !== opened.id) return false;
  const [atMs, expiresMs] = [parseTimestamp(at), parseTimestamp(opened.expiresAt)];
  return approver !== opened.requestedBy && atMs !== null && expiresMs !== null && atMs < expiresMs;
}

/** Whether the approval of `opened` lets the call of `by` run at this time. */
export function grants(opened: DecidedCall, by: DecidedCall, at: string): boolean {
  const isBySubject = opened.approval?.binding !== undefined;
  const isSame = isBySubject ? opened.subject === by.subject : isSameCall(opened.call, by.call);
  return (
    opened.approvedAt < by.index &&
    by.combined === 'escalate' &&
    by.policySetHash === opened.policySetHash &&
    (opened.erased || by.erased || isSame) &&
    isInTime(opened, at)
  );
}

/** Whether an evaluation of the proxy is about the call of an evaluation of the hook. */
export const joinsCall = (first: DecidedCall, by: DecidedCall): boolean =>
  first.index < by.index &&
  by.combined === 'escalate' &&
  by.policySetHash === first.policySetHash &&
  (first.erased || by.erased || first.subject === by.subject);

export function isInTime({ approval }: DecidedCall, at: string): boolean {
  const [atMs, expiresMs] = [parseTimestamp(at), parseTimestamp(approval?.expiresAt ?? '')];
  return atMs !== null && expiresMs !== null && atMs < expiresMs;
}

/** A missing member is not equal: an event without arguments hash could be any call. */
export const isSameCall = (evaluated: EvaluatedCall, made: EvaluatedCall): boolean =>
  made.tool !== null &&
  made.tool === evaluated.tool &&
  made.argumentsHash !== null &&
  made.argumentsHash === evaluated.argumentsHash &&
  (evaluated.actor === null || made.actor === evaluated.actor);

/** Latest time to record a call: the end of the decision or of its approval, plus a slack. */
export function lastUse({ approval, approvedAt, expiresMs }: DecidedCall): number {
  const approvedMs = approval === null || approvedAt === Infinity ? null : parseTimestamp(approval.expiresAt);
  return Math.max(expiresMs, approvedMs ?? 0) + limits.toolDecisionSlackSeconds * 1000;
}
