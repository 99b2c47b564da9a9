/**
 * The folder with fonts for the scripts that the package has no font for (contract P14). Tested by
 * `test/host/reports/fonts.test.ts`.
 */
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { invalid, text, type Variables } from '../config/layers.ts';
import { isFontFile } from './fonts.ts';

/** A member of plane.json and service.json. */
export interface ReportFontsFile {
  /** A folder with `*.ttf` and `*.otf` files, relative to the data directory. */
  readonly reportFonts?: string;
}

export const reportFontsMembers = { reportFonts: text(4096) };

/**
 * GOV_REPORT_FONTS, else the member of the file; null for none. VALIDATION_ERROR for a folder without a font: a report
 * would print boxes, and nobody would know before it is read.
 */
export function reportFontsOf(
  file: ReportFontsFile,
  { dataDir, path, env }: { readonly dataDir: string; readonly path: string; readonly env: Variables },
): string | null {
  const set = env['GOV_REPORT_FONTS'];
  const [folder, from] =
    set === undefined || set === '' ? [file.reportFonts, `${path} /reportFonts`] : [set, 'GOV_REPORT_FONTS'];
  if (folder === undefined) return null;
  const resolved = resolve(dataDir, folder);
  let names: readonly string[];
  try {
    names = readdirSync(resolved);
  } catch (cause) {
    throw invalid(from, `a folder that this user may read, got ${resolved}`, cause);
  }
  if (!names.some(isFontFile)) throw invalid(from, `a *.ttf or *.otf file in ${resolved}, found none`);
  return resolved;
}
