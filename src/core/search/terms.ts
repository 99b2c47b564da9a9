/**
 * The terms by which a leaf is found: of an event its run, type, system, actor, those for whom the actor acts, resource, tool
 * and decision; of an evaluation its run, tool and decision. A filter asks for terms too, so a leaf matches if it has all of them.
 * Proven by `test/core/search/terms.test.ts`.
 */
import type { AuditEvent } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { policyActions } from '../../contract/policy-words.ts';
import { evaluatedTool, openEvaluation } from '../decided/evaluation.ts';
import { openLeaf } from '../decided/leaf.ts';
import { openEvent } from '../events/record.ts';
import { parseTimestamp } from '../time.ts';

/** What a search may ask for; every member narrows it. Times bound the client's timestamp, both included. */
export interface EventSearch {
  readonly runId?: string;
  readonly eventType?: string;
  readonly aiSystemId?: string;
  /** The id or name of the actor. */
  readonly actor?: string;
  /** The id or name of one for whom the actor acts: its `onBehalfOf`, or one of the first of its `delegationChain`. */
  readonly onBehalfOf?: string;
  /** The id or name of the resource. */
  readonly resource?: string;
  readonly tool?: string;
  readonly decision?: string;
  readonly startMs?: number;
  readonly endMs?: number;
}

/** What a search of evaluations may ask for. Times bound the moment of the decision, both included. */
export type EvaluationSearch = Pick<EventSearch, 'runId' | 'tool' | 'decision' | 'startMs' | 'endMs'>;

/** What a search finds. */
export type SearchQuery =
  | { readonly kind: 'event'; readonly search: EventSearch }
  | { readonly kind: 'evaluation'; readonly search: EvaluationSearch };

type EventTerm = 'every' | keyof Omit<EventSearch, 'startMs' | 'endMs'>;
type TermName = EventTerm | `evaluation.${'every' | keyof Omit<EvaluationSearch, 'startMs' | 'endMs'>}`;

/** No name has a NUL, so no two terms have one text. */
const term = (name: TermName, value: string): string => `${name}\0${value}`;

/** The terms that every event, and every evaluation, has. */
export const everyTerm = term('every', '');
const everyEvaluation = term('evaluation.every', '');

const names = [
  'runId',
  'eventType',
  'aiSystemId',
  'actor',
  'onBehalfOf',
  'resource',
  'tool',
  'decision',
] as const;
const evaluationNames = ['runId', 'tool', 'decision'] as const;

/** The terms of a search; the term of every event or evaluation where it asks for none. */
export function searchTerms({ kind, search }: SearchQuery): string[] {
  const asked =
    kind === 'event'
      ? names.map((name) => [name, search[name]] as const)
      : evaluationNames.map((name) => [`evaluation.${name}`, search[name]] as const);
  const terms = asked.flatMap(([name, value]) => (value === undefined ? [] : [term(name, value)]));
  const every = kind === 'event' ? everyTerm : everyEvaluation;
  return terms.length === 0 ? [every] : terms;
}

/** The terms of a leaf, and its time: of an event its timestamp, of an evaluation the moment of the decision. */
interface LeafTerms {
  readonly terms: ReadonlySet<string>;
  readonly atMs: number;
}

/** A leaf as stored. `erased` as in `openEvent`. */
interface StoredLeaf {
  readonly index: number;
  readonly record: string;
  readonly disclosures: string | null;
  readonly erased?: string | undefined;
}

/** Returns the terms of an event or evaluation; null for any other leaf. */
export function leafTerms({ index, record, disclosures, erased }: StoredLeaf): LeafTerms | null {
  if (record.endsWith('"type":"gov.event/1"}')) {
    const event = openEvent(index, record, disclosures ?? '[]', erased ?? null);
    return { terms: eventTerms(event), atMs: parseTimestamp(event.timestamp) ?? 0 };
  }
  if (!record.endsWith('"type":"gov.evaluation/1"}')) return null;
  const { runId, combined, checkpoint, readSet, evaluatedAt } = openEvaluation(
    openLeaf({ index, record, disclosures }),
  );
  const tool = evaluatedTool(checkpoint) ?? evaluatedTool(readSet);
  const terms = [
    everyEvaluation,
    term('evaluation.runId', runId),
    term('evaluation.decision', combined),
    ...(tool === null ? [] : [term('evaluation.tool', tool)]),
  ];
  return { terms: new Set(terms), atMs: parseTimestamp(evaluatedAt) ?? 0 };
}

const isText = (value: unknown): value is string => typeof value === 'string';

/** A party is a name, or an object with an id and a name. The client may have sent anything else. */
function partyNames(party: unknown): string[] {
  if (isText(party)) return [party];
  if (typeof party !== 'object' || party === null) return [];
  const { id, name } = party as Readonly<Record<string, unknown>>;
  return [id, name].filter(isText);
}

/** Those for whom the actor acts, as the client named them. */
function delegatorsOf({ actor }: AuditEvent): string[] {
  if (isText(actor)) return [];
  const { onBehalfOf, delegationChain } = actor as Readonly<Record<string, unknown>>;
  const chain: readonly unknown[] = Array.isArray(delegationChain) ? delegationChain : [];
  return [onBehalfOf, ...chain.slice(0, limits.delegationSearched)].flatMap(partyNames);
}

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
    ...delegatorsOf(event).map((name) => term('onBehalfOf', name)),
    ...partyNames(event.resource).map((name) => term('resource', name)),
    ...toolsOf(event).map((name) => term('tool', name)),
    ...decisionOf(event).map((decision) => term('decision', decision)),
  ]);
