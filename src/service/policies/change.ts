/**
 * The one way in which a policy changes: leaf `gov.policy/1`, audit event and row in one append, one change of a
 * project after the other. A crash before the store answers leaves all of it or none. Where another process
 * changed the policy meanwhile, the change is judged again from how the policy then stands.
 * Proven by `test/service/policies/handlers.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { PolicyStatus } from '../../contract/policy-words.ts';
import { GovError } from '../../contract/problems.ts';
import { systemRun } from '../../core/event/record.ts';
import {
  draftPolicyChange,
  type PolicyChangeEvent,
  type PolicyName,
} from '../../core/decided/policy-change.ts';
import { formatTimestamp } from '../../core/time.ts';
import type { GovernanceEffect, StoredPolicy } from '../../store/port/store.ts';
import { appendOrStale, unmetered } from '../events/append.ts';
import {
  idempotencyWrite,
  keepAnswer,
  notFound,
  type Caller,
  type Idempotency,
  type PlainAnswer,
  type Replayed,
} from '../call/handler.ts';
import type { Standing } from './in-force.ts';
import type { Services } from '../dependencies.ts';
import { policyChanged } from '../system.ts';

const attempts = 5;

/** Who asks for a change, and what holds it back. */
export interface Asking {
  readonly caller: Caller;
  readonly idempotency: Idempotency | null;
}

/** What is appended. */
export interface Change {
  readonly policyId: string;
  readonly event: PolicyChangeEvent;
  /** The version that the change is about. */
  readonly version: number;
  readonly policyHash: string;
  readonly from: PolicyStatus | null;
  readonly to: PolicyStatus;
  readonly reason: string | null;
  /** Where the policy is created. */
  readonly named?: PolicyName;
  readonly effect: Exclude<GovernanceEffect, { kind: 'decideApproval' }>;
  /** Of the policy after it. */
  readonly revision: number;
  readonly standing: Omit<Standing, 'policyId'>;
}

/** What a request comes to: a change and its answer, or an answer alone where everything is as asked already. */
export interface Judgement<Answer extends PlainAnswer> {
  readonly change: Change | null;
  readonly answer: Answer;
}

/** The validator of a policy's answers (RFC 9110 §8.8.3). */
export const etag = (revision: number): { etag: string } => ({ etag: `"${revision}"` });

/**
 * Changes a policy as `judge` says, which sees it as it stands. NOT_FOUND, PRECONDITION_FAILED where `If-Match`
 * names another revision, and what `judge` throws.
 */
export function changePolicy<const Answer extends PlainAnswer>(
  asking: Asking & { readonly params: { readonly policyId: string }; readonly ifMatch: string | null },
  services: Services,
  judge: (policy: StoredPolicy, atMs: number) => Promise<Judgement<Answer>>,
): Promise<Answer | Replayed> {
  const { projectId } = asking.caller.project;
  return inTurn(asking, services, async (atMs) => {
    const policy = await services.store.policy(projectId, asking.params.policyId);
    if (policy === null) throw notFound('policy');
    requireRevision(asking.ifMatch, policy.revision);
    const judgement = await judge(policy, atMs);
    if (judgement.change !== null) services.planeConfig?.refusePolicyChange(policy, judgement.change);
    return judgement;
  });
}

/** As above, for a policy that is not there yet. */
export function inTurn<const Answer extends PlainAnswer>(
  asking: Asking,
  services: Services,
  judge: (atMs: number) => Promise<Judgement<Answer>>,
): Promise<Answer | Replayed> {
  const { projectId } = asking.caller.project;
  // each change is an event of the system run
  return services.runs.inTurn({ projectId, runId: systemRun }, async () => {
    for (let attempt = 1; ; attempt++) {
      const atMs = services.now();
      const { change, answer } = await judge(atMs);
      if (change === null) return keepAnswer(asking, services, answer);
      try {
        const stored = await appendChange(asking, services, { change, answer, atMs });
        if (stored !== null) return stored;
        if (attempt === attempts) throw busy(change.policyId);
      } catch (error) {
        const changedMeanwhile = error instanceof GovError && error.code === 'CONFLICT';
        if (!changedMeanwhile) throw error;
        if (attempt === attempts) throw busy(change.policyId, error);
      }
    }
  });
}

const busy = (policyId: string, cause?: unknown): GovError =>
  new GovError('OVERLOADED', `policy ${policyId} kept changing meanwhile; repeat later`, {
    cause,
    retryAfterSeconds: limits.overloadRetrySeconds,
  });

/** Null where another process changed a policy meanwhile. */
async function appendChange<Answer extends PlainAnswer>(
  { caller, idempotency }: Asking,
  services: Services,
  { change, answer, atMs }: { change: Change; answer: Answer; atMs: number },
): Promise<Answer | Replayed | null> {
  const { projectId } = caller.project;
  const { effect, revision, standing, ...told } = change;
  const recorded = { ...told, at: formatTimestamp(atMs), actor: caller.id };
  const answered = {
    ...answer,
    headers: { ...('headers' in answer ? (answer.headers as object) : {}), ...etag(revision) },
  };
  const { policyId } = change;
  const stored = await services.policySets.change(projectId, { policyId, ...standing }, (before) =>
    appendOrStale(services, {
      projectId,
      leaves: [
        draftPolicyChange(recorded, services.salt),
        policyChanged(told, { nowMs: atMs, salt: services.salt, by: caller }),
      ],
      meter: unmetered,
      ...(before === null ? {} : { inForce: { policyIndex: before.policyIndex } }),
      effects: [effect],
      ...idempotencyWrite(idempotency, answered),
    }),
  );
  if ('replayed' in stored) return stored;
  return stored.outcome === 'stored' ? answered : null;
}

/** `*`, or a list of entity tags of which one must be the policy's (RFC 9110 §13.1.1). The header is an attacker's. */
function requireRevision(ifMatch: string | null, revision: number): void {
  if (ifMatch === null || ifMatch.trim() === '*') return;
  const current = etag(revision).etag;
  if (ifMatch.split(',').some((tag) => tag.trim() === current)) return;
  const sent = ifMatch.slice(0, limits.echoChars);
  const detail = `expected If-Match ${current}, the policy's revision, got ${sent}; read the policy again`;
  throw new GovError('PRECONDITION_FAILED', detail, { extensions: { revision } });
}
