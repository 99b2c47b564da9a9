import { expect, it } from 'vitest';
import { limits } from '../../src/contract/limits.ts';
import { exportHoursOf } from '../../src/host/exportconfig.ts';

it('artifacts are kept a week, or as the file says, or as the environment says', () => {
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
