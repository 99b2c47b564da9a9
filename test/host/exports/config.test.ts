import { expect, it } from 'vitest';
import { limits } from '../../../src/contract/limits.ts';
import { exportHoursOf, exportsMostOf } from '../../../src/host/exports/config.ts';

it('artifacts are kept for a week, or as long as the file or the environment says', () => {
  expect(exportHoursOf(undefined, {})).toBe(7 * 24);
  expect(exportHoursOf(5, { GOV_EXPORT_HOURS: '' })).toBe(5);
  expect(exportHoursOf(5, { GOV_EXPORT_HOURS: '1' })).toBe(1);
  const most = String(limits.exportHoursMax);
  expect(exportHoursOf(5, { GOV_EXPORT_HOURS: most })).toBe(90 * 24);
  for (const set of ['0', String(limits.exportHoursMax + 1), '-1', '1.5', 'week']) {
    expect(() => exportHoursOf(5, { GOV_EXPORT_HOURS: set })).toThrow(
      'GOV_EXPORT_HOURS: expected 1 to 2160 hours',
    );
  }
});

it('the number and size of exports of a project come from the environment, then the file', () => {
  const GiB = 2 ** 30;
  expect(exportsMostOf({}, {})).toEqual({ open: 20, kept: 200, keptBytes: 20 * GiB });
  const file = { exportsOpen: 3, exportsKept: 4, exportMebibytes: 1024 };
  expect(exportsMostOf(file, {})).toEqual({ open: 3, kept: 4, keptBytes: GiB });
  const env = { GOV_EXPORTS_OPEN: '1', GOV_EXPORTS_KEPT: '', GOV_EXPORT_MEBIBYTES: '2048' };
  expect(exportsMostOf(file, env)).toEqual({ open: 1, kept: 4, keptBytes: 2 * GiB });
  const bounds = [
    ['GOV_EXPORTS_OPEN', limits.exportsOpenMax],
    ['GOV_EXPORTS_KEPT', limits.exportsKeptMax],
    ['GOV_EXPORT_MEBIBYTES', limits.exportMebibytesMax],
  ] as const;
  for (const [name, most] of bounds) {
    expect(() => exportsMostOf({}, { [name]: String(most) })).not.toThrow();
    for (const set of ['0', String(most + 1), 'many']) {
      expect(() => exportsMostOf({}, { [name]: set })).toThrow(`${name}: expected 1 to ${most} `);
    }
  }
});
