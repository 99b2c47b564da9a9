/** What policies decided lately, as the start page shows it. Tested by `test/console/accessible.long.test.ts`. */
import type { Client } from '../../client/create.ts';
import type { PolicyAction } from '../../contract/policy-words.ts';
import { limits } from '../../contract/limits.ts';

const dayMs = 24 * 3600 * 1000;
const shownDays = 14;
/** More pages of decisions are not read. */
const mostPages = 10;
const mostDenied = 8;

export interface Day {
  /** `2026-11-27`, in UTC. */
  readonly date: string;
  readonly counts: Readonly<Record<PolicyAction, number>>;
}

export interface DaysOfDecisions {
  /** Oldest first; a day without a decision is there too. */
  readonly days: readonly Day[];
  readonly total: number;
  /** Whether there were more decisions than the page reads. */
  readonly isPartial: boolean;
}

/** Counts the decisions of the last 14 days, UTC, in at most 10 requests. */
export async function decisionsByDay(
  client: Client,
  { nowMs, signal }: { readonly nowMs: number; readonly signal: AbortSignal },
): Promise<DaysOfDecisions> {
  const counts = new Map<string, Record<PolicyAction, number>>();
  for (let back = shownDays - 1; back >= 0; back--) {
    counts.set(dateOf(nowMs - back * dayMs), { allow: 0, warn: 0, escalate: 0, deny: 0 });
  }
  let cursor: string | undefined;
  let total = 0;
  for (let page = 0; page < mostPages; page++) {
    const query = { limit: limits.pageMax, cursor };
    const { body } = await client.listPolicyEvaluations({ query, signal });
    for (const { combined, evaluatedAt } of body.data) {
      const day = counts.get(dateOf(Date.parse(evaluatedAt)));
      if (day === undefined) continue;
      day[combined] += 1;
      total += 1;
    }
    const oldest = body.data.at(-1)?.evaluatedAt;
    const isDone = oldest !== undefined && nowMs - Date.parse(oldest) > shownDays * dayMs;
    if (body.nextCursor === null || isDone) return { days: daysOf(counts), total, isPartial: false };
    cursor = body.nextCursor;
  }
  return { days: daysOf(counts), total, isPartial: true };
}

const daysOf = (counts: ReadonlyMap<string, Day['counts']>): Day[] =>
  [...counts].map(([date, each]) => ({ date, counts: each }));

const dateOf = (atMs: number): string => new Date(atMs).toISOString().slice(0, 10);

type DeniedEvent = Awaited<ReturnType<Client['searchEvents']>>['body']['events'][number];

/** The newest decisions that denied a call. */
export async function deniedEvents(client: Client, signal: AbortSignal): Promise<readonly DeniedEvent[]> {
  const { body } = await client.searchEvents({ query: { decision: 'deny', limit: mostDenied }, signal });
  return body.events;
}

/** The name or id of an actor or a resource; null where it has neither. */
export function nameOf(value: DeniedEvent['actor'] | DeniedEvent['resource']): string | null {
  if (value === null || typeof value === 'string') return value;
  const name = value['name'] ?? value['id'];
  return typeof name === 'string' ? name : null;
}

/** The tool of an event, else its resource or its type. */
export function toolOf({ metadata, resource, eventType }: DeniedEvent): string {
  const tool = metadata['toolName'] ?? metadata['tool'];
  return typeof tool === 'string' ? tool : (nameOf(resource) ?? eventType);
}
