/**
 * The moves of a policy's life cycle (contract G1-G3): the result of publish, transition and rollback for a
 * given policy, and who may make them (contract G11). Nothing here writes. Proven by
 * `test/service/policies/handlers.engines.test.ts` and `test/service/erasure/two-persons.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { PolicyStatus } from '../../contract/policy-words.ts';
import { GovError } from '../../contract/problems.ts';
import type { PolicyChangeEvent } from '../../core/decided/policy-change.ts';
import {
  publish,
  rollback,
  transition,
  type PolicyTransition,
  type PolicyLife,
} from '../../core/policies/set/lifecycle.ts';
import type { StoredPolicy, StoredPolicyVersion } from '../../store/port/store.ts';
import type { Caller } from '../call/caller.ts';
import type { PlainAnswer } from '../call/answer.ts';
import type { PolicyJudgement } from './change.ts';
import { versionOf } from '../in-force/policies.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import { isSamePrincipal } from '../call/principals.ts';

/** The policy, the caller, and the requested move. */
interface MoveRequest {
  readonly policy: StoredPolicy;
  readonly atMs: number;
  readonly caller: Caller;
  readonly reason?: string;
}

export async function publishTo(services: Services, asked: MoveRequest & { readonly version?: number }) {
  const { version = asked.policy.latestVersion } = asked;
  const life = await lifeOf(services, asked, version);
  const move = publish(life, version);
  const { activeVersion, status, previousStatus, previousVersion } = move;
  if (activeVersion === null) throw new Error('expected an active version of a published policy, got none');
  const body = { id: asked.policy.policyId, status, previousStatus, activeVersion, previousVersion };
  return judged(services, asked, { event: 'published', move, life, answer: { status: 200, body } });
}

export async function transitionTo(
  services: Services,
  asked: MoveRequest & { readonly targetStatus: PolicyStatus },
) {
  const life = await lifeOf(services, asked, null);
  const move = transition(life, asked.targetStatus);
  const { status, previousStatus } = move;
  const body = { id: asked.policy.policyId, status, previousStatus };
  return judged(services, asked, { event: 'transition', move, life, answer: { status: 200, body } });
}

export async function rollbackTo(
  services: Services,
  asked: MoveRequest & { readonly targetVersion: number },
) {
  const life = await lifeOf(services, asked, asked.targetVersion);
  const move = rollback(life, asked.targetVersion);
  const { activeVersion, status, previousVersion } = move;
  if (activeVersion === null)
    throw new Error('expected an active version of a policy that was rolled back, got none');
  const body = { id: asked.policy.policyId, activeVersion, previousVersion, status };
  return judged(services, asked, { event: 'rolled_back', move, life, answer: { status: 200, body } });
}

interface Life extends PolicyLife {
  readonly version: (version: number) => StoredPolicyVersion | undefined;
}

/**
 * The policy with the versions that a move can activate: the newest, the last active, and the requested one.
 */
async function lifeOf(
  { store }: Services,
  { policy, caller }: MoveRequest,
  askedFor: number | null,
): Promise<Life> {
  const { policyId, status, latestVersion } = policy;
  // the row of a disabled policy has no active version, only its last one
  const activeVersion = status === 'disabled' ? policy.lastActiveVersion : policy.activeVersion;
  const versions = new Map<number, StoredPolicyVersion>();
  for (const version of new Set([latestVersion, activeVersion ?? latestVersion, askedFor ?? latestVersion])) {
    const found = await store.policyVersion(caller.project.projectId, policyId, version);
    if (found !== null) versions.set(version, found);
  }
  return {
    status,
    activeVersion,
    newestVersion: latestVersion,
    version: (version) => versions.get(version),
  };
}

async function judged<const Answer extends PlainAnswer>(
  services: Services,
  { policy, atMs, caller, reason }: MoveRequest,
  result: { event: PolicyChangeEvent; move: PolicyTransition; life: Life; answer: Answer },
): Promise<PolicyJudgement<Answer>> {
  const { event, move, life, answer } = result;
  if (!move.changed) return { change: null, answer };
  const { policyId, name, revision, latestVersion } = policy;
  const { status, activeVersion, previousStatus, previousVersion } = move;
  if (status === 'active') await refuseTooManyActive(services, caller, policyId);
  const about = activeVersion ?? previousVersion ?? latestVersion;
  const versionAt = (at: number): StoredPolicyVersion => {
    const found = life.version(at);
    if (found === undefined) throw new Error(`expected version ${at} of policy ${policyId}, got none`);
    return found;
  };
  if (status === 'active') await refuseAuthor(services, caller, versionAt(about));
  const effect = {
    kind: 'movePolicy',
    policyId,
    revision,
    status,
    activeVersion: status === 'active' ? activeVersion : null,
    lastActiveVersion: activeVersion ?? previousVersion ?? policy.lastActiveVersion,
    atMs,
  } as const;
  const change = {
    policyId,
    event,
    version: about,
    policyHash: versionAt(about).policyHash,
    from: previousStatus,
    to: status,
    reason: reason ?? null,
    effect,
    revision: revision + 1,
    standing: {
      active: status === 'active' ? versionOf(versionAt(about), name) : null,
      review: status === 'review' ? versionOf(versionAt(latestVersion), name) : null,
    },
  };
  return { change, answer };
}

/** FORBIDDEN where the project requires two people and the caller wrote the version (contract G11). */
async function refuseAuthor(
  { store }: Services,
  { id, project, rules }: Caller,
  { version, createdBy }: StoredPolicyVersion,
): Promise<void> {
  if (!rules.settings.requireTwoPersonPublish) return;
  if (!(await isSamePrincipal(store, project.projectId, [id, createdBy]))) return;
  const detail =
    `expected another key or person than ${createdBy}, which wrote version ${version}, to put it in force; ` +
    'use the credential of a reviewer with scope governance:manage';
  throw new GovError('FORBIDDEN', detail, { extensions: { author: createdBy, version } });
}

/** Changes of a project are judged one after the other, so the limit is exact. */
async function refuseTooManyActive(
  { policySets }: Services,
  { project }: Caller,
  policyId: string,
): Promise<void> {
  const { set } = await policySets.current(project.projectId);
  const limit = limits.policiesActive;
  if (set.size < limit || set.get(policyId) !== undefined) return;
  const detail = `expected at most ${limit} active policies, and all are in use; disable or archive another first`;
  throw fieldError({ pointer: '/targetStatus', in: 'body', code: 'TOO_MANY', detail, limit });
}
