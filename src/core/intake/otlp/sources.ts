/**
 * What is known of a source of telemetry: when it sent, how many of its records were kept, whether numbers are missing
 * from its sessions, and how far its clock is off. States are JSON, changed by one request after another.
 * Tested by `test/core/intake/otlp/sources.test.ts`.
 */
import { hash } from 'node:crypto';
import { limits } from '../../../contract/limits.ts';
import { Changes, line } from '../fit.ts';
import { textOf, type Source } from '../run.ts';

/** `service.name`, and `service.instance.id` where it is given. */
export interface SourceName {
  readonly service: string;
  readonly instance: string | null;
}

export interface SourceState extends SourceName {
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  readonly kept: number;
  /** Records that were sent again. */
  readonly repeated: number;
  readonly filtered: number;
  readonly rejected: number;
  readonly metrics: number;
  /** Numbers that are missing from its sessions. */
  readonly missing: number;
  /** The smallest time between a record and its arrival; null before the first record with a time. */
  readonly offsetMs: number | null;
}

/** What one request adds. */
export interface SourceActivity extends SourceName {
  kept: number;
  repeated: number;
  filtered: number;
  rejected: number;
  metrics: number;
  missing: number;
  newestMs: number | null;
  /** Records that came, also those that were rejected. */
  spans: number;
  logs: number;
  /** Of those kept: records of what others had recorded. */
  observed: number;
  /** Why the first one was rejected. */
  rejectedWhy: string | null;
}

const nameChars = 256;

export function sourceNameOf(resource: Source): SourceName {
  const changes = new Changes();
  const text = (value: unknown): string | null => {
    const given = textOf(value);
    return given === undefined ? null : line(given, nameChars, { fallback: 'unnamed', changes });
  };
  return {
    service: text(resource['service.name']) ?? 'unknown_service',
    instance: text(resource['service.instance.id']),
  };
}

export const observed = (name: SourceName): SourceActivity => ({
  ...name,
  kept: 0,
  repeated: 0,
  filtered: 0,
  rejected: 0,
  metrics: 0,
  missing: 0,
  newestMs: null,
  spans: 0,
  logs: 0,
  observed: 0,
  rejectedWhy: null,
});

/** Records of one group share their resource, so each is named and hashed once. */
const ids = new WeakMap<Source, string>();

export function sourceIdOf(resource: Source): string {
  const known = ids.get(resource) ?? sourceId(sourceNameOf(resource));
  ids.set(resource, known);
  return known;
}

export const sourceId = ({ service, instance }: SourceName): string =>
  hash('sha256', JSON.stringify([service, instance]), 'hex').slice(0, 32);

/** Returns the state after a request. */
export function extendSource(before: SourceState | null, added: SourceActivity, atMs: number): SourceState {
  const { service, instance, kept, repeated, filtered, rejected, metrics, missing, newestMs } = added;
  const offset = newestMs === null ? null : atMs - newestMs;
  const offsets = [before?.offsetMs ?? null, offset].filter((each) => each !== null);
  return {
    service,
    instance,
    firstSeenMs: before?.firstSeenMs ?? atMs,
    lastSeenMs: Math.max(before?.lastSeenMs ?? 0, atMs),
    kept: (before?.kept ?? 0) + kept,
    repeated: (before?.repeated ?? 0) + repeated,
    filtered: (before?.filtered ?? 0) + filtered,
    rejected: (before?.rejected ?? 0) + rejected,
    metrics: (before?.metrics ?? 0) + metrics,
    missing: Math.max(0, (before?.missing ?? 0) + missing),
    offsetMs: offsets.length === 0 ? null : Math.min(...offsets),
  };
}

/** All instances of a service: one that ends is followed by another. */
export interface ServiceState {
  readonly service: string;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

export const serviceId = (service: string): string => hash('sha256', service, 'hex').slice(0, 32);

export const extendService = (before: ServiceState | null, service: string, atMs: number): ServiceState => ({
  service,
  firstSeenMs: before?.firstSeenMs ?? atMs,
  lastSeenMs: Math.max(before?.lastSeenMs ?? 0, atMs),
});

const silentMs = limits.sourceSilentHours * 3_600_000;

/** Whether a service has sent for so long that its silence is noticed. */
export const isWatched = ({ firstSeenMs, lastSeenMs }: ServiceState): boolean =>
  lastSeenMs - firstSeenMs >= silentMs;

/** Whether a service sent for `limits.sourceSilentHours`, and then nothing for longer than that. */
export const isSilent = (state: ServiceState, nowMs: number): boolean =>
  isWatched(state) && nowMs - state.lastSeenMs > silentMs;

/** The numbers that a session has sent: all below `next`, without those in `gaps` (first and last, both missing). */
export interface SequenceState {
  readonly next: number;
  readonly gaps: readonly (readonly [first: number, last: number])[];
}

/** A session with more gaps keeps the newest; the others stay counted as missing. */
const gapsKept = 200;
/** A jump beyond this is another numbering, not a loss. */
const longestGap = 1_000_000;

/** Returns the state after these numbers came, in any order, and by how much the count of missing numbers changed. */
export function extendSequence(
  before: SequenceState | null,
  numbers: readonly number[],
): { readonly state: SequenceState; readonly missing: number } {
  let next = before?.next ?? 0;
  const gaps = [...(before?.gaps ?? [])];
  let missing = 0;
  for (const number of numbers.toSorted((a, b) => a - b)) {
    if (!Number.isSafeInteger(number) || number < 0) continue;
    if (number >= next) {
      const isGap = number > next && number - next <= longestGap;
      if (isGap) {
        gaps.push([next, number - 1]);
        missing += number - next;
      }
      next = number + 1;
      continue;
    }
    const at = gaps.findIndex(([first, last]) => first <= number && number <= last);
    const gap = gaps[at];
    if (gap === undefined) continue; // it came before
    const rest = (
      [
        [gap[0], number - 1],
        [number + 1, gap[1]],
      ] as const
    ).filter(([a, b]) => a <= b);
    gaps.splice(at, 1, ...rest);
    missing -= 1;
  }
  return { state: { next, gaps: gaps.slice(-gapsKept) }, missing };
}
