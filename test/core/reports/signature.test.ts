import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { hasMlDsa44, mlDsa44Signer } from '../../../src/core/note/checkpoint.ts';
import { ed25519Signer, parseVerifierKey } from '../../../src/core/note/signed.ts';
import { dataHash } from '../../../src/core/reports/artifacts.ts';
import { signReport, verifyReportSignature } from '../../../src/core/reports/signature.ts';
import { generateKeyPairSync } from 'node:crypto';
import { logSigner, origin, privateKey, trust } from '../proofs/log.ts';
import { sampleReport, signatureOf } from './sample.ts';

const report = sampleReport({ rows: 3 });
const subjectOf = (of = report) => ({
  report: {
    projectId: of.project.projectId,
    reportTemplateId: of.reportTemplateId,
    checkpoint: of.log,
    dataHash: dataHash(of),
  },
  presentation: null,
});
const verify = (bytes: Uint8Array, of = report, keys = trust.keys) =>
  verifyReportSignature(bytes, subjectOf(of), { keys });
const genuine = Buffer.from(signatureOf(report));
const accepted = { executionId: 'rex_01ke6p4zkfe009xvr000000000' };

describe('the signature of a report', () => {
  it('the signature is a DSSE envelope with an in-toto statement about the data', () => {
    const envelope = JSON.parse(genuine.toString());
    expect(envelope.payloadType).toBe('application/vnd.in-toto+json');
    expect(JSON.parse(Buffer.from(envelope.payload, 'base64').toString())).toEqual({
      _type: 'https://in-toto.io/Statement/v1',
      predicateType: 'urn:gov:report:1',
      subject: [{ name: 'report.json', digest: { sha256: dataHash(report).slice(7) } }],
      predicate: {
        executionId: 'rex_01ke6p4zkfe009xvr000000000',
        projectId: report.project.projectId,
        reportTemplateId: report.reportTemplateId,
        checkpoint: { origin, treeSize: 14, rootHash: report.log.rootHash },
        keys: [envelope.signatures[0].keyid],
      },
    });
    expect(verify(genuine)).toMatchObject(accepted);
  });

  it('each flipped bit of each byte is refused', () => {
    for (let at = 0; at < genuine.length; at++) {
      for (const bit of [0, 2, 5, 7]) {
        const changed = Buffer.from(genuine);
        changed[at]! ^= 1 << bit;
        expect(verify(changed)).toHaveProperty('code');
      }
    }
  });

  it.skipIf(!hasMlDsa44())(
    'with two keys of the log each flipped byte is refused, and one key is enough',
    () => {
      const second = mlDsa44Signer(origin, generateKeyPairSync('ml-dsa-44').privateKey);
      const both = Buffer.from(signatureOf(report, { signers: [logSigner, second] }));
      const keys = [...trust.keys, parseVerifierKey(second.verifierKey)];
      expect(verify(both, report, keys)).toMatchObject(accepted);
      for (const key of keys) expect(verify(both, report, [key])).toMatchObject(accepted);
      for (let at = 0; at < both.length; at += 7) {
        const changed = Buffer.from(both);
        changed[at]! ^= 1;
        expect(verify(changed, report, keys)).toHaveProperty('code');
      }
    },
  );

  it.skipIf(!hasMlDsa44())(
    'an algorithm of the trust without a signature is named, or refused where each is required',
    () => {
      const second = mlDsa44Signer(origin, generateKeyPairSync('ml-dsa-44').privateKey);
      const keys = [...trust.keys, parseVerifierKey(second.verifierKey)];
      const one = { signed: { missingAlgorithms: ['ml-dsa-44'] } };
      expect(verify(genuine, report, keys)).toMatchObject(one);
      const of = (bytes: Uint8Array) =>
        verifyReportSignature(bytes, subjectOf(), { keys, require: 'each-algorithm' });
      expect(of(genuine)).toMatchObject({
        code: 'SIGNATURE_MISSING',
        detail: expect.stringMatching('none by ml-dsa-44$'),
      });
      expect(of(signatureOf(report, { signers: [logSigner, second] }))).toMatchObject({
        signed: { missingAlgorithms: [] },
      });
    },
  );

  it('the signature of another report, project, template, checkpoint or log is refused', () => {
    const others = [
      sampleReport({ rows: 4 }),
      { ...report, project: { ...report.project, projectId: 'prj_other' } },
      { ...report, reportTemplateId: 'policy-changes' },
      { ...report, log: { ...report.log, treeSize: 13 } },
    ];
    for (const other of others) {
      expect(verify(genuine, other)).toMatchObject({ code: 'REPORT_SIGNATURE_MISMATCH' });
      // the hash of the data is that of the genuine report, and only this member differs
      const only = { ...subjectOf(other).report, dataHash: dataHash(report) };
      if (other.tables[0]!.rows.length === 3)
        expect(verifyReportSignature(genuine, { report: only, presentation: null }, trust)).toMatchObject({
          code: 'REPORT_SIGNATURE_MISMATCH',
        });
    }
  });

  it('a signature by another key is refused, whichever key it names', () => {
    const stranger = ed25519Signer(origin, privateKey('stranger'));
    expect(verify(signatureOf(report, { signers: [stranger] }))).toMatchObject({ code: 'SIGNATURE_INVALID' });
    const posing = { ...stranger, keyId: logSigner.keyId };
    expect(verify(signatureOf(report, { signers: [posing] }))).toMatchObject({ code: 'SIGNATURE_INVALID' });
    // an invalid signature of a trusted key is refused beside a valid one of another
    const keys = [...trust.keys, parseVerifierKey(stranger.verifierKey)];
    const bytes = signatureOf(report, { signers: [stranger, posing] });
    expect(verify(bytes, report, keys)).toMatchObject({ code: 'SIGNATURE_INVALID' });
  });

  it('a checkpoint signature of the log is no signature of a report', () => {
    const envelope = JSON.parse(genuine.toString());
    const line = report.log.checkpoint.trimEnd().split('\n').at(-1)!.split(' ').at(-1)!;
    const sig = Buffer.from(line, 'base64').subarray(4).toString('base64');
    envelope.signatures[0].sig = sig;
    expect(verify(Buffer.from(JSON.stringify(envelope)))).toMatchObject({ code: 'SIGNATURE_INVALID' });
  });

  it('a presentation that the log did not sign is refused, and one that it signed is not needed for the data', () => {
    expect(
      verifyReportSignature(genuine, { ...subjectOf(), presentation: Buffer.from('{}') }, trust),
    ).toMatchObject({ code: 'REPORT_SIGNATURE_MISMATCH' });
    const signed = {
      executionId: accepted.executionId,
      ...subjectOf().report,
      presentationHash: `sha256:${'a'.repeat(64)}`,
    };
    expect(verify(Buffer.from(signReport(signed, [logSigner])))).toMatchObject(accepted);
  });

  it('a file of any other form is refused, and nothing throws', () => {
    const envelope = JSON.parse(genuine.toString());
    const { payload, payloadType, signatures } = envelope;
    const forms: unknown[] = [
      null,
      [],
      {},
      { payload, payloadType },
      { payload, payloadType, signatures: [] },
      { payload, payloadType: 'text/plain', signatures },
      { payload, payloadType, signatures: [...signatures, ...signatures] },
      { payload, payloadType, signatures: [{ sig: signatures[0].sig }] },
      { ...envelope, extra: 1 },
    ];
    for (const form of forms)
      expect(verify(Buffer.from(JSON.stringify(form)))).toMatchObject({ code: 'SIGNATURE_INVALID' });
    const most = limits.reportSignatureBytes;
    for (const size of [most, most + 1])
      expect(verify(Buffer.alloc(size, 0x20))).toMatchObject({ code: 'SIGNATURE_INVALID' });
    fc.assert(fc.property(fc.uint8Array(), (bytes) => 'code' in verify(bytes)));
  });
});
