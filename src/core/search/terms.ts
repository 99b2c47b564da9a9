/**
 * The terms by which an event is found: its run, type, system, actor, resource, tool and decision. A filter asks for terms
 * too, so an event matches if it has all of them. Proven by `test/core/search/terms.test.ts`.
 */
import type { AuditEvent } from '../../contract/events.ts';
import { policyActions } from '../../contract/policy-words.ts';

/** What a search may ask for; every member narrows it. Times bound the client's timestamp, both included. */
export interface EventSearch {
  readonly runId?: string;
  readonly eventType?: string;
  readonly aiSystemId?: string;
  /** The id or name of the actor. */
  readonly actor?: string;
  /** The id or name of the resource. */
  readonly resource?: string;
  readonly tool?: string;
  readonly decision?: string;
  readonly startMs?: number;
  readonly endMs?: number;
}

type TermName = 'every' | keyof Omit<EventSearch, 'startMs' | 'endMs'>;

/** No name has a NUL, so no two terms have one text. */
const term = (name: TermName, value: string): string => `${name}\0${value}`;

/** The term that every event has. */
export const everyTerm = term('every', '');

const names = ['runId', 'eventType', 'aiSystemId', 'actor', 'resource', 'tool', 'decision'] as const;

/** The terms of a search; the term of every event where it asks for none. */
export function searchTerms(search: EventSearch): string[] {
  const asked = names.flatMap((name) => {
    const value = search[name];
    return value === undefined ? [] : [term(name, value)];
  });
  return asked.length === 0 ? [everyTerm] : asked;
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** A party is a name, or an object with an id and a name. */
const partyNames = (party: AuditEvent['actor'] | null): string[] =>
  isText(party) ? [party] : party === null ? [] : [party['id'], party['name']].filter(isText);

/** A call names its tool as its resource, or in its metadata. */
function toolsOf({ resource, metadata }: AuditEvent): string[] {
  const type = resource === null || isText(resource) ? undefined : resource['type'];
  const isTool = type === 'tool' || type === 'mcp_tool';
  return [...(isTool ? partyNames(resource) : []), metadata['toolName'], metadata['tool']].filter(isText);
}

/** Only what a policy can decide: other programs write other things into a member with this name. */
function decisionOf({ metadata: { decision } }: AuditEvent): string[] {
  return isText(decision) && policyActions.some((action) => action === decision) ? [decision] : [];
}

export const eventTerms = (event: AuditEvent): ReadonlySet<string> =>
  new Set([
    everyTerm,
    term('runId', event.runId),
    term('eventType', event.eventType),
    ...(event.aiSystemId === null ? [] : [term('aiSystemId', event.aiSystemId)]),
    ...partyNames(event.actor).map((name) => term('actor', name)),
    ...partyNames(event.resource).map((name) => term('resource', name)),
    ...toolsOf(event).map((name) => term('tool', name)),
    ...decisionOf(event).map((decision) => term('decision', decision)),
  ]);
