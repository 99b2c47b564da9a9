/**
 * Handlers of policies, their versions and life cycle (contract G1-G4, G9).
 * `src/core/policies/set/lifecycle.ts` judges moves, `change.ts` stores them. Proven by
 * `test/service/policies/handlers.engines.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { nameOf, unsaid } from '../../contract/policy-words.ts';
import type { PolicyAction, PolicySeverity } from '../../contract/policy-words.ts';
import { GovError } from '../../contract/problems.ts';
import { typeId } from '../../core/id.ts';
import { canonicalize, type Json } from '../../core/json/parse.ts';
import { canonicalCondition } from '../../core/policies/language/canonical.ts';
import { parseCondition } from '../../core/policies/language/parse.ts';
import { policyHash } from '../../core/policies/language/hash.ts';
import type { StoredPolicy, StoredPolicyVersion } from '../../store/port/store.ts';
import { notFound } from '../call/answer.ts';
import type { Caller } from '../call/caller.ts';
import type { Handlers } from '../port/handler.ts';
import { pageLimit, sizedPage, byAge } from '../call/pages.ts';
import { changePolicy, etag, inTurn } from './change.ts';
import type { DraftedChange } from '../in-force/drafted-change.ts';
import { publishTo, rollbackTo, transitionTo } from './moves.ts';
import { versionOf } from '../in-force/policies.ts';
import { policyBody, policyBytes, versionBody, versionBytes, wholePolicy } from './view.ts';
import { fieldError } from '../call/schema.ts';
import type { Services } from '../port/services.ts';

export const policies: Pick<
  Handlers,
  | 'createPolicy'
  | 'listPolicies'
  | 'getPolicy'
  | 'listPolicyVersions'
  | 'addPolicyVersion'
  | 'publishPolicy'
  | 'transitionPolicy'
  | 'rollbackPolicy'
  | 'getPolicyInForce'
> = {
  async createPolicy(call, services) {
    const { body, caller, basePath } = call;
    const proposed = readProposed(body, '/condition');
    return inTurn(call, services, async (atMs) => {
      const policyId = body.policyId ?? typeId('pol', atMs, services.randomBytes(10));
      await refuseTaken(services, caller, policyId);
      const version = { ...newVersion(proposed, { policyId, version: 1, caller, atMs }) };
      const policy: StoredPolicy = {
        policyId,
        ...nameOf({ ...unsaid, ...body }),
        status: 'draft',
        activeVersion: null,
        lastActiveVersion: null,
        latestVersion: 1,
        revision: 1,
        createdMs: atMs,
        createdBy: caller.id,
        updatedMs: atMs,
      };
      const change: DraftedChange = {
        ...about(version),
        event: 'created',
        from: null,
        to: 'draft',
        reason: null,
        named: nameOf(policy),
        effect: { kind: 'createPolicy', policy, version },
        revision: 1,
        standing: {},
      };
      const headers = { location: `${basePath}/governance/policies/${policyId}` };
      return {
        change,
        answer: { status: 201, body: policyBody({ policy, active: null, latest: version }), headers },
      };
    });
  },

  async listPolicies({ query, caller }, services) {
    const { projectId } = caller.project;
    const filter = query.status === undefined ? {} : { status: query.status };
    const { items, nextCursor } = await sizedPage(services, {
      scope: { list: 'policies', projectId, filters: filter },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: Parameters<typeof services.store.policies>[2]) =>
        services.store.policies(projectId, filter, page),
      position: (policy) => byAge(policy.createdMs, policy.policyId),
      item: async (policy) => {
        const whole = await wholePolicy(services.store, projectId, policy);
        return { item: policyBody(whole), bytes: policyBytes(whole) };
      },
    });
    return { status: 200, body: { data: items, nextCursor } };
  },

  async getPolicy({ params, caller }, { store }) {
    const { projectId } = caller.project;
    const policy = await store.policy(projectId, params.policyId);
    if (policy === null) throw notFound('policy');
    const whole = await wholePolicy(store, projectId, policy);
    return { status: 200, body: policyBody(whole), headers: etag(policy.revision) };
  },

  async listPolicyVersions({ params, query, caller }, services) {
    const { projectId } = caller.project;
    const { policyId } = params;
    if ((await services.store.policy(projectId, policyId)) === null) throw notFound('policy');
    const { items, nextCursor } = await sizedPage(services, {
      scope: { list: 'policyVersions', projectId, filters: { policyId } },
      cursor: query.cursor,
      limit: pageLimit(query.limit, limits.pageDefault, limits.pageMax),
      read: (page: { after?: number; limit: number }) =>
        services.store.policyVersions(projectId, policyId, page),
      position: ({ version }) => version,
      item: (version) => ({ item: versionBody(version), bytes: versionBytes(version) }),
    });
    return { status: 200, body: { data: items, nextCursor } };
  },

  async addPolicyVersion(call, services) {
    const { body, caller, basePath } = call;
    const proposed = readProposed(body, '/condition');
    return changePolicy(call, services, async (policy, atMs) => {
      const { policyId, name, latestVersion, status, revision } = policy;
      if (latestVersion >= limits.policyVersions) throw tooManyVersions(policyId);
      const version = newVersion(proposed, { policyId, version: latestVersion + 1, caller, atMs });
      const change: DraftedChange = {
        ...about(version),
        event: 'version_added',
        from: status,
        to: status,
        reason: null,
        effect: { kind: 'addPolicyVersion', version, revision },
        revision: revision + 1,
        standing: status === 'review' ? { review: versionOf(version, name) } : {},
      };
      const headers = { location: `${basePath}/governance/policies/${policyId}/versions` };
      return { change, answer: { status: 201, body: versionBody(version), headers } };
    });
  },

  publishPolicy: (call, services) =>
    changePolicy(call, services, (policy, atMs) =>
      publishTo(services, { policy, atMs, caller: call.caller, ...call.body }),
    ),

  transitionPolicy: (call, services) =>
    changePolicy(call, services, (policy, atMs) =>
      transitionTo(services, { policy, atMs, caller: call.caller, ...call.body }),
    ),

  rollbackPolicy: (call, services) =>
    changePolicy(call, services, (policy, atMs) =>
      rollbackTo(services, { policy, atMs, caller: call.caller, ...call.body }),
    ),

  async getPolicyInForce({ params, caller }, services) {
    const { projectId } = caller.project;
    const { policyId } = params;
    const { set } = await services.policySets.current(projectId);
    const active = set.get(policyId);
    const proof = set.inForceProof(policyId);
    if (active === undefined || proof === undefined) throw await notInForce(services, projectId, policyId);
    const { version, policyHash: hash } = active.policy;
    return {
      status: 200,
      body: {
        policyId,
        version,
        policyHash: hash,
        policySetHash: set.policySetHash,
        index: proof.index,
        size: proof.size,
        hashes: [...proof.hashes],
      },
    };
  },
};

/** A version that a caller proposes; its condition is valid. */
interface ProposedVersion {
  readonly condition: Json;
  /** The condition in canonical form. */
  readonly normalized: Json;
  readonly action: PolicyAction;
  readonly severity: PolicySeverity | null;
  readonly requireSignedApproval: boolean;
  readonly onIndeterminate: PolicyAction | null;
}

/**
 * Reads a proposed version. VALIDATION_ERROR at `pointer` for an invalid condition. An attacker controls the
 * body.
 */
export function readProposed(
  body: {
    readonly condition: Readonly<Record<string, unknown>>;
    readonly action: PolicyAction;
    readonly severity?: PolicySeverity;
    readonly requireSignedApproval?: boolean;
    readonly onIndeterminate?: PolicyAction;
  },
  pointer: string,
): ProposedVersion {
  const condition = body.condition as Json; // a parsed body is JSON
  const normalized = canonicalCondition(parseCondition(condition, pointer));
  const { action, severity = null, requireSignedApproval = false, onIndeterminate = null } = body;
  if (requireSignedApproval && action !== 'escalate' && onIndeterminate !== 'escalate') {
    const detail = `expected requireSignedApproval only with action escalate or onIndeterminate escalate, got ${action}`;
    const at = pointer.replace(/condition$/, 'requireSignedApproval');
    throw fieldError({ pointer: at, in: 'body', code: 'NOT_ALLOWED', detail });
  }
  return { condition, normalized, action, severity, requireSignedApproval, onIndeterminate };
}

function newVersion(
  { condition, normalized, action, severity, requireSignedApproval, onIndeterminate }: ProposedVersion,
  of: { policyId: string; version: number; caller: Caller; atMs: number },
): StoredPolicyVersion {
  const { policyId, version } = of;
  return {
    policyId,
    version,
    condition: JSON.stringify(condition),
    normalized: canonicalize(normalized),
    action,
    severity,
    requireSignedApproval,
    onIndeterminate,
    policyHash: policyHash({
      policyId,
      version,
      condition: normalized,
      action,
      severity,
      requireSignedApproval,
      onIndeterminate,
    }),
    createdMs: of.atMs,
    createdBy: of.caller.id,
    published: false,
  };
}

const about = ({
  policyId,
  version,
  policyHash: hash,
}: StoredPolicyVersion): Pick<DraftedChange, 'policyId' | 'version' | 'policyHash'> => ({
  policyId,
  version,
  policyHash: hash,
});

async function refuseTaken({ store }: Services, { project }: Caller, policyId: string): Promise<void> {
  if ((await store.policy(project.projectId, policyId)) === null) return;
  const detail = `expected an unused policyId, got ${policyId}; choose another, leave it out, or add a version`;
  throw new GovError('CONFLICT', detail);
}

function tooManyVersions(policyId: string): GovError {
  const limit = limits.policyVersions;
  const detail = `expected at most ${limit} versions of policy ${policyId}; create another policy`;
  return fieldError({ pointer: '', in: 'body', code: 'TOO_MANY', detail, limit });
}

async function notInForce({ store }: Services, projectId: string, policyId: string): Promise<GovError> {
  const policy = await store.policy(projectId, policyId);
  if (policy === null) return notFound('policy');
  const detail = `expected an active policy, got one in status ${policy.status}; publish a version of it first`;
  return new GovError('NOT_FOUND', detail, { extensions: { status: policy.status } });
}
