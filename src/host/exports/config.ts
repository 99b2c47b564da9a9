/**
 * The export settings: how long artifacts are kept, where, and how many (contract K7). Proven by
 * `test/host/exports/config.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import type { JsonSchema } from '../../service/call/explain.ts';
import type { ExportHoldings } from '../../store/port/store.ts';
import { invalid, whole, type Variables } from '../config/layers.ts';

/** Members of `plane.json` and `service.json`. */
export interface ExportsFile {
  readonly exportHours?: number;
  /** Unfinished exports per project. */
  readonly exportsOpen?: number;
  /** Exports per project, finished or not. */
  readonly exportsKept?: number;
  /** Size of all artifacts of a project. */
  readonly exportMebibytes?: number;
}

export const exportMembers = {
  exportHours: whole(1, limits.exportHoursMax),
  exportsOpen: whole(1, limits.exportsOpenMax),
  exportsKept: whole(1, limits.exportsKeptMax),
  exportMebibytes: whole(1, limits.exportMebibytesMax),
} satisfies Readonly<Record<keyof ExportsFile, JsonSchema>>;

interface WholeSetting {
  readonly name: string;
  readonly inFile: number | undefined;
  readonly fallback: number;
  readonly most: number;
  readonly unit: string;
}

/** GOV_EXPORT_HOURS, else the value of the file. VALIDATION_ERROR. */
export const exportHoursOf = (inFile: number | undefined, env: Variables): number => {
  const { exportHours: fallback, exportHoursMax: most } = limits;
  return wholeOf({ name: 'GOV_EXPORT_HOURS', inFile, fallback, most, unit: 'hours' }, env);
};

/**
 * GOV_EXPORTS_OPEN, GOV_EXPORTS_KEPT and GOV_EXPORT_MEBIBYTES, else the values of the file. VALIDATION_ERROR.
 */
export function exportsMostOf(file: ExportsFile, env: Variables): ExportHoldings {
  const read = (name: string, asked: Omit<WholeSetting, 'name'>): number => wholeOf({ name, ...asked }, env);
  const open = read('GOV_EXPORTS_OPEN', {
    inFile: file.exportsOpen,
    fallback: limits.exportsOpen,
    most: limits.exportsOpenMax,
    unit: 'exports',
  });
  const kept = read('GOV_EXPORTS_KEPT', {
    inFile: file.exportsKept,
    fallback: limits.exportsKept,
    most: limits.exportsKeptMax,
    unit: 'exports',
  });
  const mebibytes = read('GOV_EXPORT_MEBIBYTES', {
    inFile: file.exportMebibytes,
    fallback: limits.exportMebibytes,
    most: limits.exportMebibytesMax,
    unit: 'MiB',
  });
  return { open, kept, keptBytes: mebibytes * 2 ** 20 };
}

/** The values without any configuration. */
export const defaultExportsMost: ExportHoldings = exportsMostOf({}, {});

function wholeOf({ name, inFile, fallback, most, unit }: WholeSetting, env: Variables): number {
  const set = env[name];
  if (set === undefined || set === '') return inFile ?? fallback;
  const value = /^[0-9]{1,7}$/.test(set) ? Number(set) : 0;
  if (value >= 1 && value <= most) return value;
  throw invalid(name, `1 to ${most} ${unit}, got ${set}`);
}
