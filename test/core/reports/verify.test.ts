import { deflateSync } from 'node:zlib';
import { beforeAll, describe, expect, it } from 'vitest';
import { ed25519Signer } from '../../../src/core/note/signed.ts';
import { dataHash, toJson } from '../../../src/core/reports/artifacts.ts';
import { attachedFiles, contentOf, type PdfFile, readPdf } from '../../../src/core/reports/read-pdf.ts';
import type { Report } from '../../../src/core/reports/model.ts';
import { templateHash } from '../../../src/core/reports/template-hash.ts';
import {
  type ReportVerdict,
  type ReportVerifyOptions,
  verifyReport,
} from '../../../src/core/reports/verify.ts';
import { comparePagesWith } from '../../../src/core/reports/verify-pages.ts';
import { readReportFonts } from '../../../src/host/reports/fonts.ts';
import { origin, privateKey, trust } from '../proofs/log.ts';
import { plainBranding, proofBundle, sampleReport, signatureOf, signedPdf } from './sample.ts';

const fonts = await readReportFonts();
const render = (report: Report): Promise<Buffer> => signedPdf(report, { fonts });
const pages = comparePagesWith(fonts);
const verify = (bytes: Uint8Array, more: Partial<ReportVerifyOptions> = {}): Promise<ReportVerdict> =>
  verifyReport(bytes, { trust, pages, ...more });
const result = ({ checks }: ReportVerdict, id: string): string | undefined =>
  checks.find((each) => each.id === id)?.result;

const report = sampleReport({ rows: 3 });
let pdf: Buffer;
let read: PdfFile;
beforeAll(async () => {
  pdf = await render(report);
  read = readPdf(pdf);
});

/** The file with other content of one object, with lengths and offsets that fit. */
function withContent(id: number, change: (content: Buffer) => Buffer | string, after = ''): Buffer {
  const parts: Buffer[] = [Buffer.from('%PDF-1.7\n%\xff\xff\xff\xff\n', 'latin1')];
  const offsets: number[] = [];
  let at = parts[0]!.length;
  for (const object of read.objects.values()) {
    let { stream } = object;
    if (stream !== null && object.id === id) {
      const content = Buffer.from(change(contentOf(object, 1 << 26)) as Buffer);
      stream = object.isDeflated ? deflateSync(content, { level: 1 }) : content;
      stream = Buffer.concat([stream, Buffer.from(after)]);
    }
    const text = object.text.replace('/Length', `/Length ${stream?.length}`);
    const body = stream === null ? [] : [Buffer.from('\nstream\n'), stream, Buffer.from('\nendstream')];
    const part = Buffer.concat([
      Buffer.from(`${object.id} 0 obj\n${text}`, 'latin1'),
      ...body,
      Buffer.from('\nendobj\n'),
    ]);
    offsets[object.id] = at;
    at += part.length;
    parts.push(part);
  }
  const table = offsets.slice(1).map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`);
  const end = `xref\n0 ${offsets.length}\n0000000000 65535 f \n${table.join('')}trailer\n${read.trailer}\nstartxref\n${at}\n%%EOF\n`;
  return Buffer.concat([...parts, Buffer.from(end, 'latin1')]);
}

const objectWith = (pattern: RegExp): number[] =>
  [...read.objects.values()].filter(({ text }) => pattern.test(text)).map(({ id }) => id);
const pageContents = (): number[] =>
  objectWith(/^<<\n\/Type \/Page\n/).map((id) =>
    Number(/\/Contents (\d+) 0 R/.exec(read.objects.get(id)!.text)?.[1]),
  );

describe('the verification of a report', () => {
  it('a report is verified with the key of its log, and every check passes', async () => {
    const verdict = await verify(pdf);
    expect(verdict).toMatchObject({ verified: true, code: null, dataHash: dataHash(report), treeSize: 14 });
    for (const id of ['format', 'signature', 'attachments', 'checkpoint', 'proofs', 'pages'])
      expect(result(verdict, id)).toBe('passed');
    expect(verdict.proofs.map(({ verdict: { verified } }) => verified)).toEqual([true]);
  });

  it('the same pages with content that another zlib compressed are verified', async () => {
    const [first = 0] = pageContents();
    const same = withContent(first, (content) => content);
    expect((await verify(same)).verified).toBe(true);
    expect(same.equals(pdf)).toBe(false);
  });

  it('the JSON artifact is verified, and has the same data hash', async () => {
    const verdict = await verify(toJson(report), { signature: signatureOf(report) });
    expect(verdict).toMatchObject({ verified: true, artifact: 'json', dataHash: dataHash(report) });
    expect(result(verdict, 'pages')).toBe('not_checked');
  });

  it('without a key nothing is verified, and the hashes are still checked', async () => {
    const verdict = await verify(pdf, { trust: null });
    expect(verdict).toMatchObject({ verified: false, code: 'NO_TRUSTED_KEY' });
    expect(result(verdict, 'pages')).toBe('passed');
  });

  it('another data hash than the expected one is refused', async () => {
    expect(await verify(pdf, { expectedHash: dataHash(report) })).toMatchObject({ verified: true });
    const expectedHash = `sha256:${'0'.repeat(64)}`;
    expect(await verify(pdf, { expectedHash })).toMatchObject({
      verified: false,
      code: 'DATA_HASH_MISMATCH',
    });
  });
});

describe('a changed report', () => {
  it('other figures over the signed checkpoint, with pages rendered again, are refused with the signature of the genuine ones', async () => {
    const figures = report.figures.map((figure) => ({ ...figure, value: 0 }));
    const forged = { ...report, figures };
    const signature = signatureOf(report, { fonts });
    const verdict = await verify(await signedPdf(forged, { fonts, signature }));
    expect(verdict).toMatchObject({ verified: false, code: 'REPORT_SIGNATURE_MISMATCH', signatures: [] });
    expect(result(verdict, 'pages')).toBe('not_checked'); // they agree with data that is not the signed one
    const signers = [ed25519Signer(origin, privateKey('stranger'))];
    expect(await verify(await signedPdf(forged, { fonts, signers }))).toMatchObject({
      verified: false,
      code: 'SIGNATURE_INVALID',
    });
  });

  it('a report without a signature is refused, and verified only under the data hash that the caller has', async () => {
    const unsigned = await signedPdf(report, { fonts, signature: null });
    const verdict = await verify(unsigned);
    expect(verdict).toMatchObject({ verified: false, code: 'SIGNATURE_MISSING', executionId: null });
    expect(result(verdict, 'pages')).toBe('not_checked'); // they agree with data that is not the signed one
    expect(await verify(unsigned, { expectedHash: dataHash(report) })).toMatchObject({ verified: true });
    expect(await verify(toJson(report))).toMatchObject({ verified: false, code: 'SIGNATURE_MISSING' });
  });

  it('another logo, color or footer under the signature of the log is refused, although the pages agree', async () => {
    const signature = signatureOf(report, { fonts });
    const branding = { ...plainBranding, footerText: 'Approved by the auditor' };
    const verdict = await verify(await signedPdf(report, { fonts, branding, signature }));
    expect(verdict).toMatchObject({ verified: false, code: 'REPORT_SIGNATURE_MISMATCH' });
    expect(result(verdict, 'pages')).toBe('not_checked'); // they agree with data that is not the signed one
  });

  it('a flipped byte in any attachment is refused, whether compression notices or not', async () => {
    const names = [...attachedFiles(read, 1 << 26).keys()];
    expect(names).toHaveLength(6);
    for (const id of objectWith(/^<<\n\/Type \/EmbeddedFile/)) {
      const { length } = contentOf(read.objects.get(id)!, 1 << 26);
      for (const at of [0, Math.floor(length / 3), length - 1]) {
        const changed = withContent(id, (content) => {
          content[at]! ^= 1;
          return content;
        });
        expect((await verify(changed)).verified).toBe(false);
      }
    }
  });

  it('bytes after the end of compressed content are refused in every object', async () => {
    const deflated = [...read.objects.values()].filter(({ isDeflated }) => isDeflated);
    expect(deflated.length).toBeGreaterThan(10);
    for (const { id } of deflated) {
      const changed = withContent(id, (content) => content, 'hidden');
      expect([id, (await verify(changed)).verified]).toEqual([id, false]);
      expect(() => contentOf(readPdf(changed).objects.get(id)!, 1 << 26)).toThrow(/got 6 more bytes/);
    }
    const [first] = deflated;
    expect((await verify(withContent(first!.id, (content) => content))).verified).toBe(true);
  });

  it('a flipped byte anywhere in the file is refused', async () => {
    for (let at = 5; at < pdf.length; at += Math.ceil(pdf.length / 60)) {
      const changed = Buffer.from(pdf);
      changed[at]! ^= 0x10;
      expect((await verify(changed)).verified).toBe(false);
    }
  });

  it('altered text, a rectangle over a figure, and hidden text are refused on every page', async () => {
    const changes: ((content: string) => string)[] = [
      (content) => content.replace(/<([0-9a-f]{4})([0-9a-f]{4})/, '<$2$1'),
      (content) => `${content}1 0 0 rg 60 60 100 100 re f\n`,
      (content) => content.replace('BT', 'BT\n3 Tr'),
    ];
    const pages = pageContents();
    for (const [at, id] of pages.entries()) {
      const change = changes[at % changes.length]!;
      const changed = withContent(id, (content) => Buffer.from(change(content.toString('latin1')), 'latin1'));
      const verdict = await verify(changed);
      expect(verdict).toMatchObject({ verified: false, code: 'PAGES_DIFFER' });
      expect(verdict.checks.at(-1)?.detail).toBe(`page ${at + 1} differs`);
    }
  });

  it('a font that draws other shapes for the same characters is refused', async () => {
    const [font = 0] = objectWith(/\/FontFile2/).map((id) =>
      Number(/\/FontFile2 (\d+)/.exec(read.objects.get(id)!.text)?.[1]),
    );
    const changed = withContent(font, (content) => {
      content[content.length - 100]! ^= 1;
      return content;
    });
    expect(await verify(changed)).toMatchObject({ verified: false, code: 'PAGES_DIFFER' });
  });

  it('data of another report under the old pages is refused', async () => {
    const other = sampleReport({ rows: 4 });
    const [data = 0] = objectWith(/^<<\n\/Type \/EmbeddedFile/);
    const changed = withContent(data, () => Buffer.from(toJson(other)));
    const verdict = await verify(changed);
    expect(verdict.verified).toBe(false);
    expect(result(verdict, 'attachments')).toBe('failed');
    expect(result(verdict, 'pages')).toBe('failed');
  });

  it('a checkpoint that is not the signed one of this tree is refused', async () => {
    const lying = { ...report, log: { ...report.log, treeSize: 15 } };
    expect(await verify(await render(lying))).toMatchObject({ verified: false, code: 'CHECKPOINT_MISMATCH' });
    const forged = {
      ...report,
      log: { ...report.log, checkpoint: report.log.checkpoint.replace('\n14\n', '\n15\n') },
    };
    expect(await verify(await render(forged))).toMatchObject({ verified: false, code: 'SIGNATURE_INVALID' });
  });

  it('a proof that does not verify is refused, although the report names its hash', async () => {
    const bytes = Buffer.from(proofBundle.bytes.toString().replace('run.started', 'run.stopped'));
    const attachment = { name: proofBundle.name, bytes };
    const broken = sampleReport({ rows: 1, attachments: [attachment] });
    const changed = await signedPdf(broken, { attachments: [attachment], fonts });
    const verdict = await verify(changed);
    expect(verdict).toMatchObject({ verified: false, code: 'PROOF_NOT_VERIFIED' });
    expect(result(verdict, 'pages')).toBe('passed');
  });

  it.each([
    ['an answer of the log', 'calls.govanswer.json'],
    ['a proof of units', 'units-by-day.govunits.json'],
  ])('%s that does not verify is refused', async (_what, name) => {
    const attachment = { name, bytes: Buffer.from('{}') };
    const broken = sampleReport({ rows: 1, attachments: [attachment] });
    const changed = await signedPdf(broken, { attachments: [attachment], fonts });
    expect(await verify(changed)).toMatchObject({ verified: false, code: 'PROOF_NOT_VERIFIED' });
  });

  it('a later addition, such as a signature, is refused with the length of the report below it', async () => {
    const verdict = await verify(Buffer.concat([pdf, Buffer.from('\n1 0 obj\n<<>>\nendobj\n')]));
    expect(verdict).toMatchObject({ verified: false, code: 'REPORT_EXTENDED' });
    expect(verdict.checks[0]?.detail).toContain(`head -c ${pdf.length}`);
  });

  it('pages of another version are not called verified, and the data alone can be judged', async () => {
    const older = await signedPdf(report, {
      fonts,
      producer: 'gov report renderer 0 (ICU 1.0, tz 2020a)',
    });
    // the same pages: verified, whatever version wrote them
    expect((await verify(older)).verified).toBe(true);
    const [first = 0] = pageContents();
    read = readPdf(Buffer.from(older));
    const changed = withContent(first, (content) => `${content.toString('latin1')}\n`);
    read = readPdf(pdf);
    expect(await verify(changed)).toMatchObject({ verified: false, code: 'PAGES_NOT_COMPARED' });
    expect(await verify(changed, { pages: 'not compared' })).toMatchObject({ verified: true });
  });

  it('fonts that are not here are named, and the pages are not called verified', async () => {
    const others = [{ name: 'more.ttf', bytes: fonts.bold.bytes }];
    const bytes = await signedPdf(report, {
      fonts: { ...fonts, bold: fonts.mono, others },
    });
    expect((await verify(bytes)).verified).toBe(true);
    const without = { ...fonts, bold: fonts.regular };
    const verdict = await verify(bytes, { pages: comparePagesWith(without) });
    expect(verdict).toMatchObject({ verified: false, code: 'PAGES_NOT_COMPARED' });
    expect(verdict.checks.at(-1)?.detail).toContain('more.ttf');
  });

  it.each([
    ['an empty file', ''],
    ['another PDF', '%PDF-1.4\n1 0 obj\n<<>>\nendobj\n'],
    ['JSON of another kind', '{"a":1}'],
    ['JSON that is not canonical', `${JSON.stringify(sampleReport(), null, 1)}`],
    ['JSON that ends early', '{"attachments":{'],
  ])('%s is a malformed report', async (_, text) => {
    expect(await verify(Buffer.from(text))).toMatchObject({ verified: false, code: 'MALFORMED_REPORT' });
  });

  it('the template in the data is verified with it, and one of another form is malformed', async () => {
    const template = { version: 2, name: 'Pack', title: 'Pack', introduction: null, sections: ['a/b'] };
    const having = (changed: unknown): Report => ({ ...report, template: changed as typeof template });
    const check = (of: Report) => verify(toJson(of), { signature: Buffer.from(signatureOf(of)) });
    expect(await check(having(template))).toMatchObject({
      verified: true,
      template: { name: 'Pack', version: 2, definitionHash: templateHash(template) },
    });
    expect(await check(report)).toMatchObject({ verified: true, template: null });
    // signed with another version
    const signature = Buffer.from(signatureOf(having({ ...template, version: 1 })));
    expect((await verify(toJson(having(template)), { signature })).code).toBe('REPORT_SIGNATURE_MISMATCH');
    const { name: _name, ...nameless } = template;
    for (const changed of [null, 'tpl', nameless, { ...template, more: 1 }, { ...template, sections: [1] }])
      expect((await check(having(changed))).code).toBe('MALFORMED_REPORT');
  });

  it('the signature of a report is no report, and the verdict says what to verify', async () => {
    const verdict = await verify(Buffer.from('{"payload":"","payloadType":"x","signatures":[]}'));
    expect(verdict).toMatchObject({ verified: false, code: 'MALFORMED_REPORT' });
    expect(verdict.checks[0]?.detail).toBe(
      'expected a report, got the signature of one; verify the report that lies beside it',
    );
  });

  it('hostile data never makes the verifier throw', async () => {
    const json = Buffer.from(toJson(report)).toString();
    const changes: [string, string][] = [
      ['"Europe/Berlin"', '"Mars/Olympus"'],
      ['"2026-11-02T09:15:00.000Z"', '"never"'],
      ['"population":3', '"population":-1'],
      ['"table":"tool-calls"', '"table":"nothing"'],
      ['"exceptions":1', '"exceptions":9007199254740991'],
      ['"locale":"en-GB"', '"locale":"%%"'],
    ];
    const [data = 0] = objectWith(/^<<\n\/Type \/EmbeddedFile/);
    for (const [from, to] of changes) {
      expect(json).toContain(from);
      const verdict = await verify(withContent(data, () => json.replace(from, to)));
      expect(verdict.verified).toBe(false);
    }
  });
});
