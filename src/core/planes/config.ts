/**
 * The plane config, the signed configuration of a data plane, `gov.bundle/1` (`docs/reference/plane-configuration.md`):
 *
 *   bundleHash = SHA-256("gov.bundle/v1" "\n" JCS(bundle))
 *   signature  = C2SP signed-note over "gov.bundle/v1" "\n" projectId "\n" bundleVersion "\n" bundleHash "\n"
 *
 * The signing key belongs to the service; the plane has it from its enrolment or from its operator. The text of a checkpoint
 * begins with its origin, so neither text can pass for the other. The plane recomputes the hashes of policies and of their
 * set instead of trusting them. Proven by `test/core/planes/config.test.ts`.
 */
import type {
  ConfiguredPolicy,
  PlaneConfigFault,
  PlaneConfigDocument,
  SignedPlaneConfig,
} from '../../contract/plane-config.ts';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { labelled } from '../hash.ts';
import {
  canonicalize,
  canonicalText,
  parseJson,
  type Json,
  type JsonBounds,
  type JsonObject,
} from '../json/parse.ts';
import { NoteError, openNote, signNote, type NoteSigner, type VerifierKey } from '../note/signed.ts';
import { engine, type Node } from '../policies/language/ast.ts';
import { canonicalCondition } from '../policies/language/canonical.ts';
import { lint } from '../policies/lint/check.ts';
import { parseCondition } from '../policies/language/parse.ts';
import { policyHash, policySetHash } from '../policies/language/hash.ts';
import { atOnce, type TimeSlicedWork } from '../policies/evaluate/time-slice.ts';
import { checkRiskConfig, riskAlgorithm, riskRouter, type RiskSettings } from '../risk/config.ts';
import { isObject } from '../json/object.ts';

const label = 'gov.bundle/v1';

/** Returns the name of the signing key of an installation with this log name. */
export const configKeyName = (logName: string): string => `${logName}/config`;

/** The refusal of a plane config, with `reason`: VALIDATION_ERROR if it is invalid, CONFLICT if it does not fit here. */
export class PlaneConfigError extends GovError {
  readonly reason: PlaneConfigFault;

  constructor(reason: PlaneConfigFault, detail: string, cause?: unknown) {
    const code = misfits.has(reason) ? 'CONFLICT' : 'VALIDATION_ERROR';
    super(code, detail, { cause, extensions: { reason } });
    this.reason = reason;
  }
}

const misfits: ReadonlySet<PlaneConfigFault> = new Set([
  'other_project',
  'outdated',
  'rewritten',
  'policy_taken',
  'policy_rewritten',
  'too_many_policies',
  'switched_off',
] as const);

/** Returns `sha256:…` of a plane config document, which is JSON by its type. Cost: linear, 100 ms for 8 MiB. */
export const planeConfigHash = (bundle: unknown): string => labelled(label, bundle as Json).hash;

const signedText = (projectId: string, bundleVersion: number, hash: string): string =>
  `${label}\n${projectId}\n${bundleVersion}\n${hash}\n`;

/** Signs a document. Ed25519 is deterministic, so equal documents have equal texts. */
export function signPlaneConfig(
  bundle: PlaneConfigDocument,
  signer: NoteSigner,
): { readonly hash: string; readonly signed: SignedPlaneConfig } {
  const hash = planeConfigHash(bundle);
  const signature = signNote(signedText(bundle.projectId, bundle.bundleVersion, hash), [signer]);
  return { hash, signed: { bundle, signature } };
}

export interface PlaneConfigTrust {
  readonly keys: readonly VerifierKey[];
  /** The project whose configuration the plane accepts. */
  readonly projectId: string;
  readonly environment: PlaneConfigDocument['environment'];
}

/** A valid plane config that a trusted key signed for this project. */
export interface OpenPlaneConfig {
  readonly bundle: PlaneConfigDocument;
  readonly hash: string;
  readonly signed: SignedPlaneConfig;
  /** Name of the key that signed. */
  readonly signedBy: string;
  /** Number of certain errors in conditions, such as one that never matches: reported, not refused. */
  readonly findings: number;
}

const bounds: JsonBounds = {
  depth: limits.planeConfigDepth,
  values: limits.planeConfigValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.stringBytes,
};

/**
 * Opens the text of a signed plane config. The bytes are attacker controlled until the signature is verified, before
 * anything else of the content is read. `fits`: returns null for a `SignedPlaneConfig`, else the reason. Throws only
 * PlaneConfigError. Cost: parsing, hashing, and 50 µs a policy.
 */
export const openPlaneConfig = (
  bytes: Uint8Array,
  trust: PlaneConfigTrust,
  fits: (value: unknown) => string | null,
): OpenPlaneConfig => atOnce(openingPlaneConfig(bytes, trust, fits));

/** The same in time slices of 5 ms after the signature is verified. */
export function* openingPlaneConfig(
  bytes: Uint8Array,
  trust: PlaneConfigTrust,
  fits: (value: unknown) => string | null,
): TimeSlicedWork<OpenPlaneConfig> {
  const { bundle: content, signature } = readSigned(bytes);
  const { projectId, bundleVersion } = content;
  const hash = planeConfigHash(content);
  const signedBy = signerOf(signature, trust.keys, signedText(`${projectId}`, Number(bundleVersion), hash));
  const fault = fits({ bundle: content, signature });
  if (fault !== null) {
    throw new PlaneConfigError(
      'unsupported',
      `expected a plane config that this release can read, got ${fault}`,
    );
  }
  const bundle = content as unknown as PlaneConfigDocument; // it fits
  requireOurs(bundle, trust);
  const findings = yield* checkPolicies(bundle);
  checkRisk(bundle);
  return { bundle, hash, signed: { bundle, signature }, signedBy, findings };
}

/** Returns a hash that identifies a text: of its document if there is one, else of the bytes. */
export function hashOfText(bytes: Uint8Array): string {
  try {
    return planeConfigHash(readSigned(bytes).bundle);
  } catch (error) {
    if (!(error instanceof PlaneConfigError)) throw error;
    return labelled(label, Buffer.from(bytes).toString('base64')).hash;
  }
}

function readSigned(bytes: Uint8Array): { readonly bundle: JsonObject; readonly signature: string } {
  if (bytes.length > limits.planeConfigBytes) {
    const limit = limits.planeConfigBytes;
    throw new PlaneConfigError(
      'over_limit',
      `expected a plane config of at most ${limit} bytes, got ${bytes.length}`,
    );
  }
  let value: Json;
  try {
    value = parseJson(bytes, bounds);
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    const reason = cause.code === 'JSON_TOO_COMPLEX' ? 'over_limit' : 'malformed';
    throw new PlaneConfigError(
      reason,
      `expected a signed plane config, got other bytes: ${cause.message}`,
      cause,
    );
  }
  const { bundle, signature } = isObject(value) ? value : {};
  const members = isObject(value) ? Object.keys(value).length : 0;
  if (members !== 2 || bundle === undefined || !isObject(bundle) || typeof signature !== 'string') {
    throw new PlaneConfigError('malformed', 'expected {"bundle": {…}, "signature": "…"}, got another value');
  }
  return { bundle, signature };
}

/** Returns the name of the trusted key that signed exactly this text. */
function signerOf(signature: string, keys: readonly VerifierKey[], text: string): string {
  try {
    const note = openNote(signature, keys);
    const [first] = note.verified;
    if (note.text === text && first !== undefined) return first.name;
  } catch (cause) {
    if (!(cause instanceof NoteError)) throw cause;
    const detail = `expected a signature by the service that this plane trusts, got ${cause.message}`;
    throw new PlaneConfigError('untrusted', detail, cause);
  }
  const detail =
    'expected a signature over this plane config, got one over another: project, version or content differ';
  throw new PlaneConfigError('untrusted', detail);
}

function requireOurs(bundle: PlaneConfigDocument, trust: PlaneConfigTrust): void {
  if (bundle.projectId !== trust.projectId || bundle.environment !== trust.environment) {
    const want = `${trust.projectId} (${trust.environment})`;
    const got = `${bundle.projectId} (${bundle.environment})`;
    throw new PlaneConfigError(
      'other_project',
      `expected the plane config of project ${want}, got that of ${got}`,
    );
  }
  if (bundle.engine !== engine) {
    throw new PlaneConfigError(
      'unsupported',
      `expected conditions of ${engine}, got ${bundle.engine}; upgrade`,
    );
  }
}

/** Number of policies that are compiled in one time slice. */
const checkedAtOnce = 100;

/** Checks that each policy has its hash, that ids ascend, and the hash of the set. Returns the number of lint errors. */
function* checkPolicies({ policies, policySetHash: claimed }: PlaneConfigDocument): TimeSlicedWork<number> {
  let before = '';
  let findings = 0;
  for (const [at, policy] of policies.entries()) {
    const { policyId, action } = policy;
    if (at % checkedAtOnce === checkedAtOnce - 1) yield;
    if (policyId <= before) {
      const detail = `expected policies in the order of their ids, each once, got ${policyId} after ${before}`;
      throw new PlaneConfigError('policy_invalid', detail);
    }
    before = policyId;
    const node = compiled(policy);
    findings += lint(node, { action }).filter(({ severity }) => severity === 'error').length;
  }
  if (policySetHash(policies) !== claimed) {
    throw new PlaneConfigError(
      'policy_invalid',
      'expected the policySetHash of these policies, got another one',
    );
  }
  return findings;
}

function compiled(policy: ConfiguredPolicy): Node {
  const { policyId, version } = policy;
  let node: Node;
  let hash: string;
  try {
    const condition = policy.condition as Json; // parsed from JSON
    node = parseCondition(condition);
    if (canonicalize(canonicalCondition(node)) !== canonicalize(condition)) {
      throw new GovError('VALIDATION_ERROR', 'expected a condition in canonical form, got another spelling');
    }
    hash = policyHash({ ...policy, condition });
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    const detail = `expected policy ${policyId} version ${version} to compile, got an error: ${cause.message}`;
    throw new PlaneConfigError('policy_invalid', detail, cause);
  }
  if (hash === policy.policyHash) return node;
  const detail = `expected policyHash ${hash} of policy ${policyId} version ${version}, got ${policy.policyHash}`;
  throw new PlaneConfigError('policy_invalid', detail);
}

function checkRisk({ riskConfig }: PlaneConfigDocument): void {
  if (riskConfig === null) return;
  const { algorithm, config } = riskConfig;
  if (algorithm !== riskAlgorithm) {
    throw new PlaneConfigError(
      'unsupported',
      `expected risk rules ${riskAlgorithm}, got ${algorithm}; upgrade`,
    );
  }
  const settings = config as RiskSettings;
  try {
    checkRiskConfig(settings);
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    throw new PlaneConfigError('risk_config_invalid', cause.message, cause);
  }
  if (riskRouter(settings).text === canonicalText(config)) return;
  throw new PlaneConfigError(
    'risk_config_invalid',
    'expected a complete risk configuration, got one with missing members',
  );
}
