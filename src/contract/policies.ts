/**
 * Policies and their life cycle (contract G1-G4, G9). `src/core/policies/set/lifecycle.ts` has the semantics.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { policyActions, policySeverities, policyStatuses } from './policy-words.ts';
import { resource } from './resource.ts';
import {
  clientId,
  exact,
  freeObject,
  nullable,
  oneOf,
  page,
  pageQuery,
  paging,
  sha256Hash,
  timestamp,
} from './shapes.ts';

const beta = { tag: 'Governance', stability: 'beta' } as const;
const specified = { ...beta, origin: 'specification' } as const;
const extension = { ...beta, origin: 'extension' } as const;

export const action = oneOf(policyActions);
export const severity = oneOf(policySeverities);
const status = oneOf(policyStatuses);
export const version = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });
export const policyId = clientId('Policy');
const condition = Type.Record(Type.String(), Type.Unknown(), {
  description: 'gov.cond/1: JsonLogic profile, match object, triple, or all/any/none; {} always matches',
});
const reason = Type.Optional(
  Type.String({ maxLength: limits.reasonChars, description: 'The reason, stored in the audit trail' }),
);
export const policyParams = exact({ policyId });

const PolicyVersion = Type.Object({
  policyId: Type.String(),
  version,
  condition: freeObject,
  normalized: Type.Unknown({ description: 'The condition in canonical form, which is hashed and evaluated' }),
  text: Type.String({ description: 'The condition in the text syntax' }),
  action,
  severity: nullable(severity),
  requireSignedApproval: Type.Boolean({
    description: 'true: what this policy escalates is approved only by the signature of an approver',
  }),
  onIndeterminate: nullable(action),
  policyHash: sha256Hash,
  createdAt: timestamp('When the version was added'),
  createdBy: Type.String(),
});
export type PolicyVersion = Static<typeof PolicyVersion>;

const Policy = Type.Object({
  id: Type.String(),
  name: Type.String(),
  description: nullable(Type.String()),
  status,
  activeVersion: nullable(version),
  latestVersion: version,
  /** Every change increments it; `If-Match` compares it. */
  revision: version,
  active: nullable(PolicyVersion),
  latest: PolicyVersion,
  createdAt: timestamp('When the policy was created'),
  createdBy: Type.String(),
  updatedAt: timestamp('When version or status last changed'),
});
export type Policy = Static<typeof Policy>;

/** A version that a client proposes or adds. */
export const proposedVersion = exact({
  condition,
  action,
  severity: Type.Optional(severity),
  requireSignedApproval: Type.Optional(
    Type.Boolean({ description: 'Only where the policy can escalate; default false' }),
  ),
  onIndeterminate: Type.Optional(
    Type.Union(action.anyOf, {
      description:
        'The decision where the condition cannot be decided. Default: the action, or escalate for allow',
    }),
  ),
});
const policy = resource({
  ...extension,
  path: '/governance/policies',
  params: policyParams,
  item: Policy,
  reads: 'governance:read',
  writes: 'governance:manage',
});

export const policies = {
  createPolicy: policy.create({
    summary: 'Create a policy: version 1, in draft',
    body: exact({
      policyId: Type.Optional(policyId),
      name: Type.String({ minLength: 1, maxLength: limits.policyNameChars }),
      description: Type.Optional(Type.String({ maxLength: limits.policyDescriptionChars })),
      ...proposedVersion.properties,
    }),
    statuses: [400, 401, 409, 500],
  }),
  listPolicies: policy.list({
    command: 'policy list',
    summary: 'List policies, newest first',
    query: exact({
      status: Type.Optional(status),
      ...paging,
    }),
    statuses: [400, 401, 500],
  }),
  getPolicy: policy.get({
    summary: 'Get a policy with its active and its newest version',
    tagged: true,
    statuses: [401, 404, 500],
  }),
  listPolicyVersions: operation({
    ...extension,
    method: 'GET',
    path: '/governance/policies/{policyId}/versions',
    scope: 'governance:read',
    command: 'policy versions',
    summary: 'List the versions of a policy, newest first',
    params: policyParams,
    query: pageQuery,
    success: { 200: page(PolicyVersion) },
    statuses: [400, 401, 404, 500],
  }),
  addPolicyVersion: operation({
    ...extension,
    method: 'POST',
    ifMatch: true,
    path: '/governance/policies/{policyId}/versions',
    scope: 'governance:manage',
    summary: 'Add the next version of a policy without changing its status',
    params: policyParams,
    body: proposedVersion,
    success: { 201: PolicyVersion },
    statuses: [400, 401, 404, 500],
  }),
  publishPolicy: operation({
    ...extension,
    method: 'POST',
    ifMatch: true,
    path: '/governance/policies/{policyId}/publish',
    scope: 'governance:manage',
    summary: 'Put a version in force, by default the newest',
    params: policyParams,
    body: exact({ version: Type.Optional(version), reason }),
    success: {
      200: Type.Object({
        id: Type.String(),
        status,
        previousStatus: status,
        activeVersion: version,
        previousVersion: nullable(version),
      }),
    },
    statuses: [400, 401, 404, 500],
  }),
  getPolicyInForce: operation({
    ...extension,
    method: 'GET',
    path: '/governance/policies/{policyId}/in-force',
    scope: 'governance:read',
    command: 'policy in-force',
    summary: 'Prove that a version of a policy is part of the active set',
    params: policyParams,
    success: {
      200: Type.Object({
        policyId: Type.String(),
        version,
        policyHash: sha256Hash,
        policySetHash: sha256Hash,
        index: Type.Integer({ minimum: 0 }),
        size: Type.Integer({ minimum: 1 }),
        hashes: Type.Array(sha256Hash),
      }),
    },
    statuses: [401, 404, 500],
  }),
  transitionPolicy: operation({
    ...specified,
    method: 'POST',
    ifMatch: true,
    path: '/governance/policies/{policyId}/transition',
    scope: 'governance:manage',
    summary: 'Move a policy to another status of its life cycle',
    params: policyParams,
    body: exact({ targetStatus: status, reason }),
    success: {
      200: Type.Object({ id: Type.String(), status, previousStatus: status }),
    },
    statuses: [400, 401, 404],
  }),
  rollbackPolicy: operation({
    ...specified,
    method: 'POST',
    ifMatch: true,
    path: '/governance/policies/{policyId}/rollback',
    scope: 'governance:manage',
    summary: 'Put an earlier version in force again',
    params: policyParams,
    body: exact({ targetVersion: version, reason }),
    success: {
      200: Type.Object({
        id: Type.String(),
        activeVersion: version,
        previousVersion: nullable(version),
        status,
      }),
    },
    statuses: [400, 401, 404],
  }),
} as const;
