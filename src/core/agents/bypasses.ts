/**
 * Results of the drill of ways around hooks (`gov agents drill --bypasses`), read from the log: which way is open for which
 * client of which machine. They come from the machine of the agent, and are about the client, its settings and the policies
 * at that time. A way that nobody knows is not among them. Proven by `test/core/agents/bypasses.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { isObject } from '../json/object.ts';
import { formatTimestamp } from '../time.ts';

/** `shut`: it was tried and did not work, and the same attempt works without gov. `not_shown`: the attempt says nothing. */
const results = ['open', 'shut', 'not_shown'] as const;
export type BypassResult = (typeof results)[number];

/** The type of the events. They are in the run `drillRun`. */
export const bypassType = 'drill.bypass';

/** One way around the hooks of one client of one machine, as it was tried once. */
export interface BypassTrial {
  readonly client: string;
  readonly machine: string;
  /** Of the way, such as `skill-command`. */
  readonly id: string;
  readonly title: string;
  readonly closes: string;
  readonly result: BypassResult;
  readonly reason: string;
  readonly version: string | null;
  /** Where the hooks were: `user` or `managed`; null: nowhere. */
  readonly scope: string | null;
  /** Server time. */
  readonly atMs: number;
}

/** All trials of one way of one client of one machine. */
export interface BypassState {
  readonly newest: BypassTrial;
  /** The newest trial that was open or shut: one that shows nothing does not end it. */
  readonly shown: BypassTrial | null;
}

/** The parts of an event that this reads. An attacker may control all of them but the server time. */
interface BypassEvent {
  readonly eventType: string;
  readonly resource: unknown;
  readonly serverTimestamp: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Null for another event. A result that this version does not know is `not_shown`. */
export function readBypass({
  eventType,
  resource,
  serverTimestamp,
  metadata,
}: BypassEvent): BypassTrial | null {
  if (eventType !== bypassType) return null;
  const { machine, id, title, closes, reason, version, scope, result } = metadata;
  return {
    client: text(isObject(resource) ? resource['name'] : resource) || 'unknown',
    machine: text(machine) || 'unknown',
    id: text(id) || 'unknown',
    title: text(title),
    closes: text(closes),
    result: results.find((each) => each === result) ?? 'not_shown',
    reason: text(reason),
    version: text(version) || null,
    scope: text(scope) || null,
    atMs: Date.parse(serverTimestamp),
  };
}

const text = (value: unknown): string =>
  typeof value === 'string' ? value.slice(0, limits.drillTextChars).toWellFormed() : '';

/** In the order of client, machine and way. `trials`: in any order. */
export function bypassStates(trials: readonly BypassTrial[]): BypassState[] {
  const states = new Map<string, BypassState>();
  for (const trial of trials.toSorted((a, b) => a.atMs - b.atMs)) {
    const key = JSON.stringify([trial.client, trial.machine, trial.id]);
    const shown = trial.result === 'not_shown' ? (states.get(key)?.shown ?? null) : trial;
    states.set(key, { newest: trial, shown });
  }
  return [...states].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, state]) => state);
}

/** Ways that are open, without those that nobody tried for `limits.drillForgetDays`. */
export function openBypasses(trials: readonly BypassTrial[], nowMs: number): BypassTrial[] {
  const forgottenMs = nowMs - limits.drillForgetDays * 24 * 3_600_000;
  return bypassStates(trials.filter(({ atMs }) => atMs >= forgottenMs)).flatMap(({ shown }) =>
    shown?.result === 'open' ? [shown] : [],
  );
}

/** What health says: one reason for each client of each machine with an open way. */
export function bypassReasons(trials: readonly BypassTrial[], nowMs: number): string[] {
  const open = Map.groupBy(openBypasses(trials, nowMs), ({ client, machine }) => `${client} on ${machine}`);
  return [...open].map(([where, ways]) => {
    const named = ways.slice(0, limits.drillBypassesNamed).map(({ id }) => id);
    const more = ways.length > named.length ? ` and ${ways.length - named.length} more` : '';
    const newestMs = Math.max(...ways.map(({ atMs }) => atMs));
    const are =
      ways.length === 1 ? '1 way around its hooks is open' : `${ways.length} ways around its hooks are open`;
    return `drill_bypass_open: ${where} at ${formatTimestamp(newestMs)}: ${are}: ${named.join(', ')}${more}`;
  });
}
