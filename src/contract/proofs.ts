/** Compliance proofs (contract F1-F6, O10); `src/core/proofs/binding.ts` has the hashing. */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { clientId, exact, freeObject, page, paging, serviceId, sha256Hash, timestamp } from './shapes.ts';

/** The registered layers, in response order. */
export const layerNames = [
  'event_integrity',
  'causal_consistency',
  'policy_compliance',
  'decision_lineage',
  'replay_determinism',
  'log_inclusion',
  'x-coverage',
  'x-recordings',
] as const;
export type LayerName = (typeof layerNames)[number];
export const defaultLayers: readonly LayerName[] = [
  'event_integrity',
  'causal_consistency',
  'policy_compliance',
];

/** `1.0` and its alias `v1`; the service echoes the one that the client sent. */
export const schemaVersions = ['1.0', 'v1'] as const;

const Layer = Type.Object(
  { name: Type.String(), hash: sha256Hash, verified: Type.Boolean() },
  { additionalProperties: false },
);
const Commitment = Type.Object(
  {
    runId: Type.String(),
    schemaVersion: Type.String(),
    timestamp: timestamp('When the tree size was fixed'),
  },
  { additionalProperties: false },
);

export const ComplianceProof = Type.Object({
  proofId: serviceId('prf'),
  runId: Type.String(),
  schemaVersion: Type.String(),
  commitment: Commitment,
  proofHash: sha256Hash,
  layers: Type.Array(Layer),
  createdAt: timestamp('Equal to commitment.timestamp'),
});
export type ComplianceProof = Static<typeof ComplianceProof>;

const ProofRequest = exact({
  runId: clientId('The run to prove'),
  schemaVersion: Type.Optional(Type.String({ maxLength: 16, description: '1.0 (default), or its alias v1' })),
  composed: Type.Optional(
    exact({
      layers: Type.Optional(
        Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
          minItems: 1,
          maxItems: limits.layers,
          uniqueItems: true,
          description: `Layers to prove; default ${defaultLayers.join(', ')}`,
        }),
      ),
    }),
  ),
  async: Type.Optional(Type.Boolean({ description: 'true: return 202 with a jobId at once' })),
});
export type ProofRequest = Static<typeof ProofRequest>;

/** `{proofId}` alone or the whole artifact; the handler reports missing members. */
const VerifyRequest = exact({
  proofId: Type.String({ maxLength: 64 }),
  runId: Type.Optional(Type.String({ maxLength: limits.identifierChars })),
  schemaVersion: Type.Optional(Type.String({ maxLength: 16 })),
  commitment: Type.Optional(freeObject),
  proofHash: Type.Optional(Type.String({ maxLength: 128 })),
  layers: Type.Optional(Type.Array(Type.Unknown(), { maxItems: limits.layers })),
  createdAt: Type.Optional(Type.String({ maxLength: 64 })),
});

const VerifyResult = Type.Object({
  proofId: Type.String(),
  verified: Type.Boolean(),
  authentic: Type.Boolean({
    description:
      'Whether the proof is the one that the log signed, and its events are as recorded. Only a bundle shows that none is missing',
  }),
  compliant: Type.Union(
    [Type.Literal('yes'), Type.Literal('no'), Type.Literal('not_governed'), Type.Literal('not_checked')],
    { description: 'Whether the run obeyed the policies in force: the layer policy_compliance' },
  ),
  code: Type.Optional(
    Type.String({
      description: 'The reason if verified is false, such as HASH_MISMATCH or LAYER_NOT_SATISFIED',
    }),
  ),
  layers: Type.Array(
    Type.Object({
      name: Type.String(),
      passed: Type.Boolean(),
      code: Type.Optional(Type.String()),
      says: Type.Optional(
        Type.String({
          description: 'What the layer found, such as "recordings balanced: 3 of 3 files, nothing left out"',
        }),
      ),
      basis: Type.Union([Type.Literal('recomputed'), Type.Literal('attested'), Type.Literal('not_checked')]),
    }),
  ),
});
export type VerifyResult = Static<typeof VerifyResult>;

const proofParams = exact({ proofId: serviceId('prf') });

/** Header of a new proof: `checked`, or `not_checked` while the index of the log is built. */
export const completenessHeader = 'gov-completeness';

export const proofs = {
  createProof: operation({
    method: 'POST',
    path: '/proofs',
    tag: 'Compliance Proofs',
    stability: 'stable',
    origin: 'specification',
    scope: 'proofs:write',
    meters: 'compliance_proof',
    summary: 'Prove a run',
    body: ProofRequest,
    success: { 201: ComplianceProof, 202: Type.Object({ jobId: serviceId('job') }) },
    statuses: [400, 401, 429, 500],
  }),
  listProofs: operation({
    method: 'GET',
    path: '/proofs',
    tag: 'Compliance Proofs',
    stability: 'stable',
    origin: 'specification',
    scope: 'proofs:read',
    command: 'proofs list',
    summary: 'List proofs, newest first',
    query: exact({
      runId: Type.Optional(clientId('Run')),
      ...paging,
    }),
    success: { 200: page(ComplianceProof) },
    statuses: [400, 401, 500],
  }),
  verifyProof: operation({
    method: 'POST',
    path: '/proofs/verify',
    tag: 'Compliance Proofs',
    stability: 'stable',
    origin: 'specification',
    scope: 'proofs:read',
    summary: 'Verify a stored proof, or an artifact against the log',
    body: VerifyRequest,
    success: { 200: VerifyResult },
    statuses: [400, 401, 500],
  }),
  getProof: operation({
    method: 'GET',
    path: '/proofs/{proofId}',
    tag: 'Compliance Proofs',
    stability: 'stable',
    origin: 'specification',
    scope: 'proofs:read',
    summary: 'Get one proof',
    params: proofParams,
    success: { 200: ComplianceProof },
    statuses: [401, 404, 500],
  }),
  getProofBundle: operation({
    method: 'GET',
    path: '/proofs/{proofId}/bundle',
    tag: 'Compliance Proofs',
    stability: 'beta',
    origin: 'extension',
    scope: 'proofs:read',
    summary: 'Get a bundle to verify a proof offline',
    params: proofParams,
    query: exact({
      events: Type.Optional(
        Type.Union([Type.Literal('none'), Type.Literal('records'), Type.Literal('disclosed')], {
          description:
            'Events in the bundle: none, records (hashes only, the default up to 10,000 events) or disclosed. A bundle has at most 1 GiB',
        }),
      ),
      completeness: Type.Optional(
        Type.Boolean({
          description:
            'false: leave out what shows that no event is missing, for a verifier of bundles of version 1; default true',
        }),
      ),
      attestation: Type.Optional(
        Type.Boolean({
          description: 'true: add a DSSE envelope signed by the attestation key; default false',
        }),
      ),
    }),
    success: { 200: freeObject },
    statuses: [400, 401, 404, 500],
  }),
} as const;
