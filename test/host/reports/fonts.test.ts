import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { readPdf } from '../../../src/core/reports/read-pdf.ts';
import { reportFontsOf } from '../../../src/host/reports/config.ts';
import { readReportFonts } from '../../../src/host/reports/fonts.ts';
import { projectRoot } from '../../paths.ts';
import { reportEnd } from '../../service/support/filled.ts';
import { reportPeriod } from '../../support/rows.ts';
import { startPlane } from '../../support/serving.ts';

const font = join(projectRoot, 'assets/fonts/NotoSansMono-Regular.ttf');
const folder = mkdtempSync(join(tmpdir(), 'gov-fonts-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('fonts of reports', () => {
  it('the package has three fonts', async () => {
    const { regular, bold, mono, others } = await readReportFonts();
    for (const { bytes } of [regular, bold, mono])
      expect(Buffer.from(bytes).readUInt32BE(0)).toBe(0x00010000);
    expect(others).toEqual([]);
  });

  it('fonts of a folder come in the order of their names, and other files are skipped', async () => {
    const several = mkdtempSync(join(folder, 'several-'));
    for (const name of ['b.otf', 'a.ttf', 'readme.txt']) writeFileSync(join(several, name), name);
    const { others } = await readReportFonts(several);
    expect(others.map(({ name }) => name)).toEqual(['a.ttf', 'b.otf']);
  });

  it('the folder is relative to the data directory, the variable wins, and neither may be without a font', () => {
    const place = { dataDir: join(folder, 'plane'), path: 'plane.json', env: {} };
    const one = mkdtempSync(join(folder, 'one-'));
    copyFileSync(font, join(one, 'A.TTF'));
    const empty = mkdtempSync(join(folder, 'empty-'));
    writeFileSync(join(empty, 'readme.txt'), '');
    const relative = `../${one.slice(folder.length + 1)}`;
    expect(reportFontsOf({}, place)).toBe(null);
    expect(reportFontsOf({ reportFonts: relative }, place)).toBe(one);
    expect(reportFontsOf({ reportFonts: empty }, { ...place, env: { GOV_REPORT_FONTS: one } })).toBe(one);
    expect(() => reportFontsOf({ reportFonts: empty }, place)).toThrow(
      `plane.json /reportFonts: expected a *.ttf or *.otf file in ${empty}, found none`,
    );
    expect(() => reportFontsOf({}, { ...place, env: { GOV_REPORT_FONTS: './none' } })).toThrow(
      `GOV_REPORT_FONTS: expected a folder that this user may read, got ${join(place.dataDir, 'none')}`,
    );
  });

  it('a folder with a file that is no font, or a folder of that name, is refused by its path', () => {
    const place = { dataDir: join(folder, 'plane'), path: 'plane.json', env: {} };
    const wrong = mkdtempSync(join(folder, 'wrong-'));
    copyFileSync(font, join(wrong, 'a.ttf'));
    const message = (name: string): string =>
      `plane.json /reportFonts: expected a TrueType or OpenType font that this user may read, got ${join(wrong, name)}`;
    const bytes = readFileSync(font);
    for (const text of ['<html>', '', 'OTTO', '\0\u0001\0\0garbage', bytes.subarray(0, bytes.length / 2)]) {
      writeFileSync(join(wrong, 'b.otf'), text);
      expect(() => reportFontsOf({ reportFonts: wrong }, place)).toThrow(message('b.otf'));
    }
    rmSync(join(wrong, 'b.otf'));
    mkdirSync(join(wrong, 'c.ttf'));
    expect(() => reportFontsOf({ reportFonts: wrong }, place)).toThrow(message('c.ttf'));
  });

  it('a plane sets its reports with the fonts of the folder', async () => {
    const fonts = mkdtempSync(join(folder, 'plane-'));
    copyFileSync(font, join(fonts, 'spare.ttf'));
    const plane = await startPlane({ env: { GOV_REPORT_FONTS: fonts } });
    const { body } = await plane.call('POST', '/reporting/executions', {
      body: { reportTemplateId: 'executive-summary', formats: ['pdf'], parameters: reportPeriod },
    });
    expect((await reportEnd(plane.call, body.executionId)).status).toBe('completed');
    const path = `/reporting/executions/${body.executionId}/download?format=pdf`;
    const { bytes } = await plane.call('GET', path);
    await plane.end();
    const texts = [...readPdf(Buffer.from(bytes)).objects.values()].map(({ stream, isDeflated }) =>
      stream === null ? '' : (isDeflated ? inflateSync(stream) : stream).toString(),
    );
    const presentation = texts.find((text) => text.startsWith('{') && text.includes('"paper"')) ?? '{}';
    expect(JSON.parse(presentation).fonts.map(({ name }: { name: string }) => name)).toEqual([
      'NotoSans-Regular.ttf',
      'NotoSans-Bold.ttf',
      'NotoSansMono-Regular.ttf',
      'spare.ttf',
    ]);
  });
});
