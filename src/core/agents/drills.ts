/**
 * Results of drills (`gov agents drill`), read from the log: which client of which machine passed last, and which is overdue.
 * The events come from the machine of the agent, so they say that the control was tested there, not that nobody lies.
 * Proven by `test/core/agents/drills.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { isObject } from '../json/object.ts';
import { formatTimestamp } from '../time.ts';

/** The run of the results. */
export const drillRun = 'agent-drills';

export const drillTypes = ['drill.passed', 'drill.failed'] as const;

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

/** How often drills must pass, in `plane.json`. */
export interface DrillSchedule {
  /** Of every client on every machine that has drilled once. Absent: results are not required. */
  readonly everyHours?: number;
  /** By client, in place of `everyHours`. A client here must have a result, also if it never drilled. */
  readonly clients?: Readonly<Record<string, number>>;
}

export interface DrillResult {
  readonly client: string;
  readonly machine: string;
  readonly passed: boolean;
  /** Server time. */
  readonly atMs: number;
  readonly reason: string;
}

/** One client of one machine. */
export interface DrillState {
  readonly client: string;
  readonly machine: string;
  readonly newest: DrillResult;
  readonly lastPassedMs: number | null;
}

/** The parts of an event that this reads. An attacker may control all of them but the server time. */
interface DrillEvent {
  readonly eventType: string;
  readonly resource: unknown;
  readonly serverTimestamp: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

const shown = (text: string): string => text.slice(0, 100).toWellFormed();

/** Null for another event of the run. */
export function readDrill({
  eventType,
  resource,
  serverTimestamp,
  metadata,
}: DrillEvent): DrillResult | null {
  if (eventType !== 'drill.passed' && eventType !== 'drill.failed') return null;
  const { machine, reason } = metadata;
  const name = isObject(resource) ? resource['name'] : resource;
  return {
    client: typeof name === 'string' ? shown(name) : 'unknown',
    machine: typeof machine === 'string' && machine !== '' ? shown(machine) : 'unknown',
    passed: eventType === 'drill.passed',
    atMs: Date.parse(serverTimestamp),
    reason: typeof reason === 'string' ? shown(reason) : '',
  };
}

/** `results`: in any order. Machines without a result for `limits.drillForgetDays` are left out. */
export function drillStates(results: readonly DrillResult[], nowMs: number): DrillState[] {
  const states = new Map<string, DrillState>();
  for (const result of results.toSorted((a, b) => a.atMs - b.atMs)) {
    if (nowMs - result.atMs > limits.drillForgetDays * dayMs) continue;
    const { client, machine } = result;
    const key = JSON.stringify([client, machine]);
    const lastPassedMs = result.passed ? result.atMs : (states.get(key)?.lastPassedMs ?? null);
    states.set(key, { client, machine, newest: result, lastPassedMs });
  }
  return [...states.values()];
}

/** What health says: failed and overdue drills. `sinceMs`: when the plane began to look. */
export function drillReasons(
  states: readonly DrillState[],
  { everyHours, clients = {} }: DrillSchedule,
  { nowMs, sinceMs }: { readonly nowMs: number; readonly sinceMs: number },
): string[] {
  const reasons: string[] = [];
  for (const { client, machine, newest, lastPassedMs } of states) {
    const at = formatTimestamp(newest.atMs);
    if (!newest.passed) reasons.push(`drill_failed: ${client} on ${machine} at ${at}: ${newest.reason}`);
    const hours = clients[client] ?? everyHours;
    if (hours === undefined) continue;
    const dueMs = (lastPassedMs ?? newest.atMs) + hours * hourMs;
    const last = lastPassedMs === null ? 'never passed' : `passed last at ${formatTimestamp(lastPassedMs)}`;
    if (nowMs > dueMs)
      reasons.push(
        `drill_overdue: ${client} on ${machine} ${last}; overdue since ${formatTimestamp(dueMs)} (every ${hours} h)`,
      );
  }
  for (const [client, hours] of Object.entries(clients)) {
    if (states.some((state) => state.client === client) || nowMs <= sinceMs + hours * hourMs) continue;
    const since = formatTimestamp(sinceMs + hours * hourMs);
    reasons.push(
      `drill_overdue: ${client} has no result of any machine; overdue since ${since} (every ${hours} h)`,
    );
  }
  return reasons;
}
