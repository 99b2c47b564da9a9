import { createHash } from 'node:crypto';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { dataHash, toCsv, toJson, toTableCsv } from '../../../src/core/reports/artifacts.ts';
import { sampleReport } from './sample.ts';

describe('artifacts of a report', () => {
  it('the SHA-256 of the JSON artifact is the data hash of the report', () => {
    const report = sampleReport();
    const hex = createHash('sha256').update(toJson(report)).digest('hex');
    expect(dataHash(report)).toBe(`sha256:${hex}`);
  });

  it('the data hash does not depend on the order in which members were set', () => {
    const report = sampleReport();
    const turned = Object.fromEntries(Object.entries(report).reverse());
    expect(dataHash(turned as unknown as typeof report)).toBe(dataHash(report));
  });

  it('every record of the CSV artifact ends with the data hash and the checkpoint', () => {
    const report = sampleReport({ rows: 5 });
    const records = parse(Buffer.from(toCsv(report))) as string[][];
    expect(records).toHaveLength(6);
    expect(records[0]!.slice(-2)).toEqual(['dataHash', 'checkpoint']);
    for (const record of records.slice(1)) {
      expect(record.slice(-2)).toEqual([dataHash(report), `14 ${report.log.rootHash}`]);
    }
  });

  it('the CSV artifact has null as an empty cell and no cell that a spreadsheet reads as a formula', () => {
    const [, first, ...rest] = parse(Buffer.from(toCsv(sampleReport({ rows: 8 })))) as string[][];
    expect(first![5]).toBe('');
    expect(rest.at(-1)![2]).toBe("'=cmd|calc");
  });

  it('the CSV artifact spells out characters that reorder or hide text, and the JSON has them as recorded', () => {
    const report = sampleReport({ rows: 2 });
    const [table] = report.tables;
    const hostile = 'pay\u202e bob\u{e0041}\u001b[31m\n::set-output';
    const rows = [[hostile, 1, null]];
    const text = Buffer.from(toTableCsv(report, { ...table!, rows }, 'h')).toString();
    expect(text.split('\r\n')[1]).toBe(
      `pay\\u202e bob\\u{e0041}\\u001b[31m\\n::set-output,1,,h,14 ${report.log.rootHash}`,
    );
    expect(Buffer.from(toJson({ ...report, title: hostile })).toString()).toContain('pay\u202e bob\u{e0041}');
  });

  it('the CSV of a table without rows is its header alone', () => {
    const report = sampleReport({ rows: 0 });
    expect(Buffer.from(toCsv(report)).toString()).toMatch(
      /^serverTimestamp,[A-Za-z,]+,dataHash,checkpoint\r\n$/,
    );
    expect(toTableCsv(report, report.tables[1]!).length).toBeGreaterThan(100);
  });

  it('the CSV artifact of a report without tables is the two constant columns', () => {
    expect(Buffer.from(toCsv({ ...sampleReport(), tables: [] })).toString()).toBe('dataHash,checkpoint\r\n');
  });
});
