/**
 * The only way in which a policy changes. Leaf `gov.policy/1`, audit event and row are one append, and
 * changes of a project run one after the other. A crash before the store answers leaves all of it or none.
 * Where another process changed the policy in the meantime, the change is judged again with the new policy. A change of
 * another policy does not matter.
 * Proven by `test/service/policies/handlers.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { systemRun } from '../../core/events/record.ts';
import { draftPolicyChange } from '../../core/decided/policy-change.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { StoredPolicy } from '../../store/port/store.ts';
import { append } from '../writes/append.ts';
import { idempotencyWrite, type Idempotency } from '../call/idempotency.ts';
import { keepAnswer } from '../writes/keep-answer.ts';
import { notFound, type PlainAnswer, type ReplayedResponse } from '../call/answer.ts';
import { unlessOvertaken, untilStored } from '../call/overtaken.ts';
import type { DraftedChange } from '../in-force/drafted-change.ts';
import type { PoliciesInForce } from '../in-force/policies.ts';
import type { Caller } from '../call/caller.ts';
import type { Services } from '../port/services.ts';
import { policyChanged } from '../writes/system.ts';
import { requirePerson } from '../approvers/presence.ts';
import type { SignedRequest } from '../port/handler.ts';
import { loosening } from './loosening.ts';

/** The caller of a change, and its idempotency key. */
interface PolicyRequest {
  readonly caller: Caller;
  readonly idempotency: Idempotency | null;
}

/** The result of judging a request: a change and its answer, or only an answer where nothing changes. */
export interface PolicyJudgement<Answer extends PlainAnswer> {
  readonly change: DraftedChange | null;
  readonly answer: Answer;
}

/** The validator of a policy's answers (RFC 9110 §8.8.3). */
export const etag = (revision: number): { etag: string } => ({ etag: `"${revision}"` });

/**
 * Changes a policy by the judgement of `judge`, which gets the current policy. NOT_FOUND, PRECONDITION_FAILED
 * where `If-Match` names another revision, and errors of `judge`.
 */
export function changePolicy<const Answer extends PlainAnswer>(
  asking: PolicyRequest & {
    readonly params: { readonly policyId: string };
    readonly ifMatch: string | null;
    readonly request: SignedRequest;
  },
  services: Services,
  judge: (policy: StoredPolicy, atMs: number) => Promise<PolicyJudgement<Answer>>,
): Promise<Answer | ReplayedResponse> {
  const { projectId } = asking.caller.project;
  return inTurn(asking, services, async (atMs) => {
    const policy = await services.store.policy(projectId, asking.params.policyId);
    if (policy === null) throw notFound('policy');
    requireRevision(asking.ifMatch, policy.revision);
    const judgement = await judge(policy, atMs);
    if (judgement.change === null) return judgement;
    services.planeConfig?.refusePolicyChange(policy, judgement.change);
    const before = (await services.policySets.current(projectId)).set.get(policy.policyId)?.policy;
    const what = loosening(before, judgement.change.standing.active);
    if (what !== null) await requirePerson(services, asking.caller, { request: asking.request, what });
    return judgement;
  });
}

/** Like `changePolicy`, for a policy that does not exist yet. */
export function inTurn<const Answer extends PlainAnswer>(
  asking: PolicyRequest,
  services: Services,
  judge: (atMs: number) => Promise<PolicyJudgement<Answer>>,
): Promise<Answer | ReplayedResponse> {
  const { projectId } = asking.caller.project;
  // each change is an event of the system run
  return services.runs.inTurn({ projectId, runId: systemRun }, () =>
    untilStored('the policy', async () => {
      await services.runs.overtaken(projectId);
      const atMs = services.now();
      const { change, answer } = await judge(atMs);
      if (change === null) return keepAnswer(asking, services, answer);
      return unlessOvertaken(appendChange(asking, services, { change, answer, atMs }), 'CONFLICT');
    }),
  );
}

async function appendChange<Answer extends PlainAnswer>(
  { caller, idempotency }: PolicyRequest,
  services: Services,
  { change, answer, atMs }: { change: DraftedChange; answer: Answer; atMs: number },
): Promise<Answer | ReplayedResponse> {
  const { projectId } = caller.project;
  const { policySets } = services;
  const { effect, revision, standing, ...told } = change;
  const recorded = { ...told, at: formatTimestamp(atMs), actor: caller.id };
  const answered = {
    ...answer,
    headers: { ...('headers' in answer ? (answer.headers as object) : {}), ...etag(revision) },
  };
  const { policyId } = change;
  const request = {
    projectId,
    leaves: [
      draftPolicyChange(recorded, services.salt),
      policyChanged(told, { nowMs: atMs, salt: services.salt, by: caller }),
    ],
    effects: [effect],
    ...idempotencyWrite(idempotency, answered),
  };
  const appendTo = (before: PoliciesInForce | null) =>
    append(services, request, { expect: before === null ? {} : { policyIndex: before.policyIndex } });
  let stored = await policySets.change(projectId, { policyId, ...standing }, appendTo);
  // another process changed a policy: the effect compares the revision of this one, and the set is loaded again
  if ('outcome' in stored && stored.outcome === 'outdated')
    stored = await policySets.change(projectId, null, () => appendTo(null));
  return 'replayed' in stored ? stored : answered;
}

/**
 * `*`, or a list of entity tags of which one must match the policy's (RFC 9110 §13.1.1). An attacker controls
 * the header.
 */
function requireRevision(ifMatch: string | null, revision: number): void {
  if (ifMatch === null || ifMatch.trim() === '*') return;
  const current = etag(revision).etag;
  if (ifMatch.split(',').some((tag) => tag.trim() === current)) return;
  const sent = ifMatch.slice(0, limits.echoChars);
  const detail = `expected If-Match ${current}, the policy's revision, got ${sent}; read the policy again`;
  throw new GovError('PRECONDITION_FAILED', detail, { extensions: { revision } });
}
