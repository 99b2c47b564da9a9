/**
 * The signed configuration of a data plane, `gov.bundle/1` (docs/bundles.md):
 *
 *   bundleHash = SHA-256("gov.bundle/v1" "\n" JCS(bundle))
 *   signature  = C2SP signed-note over "gov.bundle/v1" "\n" projectId "\n" bundleVersion "\n" bundleHash "\n"
 *
 * by a key of the service that the plane was given when it was enrolled, or by its operator. The text of a checkpoint
 * begins with its origin, so that neither can be taken for the other. What follows from content alone is not believed:
 * the hashes of policies and of their set are computed anew. Proven by `test/core/plane/config.test.ts`.
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
import { engine, type Node } from '../policy/language/ast.ts';
import { canonicalCondition } from '../policy/language/canonical.ts';
import { lint } from '../policy/lint/check.ts';
import { parseCondition } from '../policy/language/parse.ts';
import { policyHash, policySetHash } from '../policy/language/hash.ts';
import { atOnce, type TimeSliced } from '../policy/evaluate/time-slice.ts';
import { checkRiskConfig, riskAlgorithm, riskRouter, type RiskSettings } from '../risk/config.ts';

const label = 'gov.bundle/v1';

/** As the key of an installation with this log name is called. */
export const configKeyName = (logName: string): string => `${logName}/config`;

/** VALIDATION_ERROR for what is no bundle, CONFLICT for one that does not fit here; both with `reason`. */
export class PlaneConfigRefused extends GovError {
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

/** `sha256:…` of a bundle. A bundle is JSON by its type. Cost: linear, 100 ms for 8 MiB. */
export const planeConfigHash = (bundle: unknown): string => labelled(label, bundle as Json).hash;

const signedText = (projectId: string, bundleVersion: number, hash: string): string =>
  `${label}\n${projectId}\n${bundleVersion}\n${hash}\n`;

/** Ed25519 signs alike each time, so equal bundles have equal texts. */
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
  /** Whose configuration is taken. */
  readonly projectId: string;
  readonly environment: PlaneConfigDocument['environment'];
}

/** A bundle that a trusted key signed for this project, and that holds together. */
export interface OpenPlaneConfig {
  readonly bundle: PlaneConfigDocument;
  readonly hash: string;
  readonly signed: SignedPlaneConfig;
  /** Name of the key that signed. */
  readonly signedBy: string;
  /** Certain faults of conditions, such as one that can never match: told, not refused. */
  readonly findings: number;
}

const bounds: JsonBounds = {
  depth: limits.planeConfigDepth,
  values: limits.planeConfigValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.stringBytes,
};

/**
 * Opens the text of a signed bundle. The bytes are an attacker's until the signature was checked, which comes before
 * anything of the content is looked at. `fits`: null where a value is a `SignedPlaneConfig`, else what is wrong with it.
 * PlaneConfigRefused; nothing else is thrown. Cost: parsing, hashing, and 50 µs a policy.
 */
export const openPlaneConfig = (
  bytes: Uint8Array,
  trust: PlaneConfigTrust,
  fits: (value: unknown) => string | null,
): OpenPlaneConfig => atOnce(openingPlaneConfig(bytes, trust, fits));

/** As above, in turns of 5 ms once the signature was checked. */
export function* openingPlaneConfig(
  bytes: Uint8Array,
  trust: PlaneConfigTrust,
  fits: (value: unknown) => string | null,
): TimeSliced<OpenPlaneConfig> {
  const { bundle: content, signature } = readSigned(bytes);
  const { projectId, bundleVersion } = content;
  const hash = planeConfigHash(content);
  const signedBy = signerOf(signature, trust.keys, signedText(`${projectId}`, Number(bundleVersion), hash));
  const fault = fits({ bundle: content, signature });
  if (fault !== null) {
    throw new PlaneConfigRefused('unsupported', `expected a bundle that this release reads, got ${fault}`);
  }
  const bundle = content as unknown as PlaneConfigDocument; // it fits
  requireOurs(bundle, trust);
  const findings = yield* checkPolicies(bundle);
  checkRisk(bundle);
  return { bundle, hash, signed: { bundle, signature }, signedBy, findings };
}

/** The hash of what came, to tell it from others: of the bundle in it where there is one, else of the bytes. */
export function hashOfText(bytes: Uint8Array): string {
  try {
    return planeConfigHash(readSigned(bytes).bundle);
  } catch (error) {
    if (!(error instanceof PlaneConfigRefused)) throw error;
    return labelled(label, Buffer.from(bytes).toString('base64')).hash;
  }
}

function readSigned(bytes: Uint8Array): { readonly bundle: JsonObject; readonly signature: string } {
  if (bytes.length > limits.planeConfigBytes) {
    const limit = limits.planeConfigBytes;
    throw new PlaneConfigRefused(
      'over_limit',
      `expected a bundle of at most ${limit} bytes, got ${bytes.length}`,
    );
  }
  let value: Json;
  try {
    value = parseJson(bytes, bounds);
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    const reason = cause.code === 'JSON_TOO_COMPLEX' ? 'over_limit' : 'malformed';
    throw new PlaneConfigRefused(
      reason,
      `expected a signed bundle, got other bytes: ${cause.message}`,
      cause,
    );
  }
  const { bundle, signature } = isObject(value) ? value : {};
  const members = isObject(value) ? Object.keys(value).length : 0;
  if (members !== 2 || bundle === undefined || !isObject(bundle) || typeof signature !== 'string') {
    throw new PlaneConfigRefused(
      'malformed',
      'expected {"bundle": {…}, "signature": "…"}, got another value',
    );
  }
  return { bundle, signature };
}

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The name of the trusted key that signed this very text. */
function signerOf(signature: string, keys: readonly VerifierKey[], text: string): string {
  try {
    const note = openNote(signature, keys);
    const [first] = note.verified;
    if (note.text === text && first !== undefined) return first.name;
  } catch (cause) {
    if (!(cause instanceof NoteError)) throw cause;
    const detail = `expected a signature of the service that this plane trusts, got ${cause.message}`;
    throw new PlaneConfigRefused('untrusted', detail, cause);
  }
  const detail =
    'expected a signature over this bundle, got one over another: project, version or content differ';
  throw new PlaneConfigRefused('untrusted', detail);
}

function requireOurs(bundle: PlaneConfigDocument, trust: PlaneConfigTrust): void {
  if (bundle.projectId !== trust.projectId || bundle.environment !== trust.environment) {
    const want = `${trust.projectId} (${trust.environment})`;
    const got = `${bundle.projectId} (${bundle.environment})`;
    throw new PlaneConfigRefused(
      'other_project',
      `expected the bundle of project ${want}, got that of ${got}`,
    );
  }
  if (bundle.engine !== engine) {
    throw new PlaneConfigRefused(
      'unsupported',
      `expected conditions of ${engine}, got ${bundle.engine}; upgrade`,
    );
  }
}

/** Policies that are compiled before others have their turn. */
const checkedAtOnce = 100;

/** That each policy compiles to what its hash says, that ids ascend, and the hash of the set. Counts lint's errors. */
function* checkPolicies({ policies, policySetHash: claimed }: PlaneConfigDocument): TimeSliced<number> {
  let before = '';
  let findings = 0;
  for (const [at, policy] of policies.entries()) {
    const { policyId, action } = policy;
    if (at % checkedAtOnce === checkedAtOnce - 1) yield;
    if (policyId <= before) {
      const detail = `expected policies in the order of their ids, each once, got ${policyId} after ${before}`;
      throw new PlaneConfigRefused('policy_invalid', detail);
    }
    before = policyId;
    const node = compiled(policy);
    findings += lint(node, { action }).filter(({ severity }) => severity === 'error').length;
  }
  if (policySetHash(policies) !== claimed) {
    throw new PlaneConfigRefused(
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
    const condition = policy.condition as Json; // it came out of a text
    node = parseCondition(condition);
    if (canonicalize(canonicalCondition(node)) !== canonicalize(condition)) {
      throw new GovError('VALIDATION_ERROR', 'its condition is not in canonical form');
    }
    hash = policyHash({ ...policy, condition });
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    const detail = `expected policy ${policyId} version ${version} to compile, but ${cause.message}`;
    throw new PlaneConfigRefused('policy_invalid', detail, cause);
  }
  if (hash === policy.policyHash) return node;
  const detail = `expected policyHash ${hash} of policy ${policyId} version ${version}, got ${policy.policyHash}`;
  throw new PlaneConfigRefused('policy_invalid', detail);
}

function checkRisk({ riskConfig }: PlaneConfigDocument): void {
  if (riskConfig === null) return;
  const { algorithm, config } = riskConfig;
  if (algorithm !== riskAlgorithm) {
    throw new PlaneConfigRefused(
      'unsupported',
      `expected risk rules ${riskAlgorithm}, got ${algorithm}; upgrade`,
    );
  }
  const settings = config as RiskSettings;
  try {
    checkRiskConfig(settings);
  } catch (cause) {
    if (!(cause instanceof GovError)) throw cause;
    throw new PlaneConfigRefused('risk_config_invalid', cause.message, cause);
  }
  if (riskRouter(settings).text === canonicalText(config)) return;
  throw new PlaneConfigRefused('risk_config_invalid', 'expected a risk configuration with nothing left out');
}
