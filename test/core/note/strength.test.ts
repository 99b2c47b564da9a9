/** By whose word nothing is missing: the words of `docs/how-to/use-index-witnesses.md`, and what may be called proven. */
import { generateKeyPairSync } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { ed25519Cosigner } from '../../../src/core/note/checkpoint.ts';
import { parseVerifierKey, signatureLine } from '../../../src/core/note/signed.ts';
import type { Trust } from '../../../src/core/note/trust.ts';
import { answerText, verifyAnswer } from '../../../src/core/proofs/answer.ts';
import {
  completenessOf,
  requireStrength,
  strengths,
  strengthSentence,
  strengthText,
  weakestOf,
  type Completeness,
  type DerivedLog,
} from '../../../src/core/proofs/strength.ts';
import { answer } from '../proofs/asked.ts';
import { trust } from '../proofs/log.ts';

const cosigner = (name: string) => ed25519Cosigner(name, generateKeyPairSync('ed25519').privateKey);
const [w1, w2] = [cosigner('w1.example'), cosigner('w2.example')];
const by = (quorum: number): Trust => ({
  ...trust,
  index: {
    witnesses: [
      { name: 'W1', key: parseVerifierKey(w1.verifierKey) },
      { name: 'W2', key: parseVerifierKey(w2.verifierKey) },
    ],
    quorum,
  },
});
const asked = answer(['run', 'run-0']);
const text = asked.checkpoint.slice(0, asked.checkpoint.indexOf('\n\n') + 1);
const cosigned = (...signers: (typeof w1)[]) =>
  Buffer.from(
    answerText({
      ...asked,
      checkpoint:
        asked.checkpoint +
        signers.map((signer) => signatureLine(text, signer, { timestampSeconds: 1_764_000_000 })).join(''),
    }),
  );
const passed = [{ id: 'completeness', result: 'passed' }] as const;

describe('by whose word nothing is missing', () => {
  it('index witnesses that cosigned make it proven, from the quorum of the trust on', () => {
    const rows: [Buffer, number, string][] = [
      [cosigned(w1, w2), 2, 'witnessed W1 W2'],
      [cosigned(w1), 2, 'own_index gov.local/prj_test/audit'],
      [cosigned(w2), 1, 'witnessed W2'],
      [cosigned(w1, w2), 0, 'own_index gov.local/prj_test/audit'],
      [cosigned(), 1, 'own_index gov.local/prj_test/audit'],
    ];
    for (const [bytes, quorum, expected] of rows) {
      const { verified, completeness } = verifyAnswer(bytes, by(quorum));
      expect([verified, completeness.quorum]).toEqual([true, quorum]);
      expect(`${completeness.strength} ${completeness.by.join(' ')}`).toBe(expected);
    }
  });

  it('a witness that derived nothing, and an index witness that is not trusted, prove nothing', () => {
    const plain = { ...trust, witnesses: [parseVerifierKey(w1.verifierKey)], quorum: 1 };
    expect(verifyAnswer(cosigned(w1), plain)).toMatchObject({
      verified: true,
      witnesses: 1,
      completeness: { strength: 'own_index' },
    });
    expect(verifyAnswer(cosigned(w1), by(1))).toMatchObject({ verified: true, witnesses: 0 });
    expect(verifyAnswer(cosigned(w1), trust).completeness.strength).toBe('own_index');
  });

  it('a forged cosignature of an index witness fails', () => {
    const other = cosigner('w1.example');
    const line = signatureLine(text, other, { timestampSeconds: 1 }).split(' ');
    const real = signatureLine(text, w1, { timestampSeconds: 1 }).split(' ');
    const forged = Buffer.from(line[2] ?? '', 'base64');
    Buffer.from(real[2] ?? '', 'base64').copy(forged, 0, 0, 4);
    const checkpoint = `${asked.checkpoint}— w1.example ${forged.toString('base64')}\n`;
    const bytes = Buffer.from(answerText({ ...asked, checkpoint }));
    expect(verifyAnswer(bytes, by(1)).code).toBe('SIGNATURE_INVALID');
  });

  it('an index that the caller derived is derived or false, and one beyond the records is neither', () => {
    const derived = (judged: ReturnType<DerivedLog['judge']>): DerivedLog => ({
      records: 12_880,
      judge: () => judged,
    });
    const verify = (judged: ReturnType<DerivedLog['judge']>) =>
      verifyAnswer(cosigned(), trust, { derived: derived(judged) });
    expect(verify('right').completeness).toMatchObject({ strength: 'derived', of: 12_880 });
    expect(verify('false')).toMatchObject({ verified: false, code: 'INDEX_FALSE' });
    expect(verify('unknown').completeness.strength).toBe('own_index');
  });

  it('has exactly these words, and says proven of index witnesses alone', () => {
    const cosigners = { by: ['W1', 'W2'], of: 2, quorum: 2 };
    const cases: [Completeness, string, string][] = [
      [
        completenessOf(passed, 'o', { cosigners, records: null }),
        'proven to 2 of 2 index witnesses (W1, W2)',
        'The log has no more entries than the file shows. W1 and W2 derived its index themselves.',
      ],
      [
        completenessOf(passed, 'o', { cosigners: null, records: 12_880 }),
        'derived here from 12,880 records',
        'The log has no more entries than the file shows. This check derived the index from every record.',
      ],
      [
        completenessOf(passed, 'o'),
        "by the operator's own index",
        'By the index that the operator signed, the log has no more entries. Nobody else checked that index.',
      ],
      [completenessOf([], 'o'), 'not checked', 'The file does not show whether entries are missing.'],
    ];
    for (const [at, [completeness, line, sentence]] of cases.entries()) {
      expect(completeness.strength).toBe(strengths[at]);
      expect([strengthText(completeness), strengthSentence(completeness)]).toEqual([line, sentence]);
      expect(line.includes('proven')).toBe(completeness.strength === 'witnessed');
    }
    expect(strengthSentence({ strength: 'witnessed', by: ['W1'] })).toMatch(/W1 derived its index itself\.$/);
  });

  it('a required strength refuses each weaker one, and no other verdict changes', () => {
    const verdict = (at: number) => ({
      verified: true,
      code: null,
      completeness: { result: 'passed', strength: strengths[at] ?? 'none', by: [], quorum: 0 } as const,
    });
    for (const [at] of strengths.entries()) {
      expect(requireStrength(verdict(at), undefined).verified).toBe(true);
      for (const [needed, strength] of strengths.entries()) {
        const judged = requireStrength(verdict(at), strength);
        expect([judged.verified, judged.code]).toEqual(
          at <= needed ? [true, null] : [false, 'COMPLETENESS_TOO_WEAK'],
        );
      }
    }
    const failed = { ...verdict(3), verified: false, code: 'INDEX_INVALID' as const };
    expect(requireStrength(failed, 'witnessed')).toBe(failed);
  });

  it('several files together have the weakest strength, and are proven only by witnesses of all of them', () => {
    const witnessed = (...names: string[]): Completeness => ({
      result: 'passed',
      strength: 'witnessed',
      by: names,
      quorum: 1,
      of: 2,
    });
    const own = completenessOf(passed, 'log');
    const derived = completenessOf(passed, 'log', { cosigners: null, records: 7 });
    const none = completenessOf([], 'log');
    const rows: [Completeness[], string][] = [
      [[], 'none'],
      [[witnessed('W1', 'W2'), witnessed('W2')], 'witnessed W2'],
      [[witnessed('W1'), witnessed('W2')], 'own_index'],
      [[witnessed('W1'), derived], 'derived log'],
      [[derived, own, witnessed('W1')], 'own_index log'],
      [[witnessed('W1'), none], 'none'],
    ];
    for (const [files, expected] of rows) {
      const { strength, by } = weakestOf(files);
      expect([strength, ...by].join(' ')).toBe(expected);
    }
    const failed: Completeness = { result: 'failed', strength: 'none', by: [], quorum: 0 };
    expect(weakestOf([witnessed('W1'), failed, none])).toBe(failed);
  });
});
