/**
 * The inputs of a risk decision in canonical form: lists are sorted, absent members have their empty form, the runId is
 * omitted. Equal inputs have equal hashes for any order of lists and any run.
 *
 *   deterministicInputsHash = SHA-256("gov.riskinputs/v1\n" || JCS({ algorithm, config, evaluationSignals,
 *                             explicitSignals, policyDecisions, quotaState }))
 *
 * Proven by `test/core/risk/inputs.test.ts` (known preimage, permutations).
 */
import type { RiskInput } from '../../contract/risk.ts';
import { compare } from '../graphs/declaration.ts';
import { sha256Text } from '../hash.ts';
import { canonicalize, type Json, type JsonObject } from '../json/parse.ts';
import { riskAlgorithm, type RiskRouter } from './config.ts';

/** The members of a risk input that affect the decision. */
export type RiskInputs = Omit<RiskInput, 'runId'>;

/** A type, not an interface, because it is committed as JSON. Members are in JCS order. */
export type CanonicalInputs = {
  readonly evaluationSignals: { signal: string; value: number }[];
  readonly explicitSignals: JsonObject;
  readonly policyDecisions: { decision: string; policyId: string; score: number }[];
  readonly quotaState: { limit?: number; remaining?: number; used?: number };
};

/** Returns the inputs in the form that is hashed, committed and decided on; canonical inputs are unchanged. */
export function canonicalInputs(input: RiskInputs): CanonicalInputs {
  const { evaluationSignals = [], explicitSignals = {}, policyDecisions = [], quotaState = {} } = input;
  const { limit, remaining, used } = quotaState;
  return {
    evaluationSignals: evaluationSignals
      .map(({ signal, value }) => ({ signal, value }))
      .sort((a, b) => compare(a.signal, b.signal) || a.value - b.value),
    explicitSignals: explicitSignals as JsonObject, // parsed JSON; `canonicalize` refuses any other value
    policyDecisions: policyDecisions
      .map(({ decision, policyId, score }) => ({ decision, policyId, score }))
      .sort(
        (a, b) => compare(a.policyId, b.policyId) || compare(a.decision, b.decision) || a.score - b.score,
      ),
    quotaState: {
      ...(limit === undefined ? {} : { limit }),
      ...(remaining === undefined ? {} : { remaining }),
      ...(used === undefined ? {} : { used }),
    },
  };
}

/** Returns the hash of the inputs with a configuration, and its preimage. Throws for a number that is not finite. */
export function riskInputsHash(
  inputs: CanonicalInputs,
  { text }: RiskRouter,
): { preimage: string; hash: string } {
  // In JCS order the members of `inputs` follow `config`.
  const rest = canonicalize(inputs as unknown as Json).slice(1); // parsed JSON
  const preimage = `gov.riskinputs/v1\n{"algorithm":"${riskAlgorithm}","config":${text},${rest}`;
  return { preimage, hash: sha256Text(preimage) };
}
