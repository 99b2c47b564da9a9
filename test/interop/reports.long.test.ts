/**
 * docs/how-to/verify-a-report.md, "Verify without our software", run word for word on a report of 10,000 rows, and on
 * copies with changed attachments. Only coreutils, sed, awk, grep, poppler, jq, openssl and python3.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatTrust } from '../../src/core/note/trust.ts';
import { dataHash } from '../../src/core/reports/artifacts.ts';
import { choosePrinted } from '../../src/core/reports/printed-rows.ts';
import { readReportFonts } from '../../src/host/reports/fonts.ts';
import { trust } from '../core/proofs/log.ts';
import { sampleReport, signedPdf } from '../core/reports/sample.ts';
import { blocks, page } from '../docs/pages.ts';
import { has } from './support/exported.ts';

const steps = blocks(page('docs/how-to/verify-a-report.md'), 'sh', 'Verify without our software');
const [takeOut = '', compareFiles = '', compareTables = '', signature = '', ofReport = '', drawAgain = ''] =
  steps;
const programs = ['pdfdetach', 'pdftotext', 'jq', 'openssl', 'python3', 'sha256sum', 'awk'];
const absent = programs.filter((program) => !has(program));

const folder = mkdtempSync(join(tmpdir(), 'gov-report-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Said {
  readonly code: number | null;
  readonly lines: readonly string[];
}

function follow(script: string): Said {
  const { status, stdout } = spawnSync('sh', ['-e'], { cwd: folder, input: script, encoding: 'utf8' });
  return { code: status, lines: stdout.trimEnd().split('\n') };
}

it('the page on verifying a report by hand has the six blocks that these tests run', () => {
  expect(steps).toHaveLength(6);
});

describe.skipIf(absent.length > 0)(
  'a report, checked by hand (needs poppler, jq, openssl and python3)',
  () => {
    const report = sampleReport({ rows: 10_000 });

    beforeAll(async () => {
      const fonts = await readReportFonts();
      writeFileSync(join(folder, 'report.pdf'), await signedPdf(report, { fonts }));
      writeFileSync(join(folder, 'trust'), formatTrust(trust));
      expect(follow(takeOut).code).toBe(0);
    });
    const changing = (name: string, change: (text: string) => string, check: () => void): void => {
      const path = join(folder, 'files', name);
      const genuine = readFileSync(path);
      writeFileSync(path, change(genuine.toString()));
      check();
      writeFileSync(path, genuine);
    };

    it('the data hash of the attached data is the one at the foot of the pages', () => {
      const { lines } = follow(takeOut.split('\n').slice(2).join('\n'));
      expect(lines).toEqual([`${dataHash(report).slice(7)}  files/report.json`, dataHash(report)]);
    });

    it('the attached evidence has the hashes that the data names, and a changed file has not', () => {
      expect(follow(compareFiles)).toEqual({ code: 0, lines: ['files/run-1.govproof.json: OK'] });
      changing(
        'run-1.govproof.json',
        (text) => text.replace('run.started', 'run.stopped'),
        () => expect(follow(compareFiles).code).not.toBe(0),
      );
    });

    it('the tables agree with the data, and a table without its last row does not', () => {
      expect(follow(compareTables)).toEqual({ code: 0, lines: ['tool-calls 10000 OK', 'policies 2 OK'] });
      changing(
        'policies.csv',
        (text) => text.split('\r\n').slice(0, -2).join('\r\n'),
        () => expect(follow(compareTables).lines).toContain('policies 1 DIFFERS'),
      );
    });

    it('the signature of the log is valid for the tree of the report, and a changed size is found', () => {
      const { code, lines } = follow(signature);
      expect(code).toBe(0);
      expect(lines).toEqual([
        'Signature Verified Successfully',
        '14',
        report.log.rootHash,
        '14',
        report.log.rootHash,
      ]);
      changing(
        'report.json',
        (text) => text.replace('audit\\n14\\n', 'audit\\n15\\n'),
        () => expect(follow(signature).code).not.toBe(0),
      );
    });

    it('the signature of the report is valid for its data and its pages, and other figures are found', () => {
      const both = `${signature}\n${ofReport}`;
      const { code, lines } = follow(both);
      expect(code).toBe(0);
      expect(lines.slice(5)).toEqual([
        'Signature Verified Successfully',
        'files/report.json: OK',
        'files/presentation.json: OK',
        'rex_01ke6p4zkfe009xvr000000000',
        report.project.projectId,
        report.reportTemplateId,
        '14',
      ]);
      changing(
        'report.json',
        (text) => text.replace('"exceptions":', '"exceptions" :'),
        () => expect(follow(both).code).not.toBe(0),
      );
      changing(
        'report.dsse.json',
        (text) => text.replace(/"payload":"(.{40})./, '"payload":"$1A'),
        () => expect(follow(both).code).not.toBe(0),
      );
    });

    it('the sample that the report printed is drawn again from the data', () => {
      const [calls] = choosePrinted(report, dataHash(report));
      const { code, lines } = follow(drawAgain);
      expect(code).toBe(0);
      expect(lines[0]).toBe(calls!.others.map((at) => at + 1).join(' '));
    });
  },
);
