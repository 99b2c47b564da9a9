/**
 * The filters of an export, and the lists of the index that have all rows which they select:
 *
 *   run     the list of the run; for other resources that of their leaves about the run
 *   type    the list of the type
 *   days    the lists of all client days that overlap the period
 *   types   without a filter: the lists of all types
 *
 * A filter for which there is no such list has no plan. Attacker controlled; nothing here throws.
 * Proven by `test/core/exports/completeness.test.ts`.
 */
import type { ExportResource } from '../../contract/exports.ts';
import type { MapKey } from '../completeness/map.ts';
import { dayOf } from '../completeness/map-function.ts';
import type { JsonObject } from '../json/parse.ts';
import { parseTimestamp } from '../time.ts';
import { leafTypes } from './row.ts';

/** Members of a row that filters compare. */
export interface Members {
  readonly runId: string | null;
  readonly eventType: string | null;
  /** The time that time filters compare; null if the resource has no time filter. */
  readonly timestamp: string | null;
}

/** Returns whether the filters select these members. */
export function isAsked({ runId, eventType, timestamp }: Members, asked: JsonObject): boolean {
  if (asked['runId'] !== undefined && asked['runId'] !== runId) return false;
  if (asked['eventType'] !== undefined && asked['eventType'] !== eventType) return false;
  if (asked['startTime'] === undefined && asked['endTime'] === undefined) return true;
  return isIn(timestamp === null ? NaN : (parseTimestamp(timestamp) ?? NaN), periodOf(asked));
}

/** Unix milliseconds, both included. */
interface Period {
  readonly startMs: number;
  readonly endMs: number;
}

/** The period of the filters; without an end where they have none. A text that is no time gives a period without any. */
export function periodOf({ startTime, endTime }: JsonObject): Period {
  return {
    startMs: typeof startTime === 'string' ? (parseTimestamp(startTime) ?? NaN) : -Infinity,
    endMs: typeof endTime === 'string' ? (parseTimestamp(endTime) ?? NaN) : Infinity,
  };
}

export const isIn = (ms: number, { startMs, endMs }: Period): boolean => ms >= startMs && ms <= endMs;

/** Whether a client day, such as 2026-01-05, overlaps a period. */
export const isDayIn = (day: string, { startMs, endMs }: Period): boolean =>
  (startMs === -Infinity || day >= dayOf(startMs)) && (endMs === Infinity || day <= dayOf(endMs));

export type ListPlan =
  | { readonly kind: 'run' | 'type'; readonly key: MapKey }
  | { readonly kind: 'types' }
  | { readonly kind: 'days' };

/** Whether a list of the plan may have items that the filters exclude. */
export const excludes = ({ kind }: ListPlan, { eventType, startTime, endTime }: JsonObject): boolean =>
  (startTime ?? endTime) !== undefined || (kind === 'run' && eventType !== undefined);

const known: ReadonlySet<string> = new Set(['runId', 'eventType', 'startTime', 'endTime']);

/** The plan of an export, or null: no list of the index has all its rows. */
export function planOf(resource: ExportResource, asked: JsonObject): ListPlan | null {
  const { runId, eventType, startTime, endTime } = asked;
  if (!Object.entries(asked).every(([name, value]) => known.has(name) && typeof value === 'string'))
    return null;
  const isTimed = (startTime ?? endTime) !== undefined;
  const { startMs, endMs } = periodOf(asked);
  if (Number.isNaN(startMs) || Number.isNaN(endMs)) return null;
  if (resource === 'audit_events') {
    if (typeof runId === 'string') return { kind: 'run', key: ['run', runId] };
    if (typeof eventType === 'string') return { kind: 'type', key: ['type', eventType] };
    return isTimed ? { kind: 'days' } : { kind: 'types' };
  }
  // an export of graphs has the newest of each run alone, and jobs are no leaves
  const isListed = resource !== 'jobs' && resource !== 'causal_graphs' && typeof runId === 'string';
  return isListed && !isTimed && eventType === undefined
    ? { kind: 'run', key: ['of', leafTypes[resource], runId] }
    : null;
}
