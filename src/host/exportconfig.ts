/** How long artifacts of exports are kept, and where (contract K7). Proven by `test/host/exportconfig.test.ts`. */
import { limits } from '../contract/limits.ts';
import type { JsonSchema } from '../service/explain.ts';
import { invalid, whole, type Variables } from './layers.ts';

/** Members of `plane.json` and `service.json`. */
export const exportMembers = {
  exportHours: whole(1, limits.exportHoursMax),
} satisfies Readonly<Record<string, JsonSchema>>;

/** GOV_EXPORT_HOURS, else what the file says. VALIDATION_ERROR. */
export function exportHoursOf(inFile: number | undefined, env: Variables): number {
  const set = env['GOV_EXPORT_HOURS'];
  if (set === undefined || set === '') return inFile ?? limits.exportHours;
  const hours = /^[0-9]{1,4}$/.test(set) ? Number(set) : 0;
  if (hours >= 1 && hours <= limits.exportHoursMax) return hours;
  throw invalid('GOV_EXPORT_HOURS', `1 to ${limits.exportHoursMax} hours, got ${set}`);
}
