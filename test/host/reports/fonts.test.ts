import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readReportFonts } from '../../../src/host/reports/fonts.ts';

describe('fonts of reports', () => {
  it('the package has three fonts', async () => {
    const { regular, bold, mono, others } = await readReportFonts();
    for (const { bytes } of [regular, bold, mono])
      expect(Buffer.from(bytes).readUInt32BE(0)).toBe(0x00010000);
    expect(others).toEqual([]);
  });

  it('fonts of a folder come in the order of their names, and other files are skipped', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gov-fonts-'));
    try {
      for (const name of ['b.otf', 'a.ttf', 'readme.txt']) writeFileSync(join(folder, name), name);
      const { others } = await readReportFonts(folder);
      expect(others.map(({ name }) => name)).toEqual(['a.ttf', 'b.otf']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
