/** The hash of the inputs: a known preimage, and that order, run and spelling of emptiness do not matter. */
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/core/json/parse.ts';
import { labelled } from '../../../src/core/hash.ts';
import { canonicalInputs, type RiskInputs, riskInputsHash } from '../../../src/core/risk/inputs.ts';
import { evaluateRisk } from '../../../src/core/risk/router.ts';
import { inputsArbitrary, modeArbitrary, router } from './facts.ts';

const inputs: RiskInputs = {
  policyDecisions: [
    { policyId: 'p2', decision: 'warn', score: 0.5 },
    { policyId: 'p1', decision: 'warn', score: 0.5 },
    { policyId: 'p1', decision: 'deny', score: 1 },
    { policyId: 'p1', decision: 'deny', score: 0.25 },
  ],
  quotaState: { used: 1, remaining: 9, limit: 10 },
  evaluationSignals: [
    { value: 0.5, signal: 'pii' },
    { value: 0.25, signal: 'pii' },
  ],
  explicitSignals: { b: 1, a: { d: [], c: null } },
};

describe('the hash of risk inputs', () => {
  it('the hash of risk inputs is SHA-256 of exactly this text', () => {
    const { preimage, hash } = riskInputsHash(
      canonicalInputs(inputs),
      router({ signals: { pii: { weight: 1 } } }),
    );
    expect(preimage).toBe(
      'gov.riskinputs/v1\n{"algorithm":"gov.risk/1","config":{"defaultAction":"escalate","mode":"adaptive",' +
        '"signals":{"pii":{"direction":"higher_is_riskier","max":1,"min":0,"weight":1}},' +
        '"thresholds":{"allow":0,"block":0.9,"escalate":0.6,"flag":0.3}},' +
        '"evaluationSignals":[{"signal":"pii","value":0.25},{"signal":"pii","value":0.5}],' +
        '"explicitSignals":{"a":{"c":null,"d":[]},"b":1},' +
        '"policyDecisions":[{"decision":"deny","policyId":"p1","score":0.25},' +
        '{"decision":"deny","policyId":"p1","score":1},{"decision":"warn","policyId":"p1","score":0.5},' +
        '{"decision":"warn","policyId":"p2","score":0.5}],"quotaState":{"limit":10,"remaining":9,"used":1}}',
    );
    expect(hash).toBe(`sha256:${createHash('sha256').update(preimage).digest('hex')}`);
  });

  it('the hash of risk inputs is a labelled hash of one object, for any inputs', () => {
    fc.assert(
      fc.property(inputsArbitrary, modeArbitrary, (inputs, mode) => {
        const by = router({ mode });
        const canonical = canonicalInputs(inputs);
        const object = { algorithm: 'gov.risk/1', config: by.config, ...canonical } as unknown as Json;
        expect(riskInputsHash(canonical, by)).toEqual(labelled('gov.riskinputs/v1', object));
        expect(canonicalInputs(canonical)).toEqual(canonical);
      }),
      { seed: 21 },
    );
  });

  it('the hash of risk inputs and the verdict are the same for every order of the inputs', () => {
    const shuffled = inputsArbitrary.chain((inputs) =>
      fc.record({
        inputs: fc.constant(inputs),
        decisions: fc.shuffledSubarray(inputs.policyDecisions ?? [], {
          minLength: inputs.policyDecisions?.length ?? 0,
        }),
        signals: fc.shuffledSubarray(inputs.evaluationSignals ?? [], {
          minLength: inputs.evaluationSignals?.length ?? 0,
        }),
        keys: fc.shuffledSubarray(Object.entries(inputs.explicitSignals ?? {}), {
          minLength: Object.keys(inputs.explicitSignals ?? {}).length,
        }),
      }),
    );
    fc.assert(
      fc.property(shuffled, modeArbitrary, ({ inputs, decisions, signals, keys }, mode) => {
        const by = router({ mode });
        const other = {
          ...inputs,
          policyDecisions: decisions,
          evaluationSignals: signals,
          explicitSignals: Object.fromEntries(keys),
        };
        expect(evaluateRisk(other, by)).toEqual(evaluateRisk(inputs, by));
      }),
      { seed: 22, numRuns: 500 },
    );
  });

  it('the hash of risk inputs omits the run and treats absent inputs as empty', () => {
    const hash = (given: RiskInputs) => evaluateRisk(given, router()).deterministicInputsHash;
    const run = { ...inputs, runId: 'run-1' };
    expect(hash(run)).toBe(hash(inputs));
    expect(hash({})).toBe(
      hash({ policyDecisions: [], evaluationSignals: [], explicitSignals: {}, quotaState: {} }),
    );
  });

  it.each<[string, RiskInputs]>([
    ['a decision', { ...inputs, policyDecisions: [] }],
    [
      'a repeated decision',
      { ...inputs, policyDecisions: inputs.policyDecisions!.concat(inputs.policyDecisions!) },
    ],
    ['a quota', { ...inputs, quotaState: { used: 1, limit: 10 } }],
    ['a signal', { ...inputs, evaluationSignals: [{ signal: 'pii', value: 0.5 }] }],
    ['what is not scored', { ...inputs, explicitSignals: { b: 1, a: { d: [], c: 0 } } }],
  ])('the hash of risk inputs changes with %s', (_, changed) => {
    const by = router();
    expect(evaluateRisk(changed, by).deterministicInputsHash).not.toBe(
      evaluateRisk(inputs, by).deterministicInputsHash,
    );
  });

  it.each([NaN, Infinity, -Infinity])('the risk router refuses %d, which no client can send', (value) => {
    expect(() => evaluateRisk({ evaluationSignals: [{ signal: 'pii', value }] }, router())).toThrow(/JSON/);
    expect(() => evaluateRisk({ quotaState: { used: value } }, router())).toThrow(/JSON/);
  });
});
