/**
 * The folder with fonts for the scripts that the package has no font for (contract P14). Tested by
 * `test/host/reports/fonts.test.ts`.
 */
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { invalid, text, type Variables } from '../config/layers.ts';
import { isFontFile } from './fonts.ts';

/** A member of plane.json and service.json. */
export interface ReportFontsFile {
  /** A folder with `*.ttf` and `*.otf` files, relative to the data directory. */
  readonly reportFonts?: string;
}

export const reportFontsMembers = { reportFonts: text(4096) };

/**
 * GOV_REPORT_FONTS, else the member of the file; null for none. VALIDATION_ERROR for a folder without a font, or with another file of its name: a report
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
  const fonts = names.filter(isFontFile);
  if (fonts.length === 0) throw invalid(from, `a *.ttf or *.otf file in ${resolved}, found none`);
  for (const name of fonts) {
    const path = join(resolved, name);
    if (!isFont(path))
      throw invalid(from, `a TrueType or OpenType font that this user may read, got ${path}`);
  }
  return resolved;
}

/** By its first four bytes (OpenType, section 5.1.1), so that no report fails on a text or on half of a download. */
function isFont(path: string): boolean {
  const begin = Buffer.alloc(4);
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    readSync(file, begin, 0, 4, 0);
  } catch {
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
  return ['\0\u0001\0\0', 'OTTO', 'true'].includes(begin.toString('latin1'));
}
