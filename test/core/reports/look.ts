/**
 * Renders sample reports to pictures, to be looked at: `scripts/with-node node test/core/reports/look.ts FOLDER [NAME] [FONTS]`.
 * Needs `pdftoppm`. Names: none, one, many, letter, zones, words, arabic. FONTS is a folder with fonts for other scripts.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, crc32 } from 'node:zlib';
import type { ReportBranding } from '../../../src/core/reports/model.ts';
import { readReportFonts } from '../../../src/host/reports/fonts.ts';
import { plainBranding, sampleReport, type SampleOptions, signedPdf } from './sample.ts';

/** A PNG of 320 × 80 pixels with transparency: a disc and a bar. */
function logoPng(): Buffer {
  const [width, height] = [320, 80];
  const rows = Buffer.alloc(height * (1 + width * 4));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const inDisc = (x - 40) ** 2 + (y - 40) ** 2 < 36 ** 2;
      const inBar = x > 95 && x < 310 && y > 28 && y < 52;
      const at = y * (1 + width * 4) + 1 + x * 4;
      rows.set(inDisc ? [0, 110, 120, 255] : inBar ? [40, 40, 60, 255] : [0, 0, 0, 0], at);
    }
  }
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const out = Buffer.alloc(body.length + 8);
    out.writeUInt32BE(data.length, 0);
    body.copy(out, 4);
    out.writeUInt32BE(crc32(body), body.length + 4);
    return out;
  };
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 6, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

const branded: ReportBranding = {
  companyName: 'Musterhandel AG',
  primaryColor: '#006e78',
  accentColor: '#ffcc00',
  footerText: 'Musterhandel AG, Internal Audit, Hauptstraße 1, 10115 Berlin. Confidential.',
  logo: { mediaType: 'image/png', bytes: logoPng() },
};

interface Sample extends SampleOptions {
  readonly branding?: ReportBranding;
  readonly paper?: 'A4' | 'Letter';
}

const samples: Readonly<Record<string, Sample>> = {
  none: { rows: 0 },
  one: { rows: 1, branding: branded },
  many: { rows: 10_000, branding: branded },
  letter: { rows: 30, paper: 'Letter', timezone: 'America/New_York', locale: 'en-US' },
  zones: { rows: 60, timezone: 'Pacific/Auckland', locale: 'fr-FR' },
  words: {
    rows: 12,
    locale: 'de-DE',
    title:
      'Rechtsschutzversicherungsgesellschaftenüberwachungsbericht & <b>Zugriffe</b> der Bestellabwicklungsagenten im vierten Quartal',
  },
  arabic: { rows: 12, locale: 'ar' },
};

const [folder = '', only, fontFolder = null] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
for (const [name, { branding = plainBranding, paper = 'A4', ...options }] of Object.entries(samples)) {
  if (only !== undefined && only !== name) continue;
  const fonts = await readReportFonts(fontFolder);
  const report = sampleReport(options);
  const begin = performance.now();
  const pdf = await signedPdf(report, { branding, paper, fonts });
  const ms = Math.round(performance.now() - begin);
  const file = join(folder, `${name}.pdf`);
  writeFileSync(file, pdf);
  console.log(`${name}: ${ms} ms, ${pdf.length} bytes`);
  execFileSync('pdftoppm', ['-r', '70', '-png', file, join(folder, name)]);
}
