/** Every word and place of a refusal of an answer to a challenge, of a plane that signs what it says. */
import { describe, expect, it } from 'vitest';
import type { AttestationProof, TelemetryFault } from '../../../src/contract/telemetry.ts';
import { attestationText } from '../../../src/core/planes/attestation.ts';
import { signNote } from '../../../src/core/note/signed.ts';
import { asked, verify } from './asked.ts';
import { origin, signerOf, Tree } from './log.ts';

describe('a refused attestation', () => {
  const given = asked({ seed: 'refusal' });
  const { sender, challenge, proof } = given;
  const { samples, cross, consistency } = proof;
  const hash = Buffer.alloc(32, 9).toString('base64');
  const at = samples.length - 1;
  const sample = samples[at]!;
  const withSample = (changes: object) => ({ samples: samples.with(at, { ...sample, ...changes }) });
  const withCross = (changes: object) => ({ cross: cross.with(0, { ...cross[0]!, ...changes }) });
  const last = sender.leaves.length - 1;
  const forked = new Tree();
  for (let index = 0; index < challenge.treeSize; index++) forked.append(Buffer.alloc(32, index));

  const cases: [what: string, changes: object, fault: TelemetryFault, pointer: string][] = [
    ['another origin', { log: { ...proof.log, origin: 'x' } }, 'origin_mismatch', '/log/origin'],
    ['another epoch', { log: { ...proof.log, epoch: 1 } }, 'origin_mismatch', '/log/origin'],
    ['another size', { log: { ...proof.log, treeSize: 1 } }, 'history_regressed', '/log/treeSize'],
    [
      'a checkpoint that nobody signed',
      { log: { ...proof.log, checkpoint: 'x' } },
      'checkpoint_signature_invalid',
      '/log/checkpoint',
    ],
    [
      'a head of a fork',
      { log: { ...proof.log, checkpoint: sender.checkpoint(forked, sender.origin) } },
      'consistency_invalid',
      '/log/checkpoint',
    ],
    ['a unit less', { samples: samples.slice(1) }, 'sample_set_mismatch', '/samples/0'],
    ['the last unit missing', { samples: samples.slice(0, -1) }, 'sample_set_mismatch', `/samples/${at}`],
    ['a unit more', { samples: [...samples, sample] }, 'sample_set_mismatch', `/samples/${at + 1}`],
    ['units in another order', { samples: samples.toReversed() }, 'sample_set_mismatch', '/samples/0'],
    ['a size less', { consistency: consistency.slice(1) }, 'sample_set_mismatch', '/consistency/0'],
    [
      'a path to another size',
      { consistency: consistency.with(0, { ...consistency[0]!, toSize: 1 }) },
      'sample_set_mismatch',
      '/consistency/0',
    ],
    ['a cross sample less', { cross: [] }, 'sample_set_mismatch', '/cross/0'],
    [
      'a leaf before the asked one',
      withSample({
        index: 5,
        ...sender.shown(5, challenge.treeSize),
        previous: sender.shown(4, challenge.treeSize),
      }),
      'sample_set_mismatch',
      `/samples/${at}/index`,
    ],
    ['a leaf after the asked one', withFirst(last), 'sample_set_mismatch', '/samples/0/index'],
    [
      'another record',
      withSample({ record: sender.leaves[2]!.record }),
      'inclusion_invalid',
      `/samples/${at}/inclusion`,
    ],
    ['another path', withSample({ inclusion: [hash] }), 'inclusion_invalid', `/samples/${at}/inclusion`],
    [
      'a path in other base64',
      withSample({ inclusion: sample.inclusion.map(otherBits) }),
      'inclusion_invalid',
      `/samples/${at}/inclusion`,
    ],
    ['no leaf before', withSample({ previous: undefined }), 'inclusion_invalid', `/samples/${at}/previous`],
    [
      'another leaf before',
      withSample({ previous: sender.shown(1, challenge.treeSize) }),
      'inclusion_invalid',
      `/samples/${at}/previous/inclusion`,
    ],
    [
      'another path between',
      { consistency: consistency.with(1, { ...consistency[1]!, path: [hash] }) },
      'consistency_invalid',
      '/consistency/1/path',
    ],
    [
      'another audit leaf',
      withCross({ auditLeafHash: hash }),
      'inclusion_invalid',
      '/cross/0/auditInclusion',
    ],
    [
      'another metering leaf',
      withCross({ meterIndex: last, ...meterOf(last) }),
      'cross_reference_invalid',
      '/cross/0/meterRecord',
    ],
    [
      'a metering leaf elsewhere',
      withCross({ meterIndex: last }),
      'inclusion_invalid',
      '/cross/0/meterInclusion',
    ],
    [
      'another nonce',
      withCross({ refNonce: 'A'.repeat(22) }),
      'cross_reference_invalid',
      '/cross/0/meterRecord',
    ],
    [
      'a nonce in other base64',
      withCross({ refNonce: otherNonce(cross[0]!.refNonce) }),
      'cross_reference_invalid',
      '/cross/0/meterRecord',
    ],
    [
      'a batch before the leaf',
      withCross({ firstAuditIndex: 0, count: 1 }),
      'cross_reference_invalid',
      '/cross/0/firstAuditIndex',
    ],
    [
      'a batch without the leaf',
      withCross({ firstAuditIndex: cross[0]!.auditIndex + 1 }),
      'cross_reference_invalid',
      '/cross/0/firstAuditIndex',
    ],
    ['a batch beyond the log', withCross({ count: 1000 }), 'cross_reference_invalid', '/cross/0/count'],
    [
      'another batch path',
      withCross({ batchInclusion: [...cross[0]!.batchInclusion, hash] }),
      'cross_reference_invalid',
      '/cross/0/batchInclusion',
    ],
  ];

  function withFirst(index: number) {
    const { treeSize } = challenge;
    const previous = sender.shown(index - 1, treeSize);
    return {
      samples: samples.with(0, { ...samples[0]!, index, ...sender.shown(index, treeSize), previous }),
    };
  }

  function meterOf(index: number) {
    const { record, inclusion } = sender.shown(index, challenge.treeSize);
    return { meterRecord: record, meterInclusion: inclusion };
  }

  it.each(cases)(
    'a refusal of an attestation with %s has the right fault and pointer',
    (_what, changes, fault, pointer) => {
      const changed = sender.signed(
        challenge,
        JSON.parse(JSON.stringify({ ...proof, ...changes })) as AttestationProof,
      );
      expect(verify(given, changed).fault).toMatchObject({
        fault,
        pointer,
        detail: expect.stringMatching(/expected/),
      });
    },
  );

  it('a refusal of an attestation says which checks passed and which did not', () => {
    const { checks } = verify(given, sender.signed(challenge, { ...proof, cross: [] }));
    expect(checks.map(({ name, passed }) => [name, passed])).toEqual([
      ['checkpoint', true],
      ['signature', true],
      ['sample_set', false],
      ['units', false],
      ['consistency', false],
      ['cross_reference', false],
    ]);
    expect(checks.slice(3).map(({ count }) => count)).toEqual([0, 0, 0]);
  });

  it('a note by another key or over another answer is refused as a signature fault', () => {
    const wrong = { fault: 'checkpoint_signature_invalid', pointer: '/signature' };
    const text = attestationText(challenge, proof);
    for (const signature of [
      '',
      text,
      signNote(text, [signerOf(`${origin}/1`)]),
      signNote(`${text}x\n`, [signerOf(sender.origin)]),
    ])
      expect(verify(given, { ...proof, signature }).fault).toMatchObject(wrong);
    const unsigned = { ...proof, samples: samples.with(0, { ...samples[0]!, index: 3 }) };
    expect(verify(given, unsigned).fault).toMatchObject(wrong);
  });

  it('an attestation with ids of another challenge is refused as invalid structure', () => {
    const ids = {
      challengeId: `chl_${'0'.repeat(52)}`,
      reportId: `urp_${'0'.repeat(26)}`,
      dataPlaneId: `dpl_${'0'.repeat(26)}`,
    };
    for (const [name, value] of Object.entries(ids)) {
      expect(() => verify(given, { ...proof, [name]: value })).toThrow(
        expect.objectContaining({
          code: 'VALIDATION_ERROR',
          errors: [expect.objectContaining({ pointer: `/${name}` })],
        }),
      );
    }
  });
});

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** The same 32 bytes in a base64 that is not canonical. */
function otherBits(hash: string): string {
  const digits = `${alphabet}+/`;
  return `${hash.slice(0, 42)}${digits[digits.indexOf(hash.charAt(42)) ^ 1]}=`;
}

/** The same 16 bytes in a base64url that is not canonical. */
function otherNonce(nonce: string): string {
  const digits = `${alphabet}-_`;
  return nonce.slice(0, 21) + digits[digits.indexOf(nonce.charAt(21)) ^ 1]!;
}
