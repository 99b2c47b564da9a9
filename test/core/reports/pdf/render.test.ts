import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { dataHash, toCsv, toJson } from '../../../../src/core/reports/artifacts.ts';
import { toPdf } from '../../../../src/core/reports/pdf/render.ts';
import type { Report } from '../../../../src/core/reports/model.ts';
import { readReportFonts } from '../../../../src/host/reports/fonts.ts';
import { plainBranding, proofBundle, sampleReport, signedPdf } from '../sample.ts';

const fonts = await readReportFonts();
const folder = mkdtempSync(join(tmpdir(), 'gov-pdf-'));
afterAll(() => rmSync(folder, { recursive: true }));

const has = (program: string): boolean => {
  try {
    execFileSync('which', [program]);
    return true;
  } catch {
    return false;
  }
};
const hasTools = ['qpdf', 'pdfdetach', 'pdftotext', 'pdfinfo', 'pdffonts'].every(has);

const render = (report: Report, branding = plainBranding): Promise<Uint8Array> =>
  signedPdf(report, { fonts, branding });

async function written(report: Report, branding = plainBranding): Promise<string> {
  const path = join(folder, 'report.pdf');
  writeFileSync(path, await render(report, branding));
  return path;
}
const output = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 26 });

describe('a report as PDF', () => {
  it('the same report gives the same bytes', async () => {
    const [one, other] = [await render(sampleReport()), await render(sampleReport())];
    expect(Buffer.compare(one, other)).toBe(0);
  });

  it('the title of the window and the author of the file show no hidden character', async () => {
    const report = sampleReport({ title: 'All paid\u3164\u{e0061}\u{e0062}' });
    const file = Buffer.from(await render(report, { ...plainBranding, companyName: 'Acme\u00ad' }));
    // the metadata of PDF/A is plain XML
    const metadata = file.toString().match(/<x:xmpmeta[^]+<\/x:xmpmeta>/)?.[0];
    expect(metadata).toContain('>All paid\\u3164\\u{e0061}\\u{e0062}<');
    expect(metadata).toContain('>Acme\\u00ad<');
  });

  it('an attachment that the report does not name, lacks, or names with another hash is refused', async () => {
    const report = sampleReport();
    const options = { paper: 'A4', fonts, signature: null } as const;
    const changed = { ...proofBundle, bytes: Buffer.from('{}') };
    await expect(toPdf(report, plainBranding, [], options)).rejects.toThrow(/got no file/);
    await expect(toPdf(report, plainBranding, [changed], options)).rejects.toThrow(/expected SHA-256/);
    const stranger = { name: 'other.json', bytes: Buffer.from('{}') };
    await expect(toPdf(report, plainBranding, [proofBundle, stranger], options)).rejects.toThrow(
      /other\.json/,
    );
  });
});

describe.skipIf(!hasTools)('a report as PDF, read by other programs (needs qpdf and poppler)', () => {
  it.each([0, 1, 60])('with %i rows, qpdf finds no fault, and the document is tagged', async (rows) => {
    const path = await written(sampleReport({ rows }));
    expect(output('qpdf', '--check', path)).toContain('No syntax or stream encoding errors');
    const info = output('pdfinfo', path);
    expect(info).toMatch(/Tagged: +yes/);
    expect(info).toMatch(/JavaScript: +no/);
    const structure = output('pdfinfo', '-struct', path);
    for (const tag of ['H1', 'TOC', 'Table', 'TH', 'Figure'])
      expect(structure).toMatch(new RegExp(`^ +${tag}\\b`, 'm'));
  });

  it('the axis of counts has whole numbers alone', async () => {
    const report = sampleReport({ rows: 0 });
    const chart = (n: number) =>
      ({ kind: 'bars', title: 'C', text: 'T', labels: ['a'], series: [{ name: 's', values: [n] }] }) as const;
    for (const n of [1, 5, 6, 9, 10, 60]) {
      const sections = [{ title: 'Counts', blocks: [{ chart: chart(n) }] }];
      const text = output('pdftotext', await written({ ...report, figures: [], tables: [], sections }), '-');
      expect([n, text.match(/^\d+\.5$/gm)]).toEqual([n, null]);
    }
  });

  it('every font is embedded', async () => {
    const lines = output('pdffonts', await written(sampleReport()))
      .trim()
      .split('\n')
      .slice(2);
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines) expect(line).toMatch(/ yes yes yes +\d+ +0$/);
  });

  it('the attachments are the JSON artifact, the CSV of each table, and the given files', async () => {
    const report = sampleReport();
    const path = await written(report);
    const files = mkdtempSync(join(folder, 'files-'));
    output('pdfdetach', '-saveall', '-o', files, path);
    const read = (name: string): Buffer => execFileSync('cat', [join(files, name)]);
    expect(read('report.json').equals(toJson(report))).toBe(true);
    expect(read('tool-calls.csv').equals(toCsv(report))).toBe(true);
    expect(read(proofBundle.name).equals(proofBundle.bytes)).toBe(true);
    expect(read('policies.csv').toString()).toContain(dataHash(report));
  });

  it('the text says title, checks, figures, zones and the data hash on every page', async () => {
    const report = sampleReport({ rows: 60 });
    const text = output('pdftotext', '-layout', await written(report), '-');
    for (const words of [
      report.title,
      'NOT SHOWN',
      'FAIL',
      'UTC+02:00',
      'UTC+01:00',
      'Reviewed by',
      'Contents',
    ])
      expect(text).toContain(words);
    const pages = text.split('\f').slice(0, -1);
    pages.forEach((page, at) => {
      expect(page).toContain(dataHash(report));
      expect(page).toContain(`Page ${at + 1} of ${pages.length}`);
    });
  });

  it('many figures of a custom template have whole ids and labels, and name its version', async () => {
    const value = 'prf_01m8fm8y86ejfa13bzf7qmwb5y';
    const label = 'Events whose own time is more than 5 min off';
    const figures = Array.from({ length: 14 }, (_, at) => ({
      name: `f${at}`,
      label,
      value,
      kind: 'text' as const,
    }));
    const template = { version: 7, name: 'Pack', title: 'Pack', introduction: null, sections: ['a/b'] };
    const report = { ...sampleReport({ rows: 1 }), figures, template };
    const text = output('pdftotext', '-raw', await written(report), '-').replace(/\s/g, '');
    expect(text.split(value).length - 1).toBeGreaterThanOrEqual(figures.length);
    expect(text.split(label.replace(/ /g, '')).length - 1).toBe(figures.length);
    expect(text).toContain(`Pack,version7(${report.reportTemplateId})`);
  });

  it('user text cannot add markup, actions or objects', async () => {
    const title = 'A) Tj ET\nendstream endobj /JavaScript (app.alert(1)) <b>&amp; \\) (';
    const path = await written(sampleReport({ title }), { ...plainBranding, footerText: ') >> /S /URI (x' });
    expect(output('qpdf', '--check', path)).toContain('No syntax or stream encoding errors');
    const objects = output('qpdf', '--json', path);
    for (const name of ['/JavaScript"', '/JS"', '/URI"', '/Launch"', '/AcroForm"', '/OpenAction"'])
      expect(objects).not.toContain(`"${name}`);
    expect(output('pdfinfo', path)).toMatch(/^Title: +A\) Tj ET\\nendstream/m);
    expect(output('pdfinfo', '-meta', path)).toContain('&lt;b&gt;&amp;amp;');
  });

  it('a table of many columns is set on turned paper, and what follows on upright paper', async () => {
    const report = sampleReport({ rows: 2 });
    const [first, ...others] = report.tables;
    const more = ['a', 'b', 'c', 'd'].map((name) => ({ name, title: name, kind: 'text' as const }));
    const wide = {
      ...first!,
      columns: [...first!.columns, ...more],
      rows: first!.rows.map((row) => [...row, 'x', 'y', 'z', null]),
    };
    const sections = [{ title: 'Wide', blocks: [{ text: 'A few words.' }, { table: first!.id }] }];
    const path = await written({ ...report, tables: [wide, ...others], sections });
    const sizes = output('pdfinfo', '-f', '1', '-l', '99', path).match(/^Page +\d+ size: +[\d.]+/gm) ?? [];
    const widths = sizes.map((line) => Number(line.split(' ').at(-1)));
    expect(widths.filter((width) => width > 800)).toHaveLength(1);
    expect(widths.at(-1)).toBeCloseTo(595.28);
    const turned = widths.findIndex((width) => width > 800) + 1;
    const page = output('pdftotext', '-bbox', '-f', `${turned}`, '-l', `${turned}`, path, '-');
    const words = [...page.matchAll(/xMax="([\d.]+)" yMax="[\d.]+">([^<]+)</g)];
    // the section begins on the page of its table, and the number of the page is at its right margin
    expect(words.map(([, , word]) => word)).toEqual(expect.arrayContaining(['Wide', 'words.', 'Page']));
    expect(Math.max(...words.map(([, right]) => Number(right)))).toBeGreaterThan(770);
    expect(Number(words.at(words.findIndex(([, , word]) => word === 'Page') + 3)?.[1])).toBeGreaterThan(770);
  });

  it('titles of columns break between words before cells break within them', async () => {
    const report = sampleReport({ rows: 2 });
    const [first, ...others] = report.tables;
    const counts = ['one', 'two', 'three', 'four', 'five', 'six', 'seven'].map((name) => ({
      name,
      title: `Calls that were counted as ${name}`,
      kind: 'number' as const,
    }));
    const tool = { name: 'tool', title: 'Tool', kind: 'text' as const };
    const row = ['get_reservation_details', 1, 2, 3, 4, 5, 6, 7];
    const table = { ...first!, columns: [tool, ...counts], rows: [row, row] };
    const path = await written({
      ...report,
      tables: [{ ...table, exceptions: 0, population: 2 }, ...others],
    });
    expect(output('pdftotext', '-layout', path, '-')).toContain('get_reservation_details');
  });

  it('a table says why none of its rows is printed', async () => {
    const report = sampleReport({ rows: 1 });
    const first = { ...report.tables[0]!, columns: [{ name: 'n', title: 'N', kind: 'number' as const }] };
    const rows = (population: number) => Array.from({ length: population }, (_, at) => [at]);
    const tables = [
      { ...first, rows: rows(1000), exceptions: 1000, population: 1000 },
      { ...first, id: 'small', title: 'Small', rows: rows(3), exceptions: 0, population: 3 },
    ];
    const sections = [{ title: 'All', blocks: tables.map(({ id }) => ({ table: id })) }];
    const text = output('pdftotext', '-layout', await written({ ...report, tables, sections }), '-');
    expect(text).toMatch(/Others: 3\s+None of them is printed/);
    expect(text).not.toContain('Sample: 0');
  });

  it('a report of 10,000 rows prints 1,000 and attaches all', async () => {
    const report = sampleReport({ rows: 10_000 });
    const text = output('pdftotext', '-layout', await written(report), '-');
    const rows = text.match(/^ *\d+ +\d\d Oct|^ *\d+ +\d\d \w{3} 20\d\d,/gm) ?? [];
    expect(text).toContain('Exceptions: 250');
    expect(text).toContain('Sample: 748');
    expect(rows.length).toBeGreaterThan(900);
    expect(Buffer.from(toCsv(report)).toString().split('\r\n')).toHaveLength(10_002);
  });
});
