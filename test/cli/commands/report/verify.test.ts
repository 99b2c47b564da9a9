import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { dataHash, toCsv, toJson } from '../../../../src/core/reports/artifacts.ts';
import { ed25519Cosigner, openCheckpoint } from '../../../../src/core/note/checkpoint.ts';
import { parseVerifierKey, signatureLine } from '../../../../src/core/note/signed.ts';
import { formatTrust } from '../../../../src/core/note/trust.ts';
import { answerText } from '../../../../src/core/proofs/answer.ts';
import type { Report } from '../../../../src/core/reports/model.ts';
import type { ReportAttachment } from '../../../../src/core/reports/inputs.ts';
import { readReportFonts } from '../../../../src/host/reports/fonts.ts';
import { answer } from '../../../core/proofs/asked.ts';
import { logSigner, origin, trust } from '../../../core/proofs/log.ts';
import { sampleReport, signatureOf, signedPdf } from '../../../core/reports/sample.ts';
import { emptyDirectory, govHere } from '../../support/tool.ts';

const folder = emptyDirectory();
const file = (name: string, content: string | Uint8Array): string => {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
};
const report = sampleReport({ rows: 5 });
const fonts = await readReportFonts();
const trustFile = file('trust', formatTrust(trust));
let bytes: Buffer;
let pdf: string;
beforeAll(async () => {
  bytes = await signedPdf(report, { fonts });
  pdf = file('report.pdf', bytes);
});

describe('gov report verify', () => {
  it('a report is verified without network and context, with exit code 0', async () => {
    const env = { GOV_BASE_URL: 'http://127.0.0.1:1/', HTTP_PROXY: 'http://127.0.0.1:1' };
    for (const argv of [
      ['--trust', trustFile],
      ['--key', logSigner.verifierKey],
    ]) {
      const { code, stdout } = await govHere(['report', 'verify', pdf, ...argv, '-o', 'json'], { env });
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        verified: true,
        artifact: 'pdf',
        dataHash: dataHash(report),
        trustedOrigin: origin,
        proofs: [{ name: 'run-1.govproof.json', runId: 'run-1', verified: true }],
      });
    }
  });

  it('the JSON artifact is verified under the same data hash', async () => {
    const json = file('report.json', toJson(report));
    const hash = dataHash(report).slice('sha256:'.length);
    const argv = ['report', 'verify', json, '--trust', trustFile, '-o', 'id'];
    const verified = { code: 0, stdout: `${dataHash(report)}\n` };
    expect(await govHere([...argv, '--hash', hash])).toMatchObject(verified);
    expect((await govHere(argv)).code).toBe(3);
    const elsewhere = file('signature', signatureOf(report));
    expect(await govHere([...argv, '--signature', elsewhere])).toMatchObject(verified);
    expect((await govHere([...argv, '--signature', join(folder, 'none')])).code).toBe(2);
    // beside it, under the name that `gov report download` gives it
    file('report.dsse.json', signatureOf(report));
    expect(await govHere(argv)).toMatchObject(verified);
  });

  it('a report that nobody signed gives exit code 3 and the flag that helps', async () => {
    const path = file('unsigned.pdf', await signedPdf(report, { fonts, signature: null }));
    const argv = ['report', 'verify', path, '--trust', trustFile, '-o', 'table'];
    const alone = await govHere(argv);
    expect(alone.code).toBe(3);
    expect(alone.stdout).toContain('✗ NOT VERIFIED');
    expect(alone.stdout).toContain('require its data hash with --hash');
    const compared = await govHere([...argv, '--hash', dataHash(report)]);
    expect(compared).toMatchObject({ code: 0, stderr: '' });
    expect(compared.stdout).toContain('✓ verified');
  });

  it('a report without any key is not verified, with exit code 2 and the flags to use', async () => {
    const { code, stderr } = await govHere(['report', 'verify', pdf]);
    expect(code).toBe(2);
    expect(stderr).toContain('give --key VKEY or --trust FILE');
  });

  it('a changed report gives exit code 3, also without a key', async () => {
    const changed = Buffer.from(bytes);
    // the title in the document information
    changed.write('Fool', changed.indexOf('(Tool access') + 1, 'latin1');
    const path = file('changed.pdf', changed);
    for (const argv of [[], ['--trust', trustFile]]) {
      const { code, stdout } = await govHere(['report', 'verify', path, ...argv, '-o', 'json']);
      expect(code).toBe(3);
      expect(JSON.parse(stdout)).toMatchObject({ verified: false, code: 'PAGES_DIFFER' });
    }
  });

  it('another data hash than the required one gives exit code 3', async () => {
    const argv = ['report', 'verify', pdf, '--trust', trustFile, '--hash', '0'.repeat(64)];
    expect((await govHere(argv)).code).toBe(3);
  });

  it('less than --require-completeness gives exit code 3, and the strength is the weakest of the attached files', async () => {
    const asked = answer(['run', 'run-0']);
    const witness = ed25519Cosigner('w1.example', generateKeyPairSync('ed25519').privateKey);
    const [text = ''] = asked.checkpoint.split('\n\n');
    const line = signatureLine(`${text}\n`, witness, { timestampSeconds: 1_764_000_000 });
    const cosigned = answerText({ ...asked, checkpoint: asked.checkpoint + line });
    const index = { witnesses: [{ name: 'W1', key: parseVerifierKey(witness.verifierKey) }], quorum: 1 };
    const naming = file('naming', formatTrust({ ...trust, index }));
    const attached = { name: 'run.govanswer.json', bytes: Buffer.from(cosigned) };
    const pdfOf = async (attachments: readonly ReportAttachment[], of: Partial<Report> = {}) => {
      const { size, root } = openCheckpoint(asked.checkpoint, trust.keys, origin).checkpoint;
      // the report is of the log that answers: a report of another history would be found
      const rootHash = Buffer.from(root).toString('base64');
      const log = { origin, treeSize: size, rootHash, checkpoint: asked.checkpoint };
      const made = { ...sampleReport({ rows: 5, attachments }), log, ...of };
      return file('strength.pdf', await signedPdf(made, { fonts, attachments }));
    };
    const verify = async (path: string, ...more: string[]) => {
      // other tests have kept heads of another history of this origin
      const env = { GOV_CONFIG_DIR: emptyDirectory() };
      return govHere(['report', 'verify', path, ...more], { env });
    };
    const rows: [readonly ReportAttachment[], string, string, number, string][] = [
      [[attached], naming, 'witnessed', 0, 'proven to 1 of 1 index witnesses (W1)'],
      [[attached], trustFile, 'witnessed', 3, "by the operator's own index"],
      [[attached], trustFile, 'own_index', 0, "by the operator's own index"],
      [[], naming, 'own_index', 3, 'not checked'],
    ];
    for (const [attachments, by, required, code, words] of rows) {
      const argv = ['--trust', by, '--require-completeness', required];
      const made = await pdfOf(attachments);
      const result = await verify(made, ...argv, '-o', 'table');
      expect([required, attachments.length, result.code]).toEqual([required, attachments.length, code]);
      expect(result.stdout).toContain(`none missing: ${words}`);
      expect(result.stdout).toContain('not shown of ');
      expect((await verify(made, ...argv)).stdout).toMatch(/^table\t.+\tnot_shown$/m);
      expect(result.stdout.includes('less strongly than you require')).toBe(code === 3);
    }
    // the first table is the one that the report is about: an answer about another one does not speak of it
    for (const [tables, code] of [
      [report.tables, 0],
      [report.tables.toReversed(), 3],
    ] as const) {
      const made = await pdfOf([attached], { tables });
      expect((await verify(made, '--trust', trustFile)).code).toBe(0);
      const argv = ['--trust', trustFile, '--require-completeness', 'own_index', '-o', 'json'];
      const { stdout, ...required } = await verify(made, ...argv);
      expect(required.code).toBe(code);
      expect(JSON.parse(stdout)).toMatchObject({
        code: code === 0 ? null : 'COMPLETENESS_TOO_WEAK',
        mainTableShown: code === 0,
        completeness: { strength: 'own_index' },
      });
    }
    // the report of another history than its answer
    const split = sampleReport({ rows: 5, attachments: [attached] });
    const path = file('split.pdf', await signedPdf(split, { fonts, attachments: [attached] }));
    const env = { GOV_CONFIG_DIR: emptyDirectory() };
    expect(await govHere(['report', 'verify', path, '--trust', trustFile], { env })).toMatchObject({
      code: 3,
      stdout: expect.stringContaining('SPLIT_VIEW'),
    });
    const json = file('strength.json', toJson(report));
    file('strength.dsse.json', signatureOf(report));
    const argv = ['report', 'verify', json, '--trust', naming, '--require-completeness', 'own_index'];
    const expected = { code: 3, stdout: expect.stringContaining('COMPLETENESS_TOO_WEAK') };
    expect(await govHere(argv)).toMatchObject(expected);
  });

  it('a file that is no report, a CSV, and a missing file give exit code 2 with the reason', async () => {
    const cases: [string, RegExp][] = [
      [file('report.csv', toCsv(report)), /a CSV cannot be verified alone/],
      [file('other.pdf', '%PDF-1.4\n'), /not a report/],
      [join(folder, 'none.pdf'), /none\.pdf/],
    ];
    for (const [path, reason] of cases) {
      const { code, stdout, stderr } = await govHere([
        'report',
        'verify',
        path,
        '--trust',
        trustFile,
        '-o',
        'table',
      ]);
      expect(code).toBe(2);
      expect(stdout + stderr).toMatch(reason);
    }
  });
});
