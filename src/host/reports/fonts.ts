/**
 * Reads the fonts of reports: one family with Latin, Greek and Cyrillic from the package, and more for other scripts from
 * a folder of the operator. Tested by `test/host/reports/fonts.test.ts`.
 */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ReportFont, ReportFonts } from '../../core/reports/inputs.ts';

const files = {
  regular: new URL('../../../assets/fonts/NotoSans-Regular.ttf', import.meta.url),
  bold: new URL('../../../assets/fonts/NotoSans-Bold.ttf', import.meta.url),
  mono: new URL('../../../assets/fonts/NotoSansMono-Regular.ttf', import.meta.url),
};

/** `folder`: fonts for other scripts, `*.ttf` and `*.otf`, tried in the order of their names; null for none. */
export async function readReportFonts(folder: string | null = null): Promise<ReportFonts> {
  const [regular, bold, mono, others] = await Promise.all([
    readFont(fileURLToPath(files.regular)),
    readFont(fileURLToPath(files.bold)),
    readFont(fileURLToPath(files.mono)),
    folder === null ? [] : readFolder(folder),
  ]);
  return { regular, bold, mono, others };
}

export const isFontFile = (name: string): boolean => /\.(?:ttf|otf)$/i.test(name);

async function readFolder(folder: string): Promise<ReportFont[]> {
  const names = (await readdir(folder)).filter(isFontFile).sort();
  return Promise.all(names.map((name) => readFont(join(folder, name))));
}

const readFont = async (path: string): Promise<ReportFont> => ({
  name: path.replace(/^.*[/\\]/, ''),
  bytes: await readFile(path),
});
