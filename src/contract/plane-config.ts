/**
 * The plane config: policies in force, risk router configuration and redaction keys, as one signed, versioned document.
 * A service makes it for the data planes of a project; a plane applies all of it or nothing.
 * `src/core/planes/config.ts` defines the signed text.
 */
import { Type } from 'typebox';
import type { Static } from 'typebox';
import { environments } from './auth-words.ts';
import { limits } from './limits.ts';
import { operation } from './operation.ts';
import { action, policyId, severity, version } from './policies.ts';
import { contentCaptures, redactionKeys } from './projects.ts';
import { RiskConfigInput, riskSignal } from './risk.ts';
import { exact, nullable, oneOf, serviceId, sha256Hash, timestamp } from './shapes.ts';

export const planeConfigSchema = 'gov.bundle/1';

const ConfiguredPolicy = exact({
  policyId,
  version,
  name: Type.String({ minLength: 1, maxLength: limits.policyNameChars }),
  description: nullable(Type.String({ maxLength: limits.policyDescriptionChars })),
  condition: Type.Unknown({ description: 'In canonical form, which is hashed and evaluated' }),
  action,
  severity: nullable(severity),
  /** Only if the version sets it: older planes refuse a document with it. */
  requireSignedApproval: Type.Optional(Type.Literal(true)),
  /** The same. */
  onIndeterminate: Type.Optional(action),
  policyHash: sha256Hash,
});
export type ConfiguredPolicy = Static<typeof ConfiguredPolicy>;

const { mode, thresholds, defaultAction } = RiskConfigInput.properties;

export const PlaneConfigDocument = exact({
  schemaVersion: Type.Literal(planeConfigSchema),
  bundleVersion: Type.Integer({
    minimum: 1,
    maximum: Number.MAX_SAFE_INTEGER,
    description: 'Increases with each change of the project; numbers may be skipped',
  }),
  projectId: serviceId('prj'),
  environment: oneOf(environments),
  issuedAt: timestamp('When its content was last changed'),
  engine: Type.String({
    maxLength: limits.identifierChars,
    description: 'Version of the condition language',
  }),
  policies: Type.Array(ConfiguredPolicy, {
    maxItems: limits.policiesActive,
    description: 'Policies in force, in the order of their ids',
  }),
  policySetHash: sha256Hash,
  riskConfig: nullable(
    exact({
      algorithm: Type.String({ maxLength: limits.identifierChars }),
      config: exact({
        mode,
        thresholds,
        defaultAction,
        signals: Type.Record(Type.String(), riskSignal, { maxProperties: limits.riskItems }),
      }),
    }),
  ),
  settings: exact({
    redactionKeys,
    /** Only if the project sets it: older planes refuse a document with it. */
    contentCapture: Type.Optional(oneOf(contentCaptures)),
  }),
});
export type PlaneConfigDocument = Static<typeof PlaneConfigDocument>;

const signature = Type.String({
  maxLength: limits.checkpointNoteChars,
  description: 'C2SP signed note over project, version and hash, signed by the service',
});
export const SignedPlaneConfig = exact({ bundle: PlaneConfigDocument, signature });
export type SignedPlaneConfig = Static<typeof SignedPlaneConfig>;

/** Whether plane and service versions fit: a service supports planes of its own minor version and the two before. */
const planeSupports = ['supported', 'old', 'newer', 'unknown'] as const;
export type PlaneSupport = (typeof planeSupports)[number];

const TelemetryConfig = Type.Object({
  bundleVersion: version,
  bundleHash: sha256Hash,
  signed: nullable(SignedPlaneConfig),
  serviceVersion: Type.String(),
  planeSupport: oneOf(planeSupports),
  oldestPlane: Type.String({
    description: 'The oldest plane version that this service supports',
  }),
  serverTime: timestamp('Time of the service'),
});
export type TelemetryConfig = Static<typeof TelemetryConfig>;

/** Reasons why a plane refuses a plane config: it applies nothing, and the config in force stays. */
export const planeConfigFaults = [
  'malformed',
  'over_limit',
  'untrusted',
  'unsupported',
  'other_project',
  'outdated',
  'rewritten',
  'policy_invalid',
  'policy_taken',
  'policy_rewritten',
  'too_many_policies',
  'risk_config_invalid',
  'switched_off',
] as const;
export type PlaneConfigFault = (typeof planeConfigFaults)[number];

const bundleSources = ['service', 'file'] as const;
export type PlaneConfigSource = (typeof bundleSources)[number];

export const policyModes = ['beside', 'service', 'off'] as const;
export type PolicyMode = (typeof policyModes)[number];

const Refusal = Type.Object({
  reason: oneOf(planeConfigFaults),
  detail: Type.String(),
  bundleHash: sha256Hash,
  since: timestamp('When the plane first refused it'),
});

const CaptureInForce = Type.Object({
  value: oneOf(contentCaptures),
  from: oneOf(['default', 'plane.json', 'service']),
});
export type CaptureInForce = Static<typeof CaptureInForce>;

const HeldPlaneConfig = Type.Object({
  bundleVersion: version,
  bundleHash: sha256Hash,
  signed: nullable(SignedPlaneConfig),
  verifierKey: nullable(Type.String({ description: 'At a service: the key that checks its configurations' })),
  /** Null at a service, which makes plane configs and applies none. */
  plane: nullable(
    Type.Object({
      mode: oneOf(policyModes),
      appliedAt: timestamp('When it was applied'),
      from: oneOf(bundleSources),
      refused: nullable(Refusal),
      contentCapture: CaptureInForce,
    }),
  ),
});
export type HeldPlaneConfig = Static<typeof HeldPlaneConfig>;

const PlaneConfigResult = Type.Object({
  bundleVersion: version,
  bundleHash: sha256Hash,
  applied: Type.Boolean({ description: 'false: it was in force already' }),
  added: Type.Integer({ minimum: 0 }),
  changed: Type.Integer({ minimum: 0 }),
  archived: Type.Integer({ minimum: 0 }),
  unchanged: Type.Integer({ minimum: 0 }),
  riskConfig: Type.Boolean({ description: 'Whether the configuration of the risk router changed' }),
  findings: Type.Integer({ minimum: 0, description: 'Errors that lint finds in its conditions' }),
});
export type PlaneConfigResult = Static<typeof PlaneConfigResult>;

const beta = { stability: 'beta', origin: 'extension' } as const;

export const planeConfig = {
  getTelemetryConfig: operation({
    ...beta,
    tag: 'Hybrid Telemetry',
    access: 'plane',
    scope: 'telemetry:write',
    method: 'GET',
    path: '/telemetry/config',
    summary: 'Get the signed configuration of the calling data plane if it has another one',
    query: exact({
      current: Type.Optional(sha256Hash),
      planeVersion: Type.Optional(
        Type.String({ maxLength: limits.versionChars, description: 'Release of the plane' }),
      ),
    }),
    success: { 200: TelemetryConfig },
    statuses: [400, 401, 409, 500],
  }),
  getConfigBundle: operation({
    ...beta,
    tag: 'Governance',
    scope: 'telemetry:manage',
    method: 'GET',
    path: '/governance/bundle',
    summary: 'Get the signed configuration: of the project at a service, or in force at a plane',
    success: { 200: HeldPlaneConfig },
    statuses: [401, 404, 409, 500],
  }),
  applyConfigBundle: operation({
    ...beta,
    tag: 'Governance',
    scope: 'telemetry:manage',
    method: 'POST',
    path: '/governance/bundle',
    summary: 'Apply a signed configuration from a file at a data plane',
    body: exact({
      parts: Type.Array(Type.String({ maxLength: limits.planeConfigPartChars }), {
        minItems: 1,
        maxItems: limits.planeConfigParts,
        description: 'Text of the file in parts, so that its numbers stay as they were signed',
      }),
      older: Type.Optional(
        Type.Boolean({
          description:
            'true: apply it although a later version is in force, after the service was restored from a backup',
        }),
      ),
    }),
    bodyBytes: limits.planeConfigBodyBytes,
    success: { 200: PlaneConfigResult },
    statuses: [400, 401, 403, 409, 500],
  }),
} as const;
