/**
 * Layer statements: the texts whose hashes a proof carries (docs/reference/proof-format.md).
 *
 *   statement = "gov.layer/v1\n" || JCS({ layer, nonce, evidence, claims, checks: [{ id, pass }], verdict })
 *
 * Every statement of a proof has the same evidence, so layers of different runs or times cannot be combined. The
 * nonce, 16 random bytes, prevents guessing a statement by its hash. Proven by
 * `test/core/proofs/layers.test.ts` (golden statements).
 */
import { limits } from '../../contract/limits.ts';
import { labelled, sha256Text } from '../hash.ts';
import type { Json, JsonObject } from '../json/parse.ts';
import { strictObject } from '../events/run-entry.ts';
import { isCount } from '../count.ts';
import { isObject } from '../json/object.ts';

/** The part of the evidence that is about the run. */
export interface RunEvidence {
  readonly runId: string;
  /** Events of the run below the tree size. */
  readonly runEvents: number;
  /** RFC 6962 root over the leaf hashes of these events in the order of runSeq. */
  readonly runRoot: string;
  readonly firstIndex: number;
  readonly lastIndex: number;
}

/** Evidence: the run in the tree of size S of the log `origin`. */
export interface Evidence extends RunEvidence {
  readonly origin: string;
  readonly treeSize: number;
  readonly treeRoot: string;
}

export interface LayerCheck {
  readonly id: string;
  readonly pass: boolean;
}

export type LayerVerdict = 'pass' | 'fail' | 'not_run';

export interface LayerResult {
  readonly layer: string;
  readonly claims: JsonObject;
  readonly checks: readonly LayerCheck[];
  readonly verdict: LayerVerdict;
}

export interface Statement extends LayerResult {
  readonly nonce: string;
  readonly evidence: Evidence;
}

/** Returns pass if there are checks and all passed, else fail. */
export const verdictOf = (checks: readonly LayerCheck[]): LayerVerdict =>
  checks.length > 0 && checks.every(({ pass }) => pass) ? 'pass' : 'fail';

/** Returns the statement text of a layer and its hash. `nonce`: 16 random bytes, new for each statement. */
export function layerStatement(
  result: LayerResult,
  evidence: Evidence,
  nonce: Uint8Array | string,
): { preimage: string; hash: string } {
  const { layer, claims, checks, verdict } = result;
  return labelled('gov.layer/v1', {
    layer,
    nonce: typeof nonce === 'string' ? nonce : Buffer.from(nonce).toString('base64url'),
    evidence: { ...evidence },
    claims,
    checks: checks.map(({ id, pass }) => ({ id, pass })),
    verdict,
  });
}

/** Returns `sha256:…` of a statement text: the hash of the layer in a proof. */
export const statementHash = (text: string): string => sha256Text(text);

const label = 'gov.layer/v1\n';
const noncePattern = /^[A-Za-z0-9_-]{21}[AQgw]$/;
const hashPattern = /^sha256:[0-9a-f]{64}$/;

/** Reads a statement strictly; null if it is malformed. Attacker controlled; never throws. */
export function readStatement(text: string): Statement | null {
  if (!text.startsWith(label)) return null;
  const value = strictObject(text.slice(label.length));
  if (value === null || Object.keys(value).length !== 6) return null;
  const { layer, nonce, evidence, claims, checks, verdict } = value;
  if (typeof layer !== 'string' || typeof nonce !== 'string' || !noncePattern.test(nonce)) return null;
  if (!isEvidence(evidence) || !isObject(claims) || !isChecks(checks)) return null;
  if (verdict !== 'pass' && verdict !== 'fail' && verdict !== 'not_run') return null;
  // The verdict must follow from the checks: not_run without checks, pass if all passed, else fail.
  if (verdict !== (checks.length === 0 ? 'not_run' : verdictOf(checks))) return null;
  return { layer, nonce, evidence, claims, checks, verdict };
}

function isEvidence(value: Json | undefined): value is JsonObject & Evidence {
  if (!isObject(value) || Object.keys(value).length !== 8) return false;
  const { origin, treeSize, treeRoot, runId, runEvents, runRoot, firstIndex, lastIndex } = value;
  return (
    [origin, runId].every((text) => typeof text === 'string') &&
    [treeRoot, runRoot].every((hash) => typeof hash === 'string' && hashPattern.test(hash)) &&
    [treeSize, runEvents, firstIndex, lastIndex].every(isCount)
  );
}

function isChecks(value: Json | undefined): value is (JsonObject & LayerCheck)[] {
  return (
    Array.isArray(value) &&
    value.length <= limits.layers &&
    value.every(
      (check) =>
        isObject(check) &&
        Object.keys(check).length === 2 &&
        typeof check['id'] === 'string' &&
        typeof check['pass'] === 'boolean',
    )
  );
}
