/**
 * The approval of an escalated tool call (contract O9, M10). A call that is evaluated again gets the approval
 * that it has: the open one, a person's denial, or, once, the permission. The proxy joins the permission that the hook of the
 * same call used (`joins.ts`). One append records the evaluation
 * with what it did to the approval. Where another evaluation was faster, the store refuses, and the
 * evaluation runs again. Proven by `test/service/approvals/call.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { GovError } from '../../contract/problems.ts';
import { draftUse } from '../../core/decided/approval.ts';
import { argumentsHash, escalationReason, type Evaluation } from '../../core/decided/evaluation.ts';
import { subjectOf } from '../../core/decided/subject.ts';
import { typeId } from '../../core/id.ts';
import { isObject } from '../../core/json/object.ts';
import { canonicalize, type JsonObject } from '../../core/json/parse.ts';
import type { PolicyInput } from '../../core/policies/evaluate/compile.ts';
import type { PolicySet } from '../../core/policies/set/in-force.ts';
import type { LeafDraft } from '../../core/events/record.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredApproval } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import { expiryTime } from '../call/log-time.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import type { PlainEffect } from '../writes/append.ts';
import { joinOf, offeredJoin, type GovernedCall, type Join, type JoinChange } from './joins.ts';
import { loggedApproval, type LoggedApproval } from './logged.ts';

/** The approval of an escalation, and what the evaluation does with it. */
export type CallApproval =
  | { readonly does: 'opens'; readonly stored: StoredApproval; readonly newest: string | null }
  /** Waits for a decision, or was denied. */
  | { readonly does: 'waits' | 'is denied'; readonly stored: StoredApproval }
  /** Uses the permission. `offered`: keeps it for the second gate of the call. */
  | { readonly does: 'uses'; readonly stored: StoredApproval; readonly offered: JoinChange | null }
  | { readonly does: 'joins'; readonly stored: StoredApproval; readonly join: Join };

/** The escalated evaluation. */
interface EscalatedCall {
  readonly evaluation: Evaluation;
  readonly evaluatedMs: number;
  /** The policies that decided it. */
  readonly set: PolicySet;
}

/**
 * The approval of an escalation. Only tool calls have approvals that later evaluations find.
 * VALIDATION_ERROR where the caller names an approval that is not one of this call, or can no longer be used.
 */
export async function callApproval(
  services: Services,
  asked: GovernedCall,
  escalated: EscalatedCall,
): Promise<CallApproval> {
  const { caller, source, approvalId: named } = asked;
  const { evaluation, evaluatedMs, set } = escalated;
  if (source !== 'tool') return opened(services, asked, { escalated, callKey: null, newest: null });
  const { projectId } = caller.project;
  const join = await joinOf(services, asked, evaluation);
  if (join !== null) return { does: 'joins', stored: join.approval, join };
  const asking = { ...evaluation, principal: caller.id };
  const callKey = services.fingerprint(canonicalize(callOf(asking, set)));
  const newest = await services.store.approvalOfCall(projectId, callKey);
  const found = newest ?? (await olderApproval(services, projectId, olderCallOf(asking, set)));
  const atMs = found === null ? evaluatedMs : await expiryTime(services, projectId);
  const current = isOver(found, atMs)
    ? null
    : await loggedApproval(services.store, caller.project, found.approvalId);
  const isSame = current !== null && differing(asking, current, set)?.length === 0;
  if (named !== undefined && !(isSame && current.approvalId === named)) {
    throw await unusable(services, { project: caller.project, named, atMs, asking, set });
  }
  if (!isSame) return opened(services, asked, { escalated, callKey, newest: newest?.approvalId ?? null });
  const does = standing(current);
  if (does !== 'uses') return { does, stored: current };
  return {
    does,
    stored: current,
    offered: await offeredJoin(services, asked, { approval: current, evaluation }),
  };
}

/** The approval that an older release opened for this call. */
const olderApproval = (
  { store, fingerprint }: Services,
  projectId: string,
  call: JsonObject,
): Promise<StoredApproval | null> => store.approvalOfCall(projectId, fingerprint(canonicalize(call)));

/** Whether an approval has no meaning for a later evaluation: none there, used, or expired. */
const isOver = (row: StoredApproval | null, atMs: number): row is null =>
  row === null || row.used !== null || atMs >= row.expiresMs;

function standing({ decision }: StoredApproval): 'waits' | 'is denied' | 'uses' {
  if (decision === null) return 'waits';
  return decision.outcome === 'approved' ? 'uses' : 'is denied';
}

type AskingCall = Pick<Evaluation, 'runId' | 'policyIds' | 'policySetHash' | 'checkpoint'> & {
  readonly principal: string;
};

const contextOf = ({ checkpoint }: AskingCall): JsonObject => {
  const context = checkpoint?.['context'];
  return isObject(context) ? context : {};
};

/**
 * What an approval is bound to (contract O29). Of the context it is what the policies read: a member that no policy reads may
 * change from one evaluation to the next, and so may the actor, and how a model describes the call.
 */
function callOf(asking: AskingCall, set: PolicySet): JsonObject {
  const { tool, arguments: given, cwd } = subjectOf(contextOf(asking));
  const { name: _name, server: _server, ...definition } = objectIn(contextOf(asking), 'tool');
  return {
    ...sharedMembers(asking, set),
    tool,
    arguments: given === null ? null : argumentsHash(given).hash,
    cwd,
    definition,
  };
}

/** What an approval of an older release is bound to. */
function olderCallOf(asking: AskingCall, set: PolicySet): JsonObject {
  const { tool = null, arguments: given = null, actor = null } = contextOf(asking);
  return {
    ...sharedMembers(asking, set),
    tool,
    arguments: isObject(given) ? argumentsHash(given).hash : null,
    actor,
  };
}

function sharedMembers(asking: AskingCall, set: PolicySet): JsonObject {
  const { principal, runId, policyIds, policySetHash, checkpoint } = asking;
  return {
    principal,
    run: runId,
    policies: { policySetHash, policyIds: policyIds === null ? null : [...policyIds] },
    context: set.readSet.retain(checkpoint as unknown as PolicyInput) as unknown as JsonObject,
  };
}

const objectIn = (value: JsonObject, name: string): JsonObject => {
  const member = value[name];
  return isObject(member) ? member : {};
};

/** The members in which the approved call differs from this one; null where the approved one was erased. */
function differing(
  asking: AskingCall,
  { evaluation, requestedBy }: LoggedApproval,
  set: PolicySet,
): string[] | null {
  if (evaluation.checkpoint === null) return null;
  const bound = evaluation.approval?.binding === undefined ? olderCallOf : callOf;
  const call = bound(asking, set);
  const approved = bound({ ...evaluation, principal: requestedBy }, set);
  const changed = Object.keys(call).filter(
    (name) => canonicalize(call[name] ?? null) !== canonicalize(approved[name] ?? null),
  );
  // the context also shows the other members
  return changed.length > 1 ? changed.filter((name) => name !== 'context') : changed;
}

/** VALIDATION_ERROR that says why the named approval cannot let this call run. */
async function unusable(
  { store }: Services,
  of: { project: Caller['project']; named: string; atMs: number; asking: AskingCall; set: PolicySet },
): Promise<GovError> {
  const { project, named, atMs, asking, set } = of;
  const approval = await loggedApproval(store, project, named);
  const changed = approval === null ? [] : differing(asking, approval, set);
  const { used = null, expiresMs = 0 } = approval ?? {};
  const got =
    approval === null
      ? 'which is not an approval of this project'
      : changed === null
        ? 'whose call was erased'
        : changed.length > 0
          ? `which is of another call: ${changed.join(', ')} changed`
          : used !== null
            ? `used by ${used.evaluationId} at ${formatTimestamp(used.atMs)}`
            : atMs >= expiresMs
              ? `expired at ${formatTimestamp(expiresMs)}`
              : 'after which another one was opened';
  const detail = `expected an approval of this call that can still be used, got ${named}, ${got}; evaluate without approvalId to ask again`;
  return fieldError({ pointer: '/approvalId', in: 'body', code: 'NOT_USABLE', detail });
}

/** A new approval. */
function opened(
  { randomBytes }: Services,
  { caller, runId }: GovernedCall,
  of: { escalated: EscalatedCall; callKey: string | null; newest: string | null },
): CallApproval {
  const { escalated, callKey, newest } = of;
  const { evaluation, evaluatedMs } = escalated;
  const stored: StoredApproval = {
    approvalId: typeId('apr', evaluatedMs, randomBytes(10)),
    evaluationId: evaluation.id,
    runId,
    reason: escalationReason(evaluation.decisions),
    requestedMs: evaluatedMs,
    requestedBy: caller.id,
    expiresMs: evaluatedMs + limits.approvalHours * 3_600_000,
    decision: null,
    callKey,
    used: null,
  };
  return { does: 'opens', stored, newest };
}

/** What the append of the evaluation does with its approval. */
export function approvalWrites(
  approval: CallApproval | null,
  { evaluation, evaluatedMs }: Pick<EscalatedCall, 'evaluation' | 'evaluatedMs'>,
): { readonly leaves: readonly LeafDraft[]; readonly effects: readonly PlainEffect[] } {
  if (approval?.does === 'opens') {
    const { stored, newest } = approval;
    return { leaves: [], effects: [{ kind: 'openApproval', approval: stored, newest }] };
  }
  if (approval?.does !== 'uses' && approval?.does !== 'joins') return { leaves: [], effects: [] };
  const { approvalId, runId } = approval.stored;
  const { id: evaluationId, evaluatedAt: at } = evaluation;
  if (approval.does === 'joins') {
    const { first, change } = approval.join;
    return { leaves: [draftUse({ id: first, runId, evaluationId, at })], effects: [change] };
  }
  const { offered } = approval;
  return {
    leaves: [draftUse({ id: approvalId, runId, evaluationId, at })],
    effects: [
      { kind: 'useApproval', approvalId, evaluationId, atMs: evaluatedMs },
      ...(offered === null ? [] : [offered]),
    ],
  };
}
