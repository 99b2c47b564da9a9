/**
 * What a risk decision was made of, in one canonical form: lists sorted, what is absent as its empty form, the
 * runId left out, so that equal inputs have equal hashes whatever order they came in and whichever run asks.
 *
 *   deterministicInputsHash = SHA-256("gov.riskinputs/v1\n" || JCS({ algorithm, config, evaluationSignals,
 *                             explicitSignals, policyDecisions, quotaState }))
 *
 * Proven by `test/core/risk/inputs.test.ts` (known preimage, permutations).
 */
import type { RiskInput } from '../../contract/risk.ts';
import { compare } from '../graph/declaration.ts';
import { sha256Text } from '../hash.ts';
import { canonicalize, type Json, type JsonObject } from '../json/parse.ts';
import { riskAlgorithm, type RiskRouter } from './config.ts';

/** The members of a risk input that count. */
export type RiskInputs = Omit<RiskInput, 'runId'>;

/** A type and not an interface, because it is committed as JSON. Members stand in the order of JCS. */
export type CanonicalInputs = {
  readonly evaluationSignals: { signal: string; value: number }[];
  readonly explicitSignals: JsonObject;
  readonly policyDecisions: { decision: string; policyId: string; score: number }[];
  readonly quotaState: { limit?: number; remaining?: number; used?: number };
};

/** The inputs as they are hashed, committed and decided on; canonical inputs come back as they are. */
export function canonicalInputs(input: RiskInputs): CanonicalInputs {
  const { evaluationSignals = [], explicitSignals = {}, policyDecisions = [], quotaState = {} } = input;
  const { limit, remaining, used } = quotaState;
  return {
    evaluationSignals: evaluationSignals
      .map(({ signal, value }) => ({ signal, value }))
      .sort((a, b) => compare(a.signal, b.signal) || a.value - b.value),
    explicitSignals: explicitSignals as JsonObject, // parsed JSON: what is not is refused by `canonicalize`
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

/** The hash of the inputs under a configuration, and its preimage. Throws where a number is not finite. */
export function riskInputsHash(
  inputs: CanonicalInputs,
  { text }: RiskRouter,
): { preimage: string; hash: string } {
  // the names of `inputs` follow `config` in the order of JCS
  const rest = canonicalize(inputs as unknown as Json).slice(1); // parsed JSON, as above
  const preimage = `gov.riskinputs/v1\n{"algorithm":"${riskAlgorithm}","config":${text},${rest}`;
  return { preimage, hash: sha256Text(preimage) };
}
