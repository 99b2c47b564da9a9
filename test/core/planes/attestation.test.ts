/**
 * Answers to challenges: an honest plane's always verify; every change of any member is refused, whether the plane signs
 * what it changed or someone else changes it; and each fault has its word and its place.
 */
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { AttestationProof } from '../../../src/contract/telemetry.ts';
import { limits } from '../../../src/contract/limits.ts';
import { attestationText, sampledUnits, verifyAttestation } from '../../../src/core/planes/attestation.ts';
import { sha256Text } from '../../../src/core/hash.ts';
import { canonicalize, type Json } from '../../../src/core/json/parse.ts';
import { reportedHead } from '../../../src/core/planes/usage-report.ts';
import { type BodyCheck, loadCheck } from '../../../src/service/call/schema.ts';
import { asked, verify } from './asked.ts';
import { mutations } from '../json/mutate.ts';
import { challengeFor, origin, plane, TestPlane } from './log.ts';

let schema: BodyCheck;
beforeAll(async () => {
  schema = await loadCheck(AttestationProof, { in: 'body' });
});

describe('an honest plane', () => {
  it('the attestation of an honest plane is accepted for any challenge', () => {
    const work = fc.array(fc.nat(30), { minLength: 1, maxLength: 6 });
    const options = fc.record({
      seed: fc.string(),
      samples: fc.nat(limits.attestationSamples),
      cross: fc.nat(limits.attestationCrossSamples),
      work,
    });
    fc.assert(
      fc.property(options, (drawn) => {
        const given = asked(drawn);
        expect(schema(given.proof)).toBeNull();
        const { fault, checks } = verify(given);
        expect(fault).toBeNull();
        expect(checks.every(({ passed }) => passed)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('the verdict on an attestation lists what was checked', () => {
    const given = asked({ samples: 64, cross: 8, work: [9, 13, 300] });
    const { sampled, checks, detection } = verify(given);
    expect(sampled).toBe(sampledUnits(given.challenge).length);
    expect(checks).toEqual([
      { name: 'checkpoint', passed: true, count: 1 },
      { name: 'signature', passed: true, count: 1 },
      { name: 'sample_set', passed: true, count: sampled + given.proof.cross.length },
      { name: 'units', passed: true, count: sampled },
      { name: 'consistency', passed: true, count: 2 },
      { name: 'cross_reference', passed: true, count: given.proof.cross.length },
    ]);
    expect(detection).toEqual([
      { badFraction: 0.01, probability: 1 - 0.99 ** 64 },
      { badFraction: 0.05, probability: 1 - 0.95 ** 64 },
    ]);
  });

  it('the verdict on a period without units says that it shows nothing', () => {
    const sender = new TestPlane().work(9);
    sender.report();
    const report = sender.report();
    const challenge = challengeFor(report, { seed: 'none' });
    const input = { challenge, report, proof: sender.answer(challenge), plane, earlier: [] };
    const { fault, sampled, detection } = verifyAttestation(input);
    expect({ fault, sampled }).toEqual({ fault: null, sampled: 0 });
    expect(detection.map(({ probability }) => probability)).toEqual([0, 0]);
  });

  it('a plane signs exactly this attestation text', () => {
    const { challenge, proof } = asked();
    const { samples, consistency, cross } = proof;
    const hash = sha256Text(canonicalize({ samples, consistency, cross } as unknown as Json));
    expect(attestationText(challenge, proof)).toBe(
      `gov.attestation/v1\n${challenge.challengeId}\n${origin}/0 ${challenge.treeSize} ${challenge.rootHash}\n${hash}\n`,
    );
  });

  it('an attestation is accepted for a log that was empty before', () => {
    const sender = new TestPlane({ empty: true });
    const first = sender.report();
    const report = sender.work(20).report();
    const challenge = challengeFor(report, { seed: 'empty', sizes: [0] });
    const proof = sender.answer(challenge);
    expect(proof.samples[0]).toMatchObject({ unit: 1 });
    const earlier = [reportedHead(first)];
    expect(verifyAttestation({ challenge, report, proof, plane, earlier }).fault).toBeNull();
    const [shown] = proof.consistency;
    const path = [Buffer.alloc(32).toString('base64')];
    const more = sender.signed(challenge, { ...proof, consistency: [{ ...shown!, path }] });
    expect(verifyAttestation({ challenge, report, proof: more, plane, earlier }).fault).toMatchObject({
      fault: 'consistency_invalid',
      pointer: '/consistency/0/path',
    });
  });

  it('an attestation shows leaf 0 without a leaf before it', () => {
    const sender = new TestPlane({ empty: true })
      .append({ op: 'risk_decision', units: 3, leaves: 1 })
      .work(5);
    const report = sender.report();
    const challenge = challengeFor(report, { seed: 'zero' });
    const proof = sender.answer(challenge);
    expect(proof.samples[0]).toMatchObject({ unit: 1, index: 0 });
    expect(proof.samples[0]).not.toHaveProperty('previous');
    const given = { sender, report, challenge, proof, earlier: [] };
    expect(verify(given).fault).toBeNull();
    const [sample, ...rest] = proof.samples;
    const more = {
      ...proof,
      samples: [{ ...sample!, previous: sender.shown(0, challenge.treeSize) }, ...rest],
    };
    expect(verify(given, sender.signed(challenge, more)).fault).toMatchObject({
      fault: 'inclusion_invalid',
      pointer: '/samples/0/previous',
    });
  });
});

describe('a changed attestation', () => {
  const given = asked();
  const original = canonicalize(given.proof as unknown as Json);

  /** How it is refused, or null where it is not. */
  function refused(changed: AttestationProof): string | null {
    if (schema(changed) !== null) return 'schema';
    try {
      return verify(given, changed).fault?.fault ?? null;
    } catch (error) {
      return (error as { code?: string }).code === 'VALIDATION_ERROR'
        ? 'structure'
        : `thrown: ${String(error)}`;
    }
  }

  it('any changed attestation is refused, signed or not, except for its time, which the HMAC binds', () => {
    const accepted = { unsigned: new Set<string>(), signed: new Set<string>() };
    const words = new Set<string>();
    let count = 0;
    for (const { pointer, what, value } of mutations(given.proof as unknown as Json)) {
      const text = canonicalize(value);
      if (text === original) continue;
      count += 1;
      const changed = JSON.parse(text) as AttestationProof;
      const unsigned = refused(changed);
      if (unsigned === null) accepted.unsigned.add(pointer);
      else expect(unsigned, `${pointer} ${what}`).not.toContain('thrown');
      if (pointer.startsWith('/signature') || schema(changed) !== null) continue;
      const signed = refused(given.sender.signed(given.challenge, changed));
      if (signed === null) accepted.signed.add(pointer);
      else expect(signed, `${pointer} ${what}, signed`).not.toContain('thrown');
      words.add(signed ?? 'accepted');
    }
    expect(count).toBeGreaterThan(2000);
    expect([...accepted.unsigned]).toEqual(['/generatedAt']);
    expect([...accepted.signed]).toEqual(['/generatedAt']);
    expect([...words].toSorted()).toEqual(
      [
        'accepted',
        'checkpoint_signature_invalid',
        'cross_reference_invalid',
        'consistency_invalid',
        'history_regressed',
        'inclusion_invalid',
        'origin_mismatch',
        'sample_set_mismatch',
        'structure',
      ].toSorted(),
    );
  });

  it('verification never throws for random attestations that match the schema', () => {
    const hash = fc
      .uint8Array({ minLength: 32, maxLength: 32 })
      .map((bytes) => Buffer.from(bytes).toString('base64'));
    const path = fc.array(fc.oneof(hash, fc.constant(`${'A'.repeat(42)}B=`)), { maxLength: 8 });
    const count = fc.oneof(fc.nat(60), fc.constant(Number.MAX_SAFE_INTEGER), fc.constant(-0));
    const record = fc.oneof(fc.string(), fc.constantFrom(...given.sender.leaves.map((leaf) => leaf.record)));
    const shown = { record, inclusion: path };
    const units = sampledUnits(given.challenge);
    const samples = fc.tuple(
      ...units.map((unit) =>
        fc.record(
          { unit: fc.constant(unit), index: count, ...shown, previous: fc.record(shown) },
          { requiredKeys: ['unit', 'index', 'record', 'inclusion'] },
        ),
      ),
    );
    const cross = fc.tuple(
      ...given.proof.cross.map((each) =>
        fc.record({
          auditIndex: fc.constant(each.auditIndex),
          auditLeafHash: fc.constantFrom(each.auditLeafHash, `${'A'.repeat(42)}B=`),
          auditInclusion: fc.oneof(path, fc.constant(each.auditInclusion)),
          meterIndex: fc.oneof(count, fc.constant(each.meterIndex)),
          meterRecord: fc.oneof(record, fc.constant(each.meterRecord)),
          meterInclusion: fc.oneof(path, fc.constant(each.meterInclusion)),
          refNonce: fc.constantFrom(each.refNonce, `${'A'.repeat(21)}B`),
          firstAuditIndex: fc.oneof(count, fc.constant(each.firstAuditIndex)),
          count: fc.integer({ min: 1, max: limits.meterLeafCount }),
          batchInclusion: path,
        }),
      ),
    );
    fc.assert(
      fc.property(fc.boolean(), samples, cross, (keepSamples, drawnSamples, drawnCross) => {
        const changed = {
          ...given.proof,
          samples: keepSamples ? given.proof.samples : drawnSamples,
          cross: drawnCross,
        };
        expect(schema(changed)).toBeNull();
        expect(verify(given, given.sender.signed(given.challenge, changed)).fault).not.toBeNull();
      }),
      { numRuns: 200 },
    );
  });
});

describe('the service as verifier', () => {
  it('verification refuses a challenge for another report and a size without a head', () => {
    const { sender, report, challenge, proof, earlier } = asked({ seed: 'service' });
    const input = { challenge, report, proof, plane, earlier };
    expect(() => verifyAttestation({ ...input, report: sender.reports[0]! })).toThrow(
      'expected a challenge drawn for report',
    );
    expect(() => verifyAttestation({ ...input, earlier: [] })).toThrow('expected an earlier head of');
    const { unitRange } = challenge;
    const beyond = { ...challenge, unitRange: { ...unitRange, to: unitRange.to + 1 } };
    expect(() => verifyAttestation({ ...input, challenge: beyond })).toThrow(
      'expected a challenge drawn for report',
    );
  });
});
