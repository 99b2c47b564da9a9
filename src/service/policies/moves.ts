/**
 * The moves of a policy's life cycle (interface §3.1; contract G1-G3): what publish, transition and rollback come
 * to, from how the policy stands, and who may make it (contract G11). Nothing here writes. Proven by
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
  type Move,
  type PolicyLife,
} from '../../core/policy/set/lifecycle.ts';
import type { StoredPolicy, StoredPolicyVersion } from '../../store/port/store.ts';
import type { Caller, PlainAnswer } from '../call/handler.ts';
import type { Judgement } from './change.ts';
import { versionOf } from './in-force.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../dependencies.ts';
import { isSamePrincipal } from '../access/principals.ts';

/** The policy as it stands, and who asks for what. */
interface Asked {
  readonly policy: StoredPolicy;
  readonly atMs: number;
  readonly caller: Caller;
  readonly reason?: string;
}

export async function publishTo(services: Services, asked: Asked & { readonly version?: number }) {
  const { version = asked.policy.latestVersion } = asked;
  const life = await lifeOf(services, asked, version);
  const move = publish(life, version);
  const { activeVersion, status, previousStatus, previousVersion } = move;
  if (activeVersion === null) throw new Error('a published policy has no active version');
  const body = { id: asked.policy.policyId, status, previousStatus, activeVersion, previousVersion };
  return judged(services, asked, { event: 'published', move, life, answer: { status: 200, body } });
}

export async function transitionTo(
  services: Services,
  asked: Asked & { readonly targetStatus: PolicyStatus },
) {
  const life = await lifeOf(services, asked, null);
  const move = transition(life, asked.targetStatus);
  const { status, previousStatus } = move;
  const body = { id: asked.policy.policyId, status, previousStatus };
  return judged(services, asked, { event: 'transition', move, life, answer: { status: 200, body } });
}

export async function rollbackTo(services: Services, asked: Asked & { readonly targetVersion: number }) {
  const life = await lifeOf(services, asked, asked.targetVersion);
  const move = rollback(life, asked.targetVersion);
  const { activeVersion, status, previousVersion } = move;
  if (activeVersion === null) throw new Error('a policy that was rolled back has no active version');
  const body = { id: asked.policy.policyId, activeVersion, previousVersion, status };
  return judged(services, asked, { event: 'rolled_back', move, life, answer: { status: 200, body } });
}

interface Life extends PolicyLife {
  readonly version: (version: number) => StoredPolicyVersion | undefined;
}

/** With the versions that a move can lead to: the newest, the one that was active last, the one asked for. */
async function lifeOf(
  { store }: Services,
  { policy, caller }: Asked,
  askedFor: number | null,
): Promise<Life> {
  const { policyId, status, latestVersion } = policy;
  // the row of a disabled policy has none in force, and remembers the one that was
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
  { policy, atMs, caller, reason }: Asked,
  result: { event: PolicyChangeEvent; move: Move; life: Life; answer: Answer },
): Promise<Judgement<Answer>> {
  const { event, move, life, answer } = result;
  if (!move.changed) return { change: null, answer };
  const { policyId, name, revision, latestVersion } = policy;
  const { status, activeVersion, previousStatus, previousVersion } = move;
  if (status === 'active') await refuseTooManyActive(services, caller, policyId);
  const about = activeVersion ?? previousVersion ?? latestVersion;
  const versionAt = (at: number): StoredPolicyVersion => {
    const found = life.version(at);
    if (found === undefined) throw new Error(`policy ${policyId} has no version ${at}`);
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

/** FORBIDDEN where the project asks for two people, and whoever puts a version in force wrote it (contract G11). */
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

/** Changes of a project are judged one after the other, so the bound is exact. */
async function refuseTooManyActive(
  { policySets }: Services,
  { project }: Caller,
  policyId: string,
): Promise<void> {
  const { set } = await policySets.current(project.projectId);
  const limit = limits.policiesActive;
  if (set.size < limit || set.get(policyId) !== undefined) return;
  const detail = `expected at most ${limit} active policies, and there are so many; disable or archive another first`;
  throw fieldError({ pointer: '/targetStatus', in: 'body', code: 'TOO_MANY', detail, limit });
}
