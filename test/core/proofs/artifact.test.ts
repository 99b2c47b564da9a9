import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/core/json/parse.ts';
import { type KeptProof, verifyArtifact } from '../../../src/core/proofs/artifact.ts';
import {
  composeProof,
  proofLeafFields,
  proofPreimage,
  proofSchemaVersions,
} from '../../../src/core/proofs/binding.ts';
import { schemaVersions } from '../../../src/contract/proofs.ts';
import { ProofLog, type ProveOptions, recordSampleRun } from './log.ts';

function kept(options: ProveOptions = {}): KeptProof {
  const log = new ProofLog();
  recordSampleRun(log);
  const { proof, proofPreimage: preimage, layerStatements: statements } = log.prove('run-1', options);
  return { proof, preimage, statements };
}

const asJson = (value: unknown): Json => JSON.parse(JSON.stringify(value)) as Json;

describe('a composed proof', () => {
  it('a composed proof binds every member by a text that sha256sum reproduces', () => {
    const layers = [{ name: 'event_integrity', statement: 'text', verified: true }];
    const { proof, preimage } = composeProof({
      proofId: 'prf_1',
      runId: 'r',
      schemaVersion: 'v1',
      timestamp: '2026-01-01T00:00:00.000Z',
      layers,
    });
    const layerHash = createHash('sha256').update('text').digest('hex');
    expect(preimage).toBe(
      'gov.proof/v1\n{"commitment":{"runId":"r","schemaVersion":"v1","timestamp":"2026-01-01T00:00:00.000Z"},' +
        `"layers":[{"hash":"sha256:${layerHash}","name":"event_integrity","verified":true}],` +
        '"proofId":"prf_1","runId":"r","schemaVersion":"v1"}',
    );
    expect(proof.proofHash).toBe(`sha256:${createHash('sha256').update(preimage).digest('hex')}`);
    expect(proof.createdAt).toBe(proof.commitment.timestamp);
    expect(proofPreimage(proof)).toEqual({ preimage, hash: proof.proofHash });
    expect(proofLeafFields(proof)).toEqual({ proofId: 'prf_1', proofHash: proof.proofHash });
  });

  it('the proof schema versions are those of the contract', () => {
    expect(proofSchemaVersions).toEqual(schemaVersions);
  });
});

describe('a proof artifact compared with the kept proof', () => {
  const own = kept();

  it('a proof artifact is verified when it equals the kept proof, with or without createdAt', () => {
    for (const artifact of [own.proof, { ...own.proof, createdAt: undefined }]) {
      const verdict = verifyArtifact(asJson(artifact), own);
      expect(verdict).toMatchObject({ verified: true, code: null, proofId: own.proof.proofId });
      expect(verdict.layers.map(({ passed, basis }) => `${passed} ${basis}`)).toEqual([
        'true attested',
        'true attested',
        'true attested',
      ]);
      expect(verdict.notes).toEqual([
        'NO_POLICY_ACTIVE: no policy was active; policy_compliance holds vacuously',
      ]);
    }
  });

  it('a proof artifact says which layers were recomputed and reports a different result', () => {
    const { event_integrity, causal_consistency } = own.statements;
    const same = verifyArtifact(asJson(own.proof), own, {
      event_integrity: event_integrity!,
      causal_consistency: causal_consistency!,
    });
    expect(same.verified).toBe(true);
    expect(same.layers.map(({ basis }) => basis)).toEqual(['recomputed', 'recomputed', 'attested']);
    const other = verifyArtifact(asJson(own.proof), own, { event_integrity: `${event_integrity} ` });
    expect(other).toMatchObject({ verified: false, code: 'LAYER_MISMATCH' });
    expect(other.layers[0]).toEqual({
      name: 'event_integrity',
      passed: false,
      basis: 'recomputed',
      code: 'LAYER_MISMATCH',
    });
  });

  it('a proof artifact with a failed layer is reported as unsatisfied, not as tampered', () => {
    const negative = kept({ layers: ['replay_determinism'] });
    const verdict = verifyArtifact(asJson(negative.proof), negative);
    expect(verdict).toMatchObject({ verified: false, code: 'LAYER_NOT_SATISFIED' });
    expect(verdict.layers[1]).toMatchObject({ passed: false, code: 'REPLAY_NOT_RUN' });
  });

  const hash = `sha256:${'0'.repeat(64)}`;
  it.each([
    ['another layer hash', { layers: own.proof.layers.with(0, { ...own.proof.layers[0]!, hash }) }],
    ['a layer turned', { layers: own.proof.layers.with(1, { ...own.proof.layers[1]!, verified: false }) }],
    ['a layer left out', { layers: own.proof.layers.slice(1) }],
    ['another proofHash', { proofHash: hash }],
    ['another run', { runId: 'run-2' }],
    ['another time', { createdAt: '2026-01-01T00:00:00.000Z' }],
    [
      'another commitment',
      { commitment: { ...own.proof.commitment, timestamp: '2026-01-01T00:00:00.000Z' } },
    ],
    [
      'another version',
      { schemaVersion: 'v1', commitment: { ...own.proof.commitment, schemaVersion: 'v1' } },
    ],
    [
      'an unknown version',
      { schemaVersion: '2', commitment: { ...own.proof.commitment, schemaVersion: '2' } },
    ],
  ])('a proof artifact is not verified with %s', (_name, change) => {
    const verdict = verifyArtifact(asJson({ ...own.proof, ...change }), own);
    expect(verdict.verified).toBe(false);
    expect(verdict.code).not.toBe('LAYER_NOT_SATISFIED');
  });

  it('a proof artifact is not verified when it is another consistent proof', () => {
    const other = kept({ schemaVersion: 'v1' });
    expect(verifyArtifact(asJson(other.proof), own).code).toBe('STORED_MISMATCH');
  });

  it.each([
    ['null', null],
    ['a list', []],
    ['text', 'x'],
    ['nothing', {}],
    ['layers that are none', { ...(asJson(own.proof) as object), layers: [1] }],
    ['an unknown member', { ...(asJson(own.proof) as object), note: 1 }],
    ['a hash that is none', { ...(asJson(own.proof) as object), proofHash: 'x' }],
  ])('a malformed proof artifact gets a verdict and no exception: %s', (_name, artifact) => {
    expect(verifyArtifact(artifact as Json, own)).toMatchObject({
      verified: false,
      code: 'MALFORMED_BUNDLE',
      layers: [],
      proofId: null,
    });
  });
});
