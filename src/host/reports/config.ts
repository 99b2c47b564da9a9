/**
 * The folder with fonts for the scripts that the package has no font for (contract P14). Tested by
 * `test/host/reports/fonts.test.ts`.
 */
import { closeSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs';
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

/** By its first bytes (OpenType, "Table Directory"): no report fails on a text or on half of a download. */
function isFont(path: string): boolean {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    const head = Buffer.alloc(12);
    readSync(file, head, 0, 12, 0);
    const tables = Buffer.alloc(head.readUInt16BE(4) * 16);
    const isWhole = tables.length > 0 && readSync(file, tables, 0, tables.length, 12) === tables.length;
    const { size } = fstatSync(file);
    const ends = Array.from(
      { length: tables.length / 16 },
      (_, at) => tables.readUInt32BE(at * 16 + 8) + tables.readUInt32BE(at * 16 + 12),
    );
    return kinds.has(head.toString('latin1', 0, 4)) && isWhole && ends.every((end) => end <= size);
  } catch {
    return false;
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

const kinds: ReadonlySet<string> = new Set(['\0\u0001\0\0', 'OTTO', 'true']);
