/**
 * What `gov search` finds, from the operations that can answer: an id, the exact search over events, and the newest policies,
 * approvals and runs. Tested by `test/cli/commands/search/run.test.ts`.
 */
import type { Client } from '../../client/create.ts';
import { GovApiError } from '../../client/errors.ts';
import type { AuditEvent } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { policyActions } from '../../contract/policy-words.ts';
import { clientIdPattern } from '../../contract/text-patterns.ts';
import { shellWord } from '../../core/shell-word.ts';
import { counted } from '../terminal/numbers.ts';

interface SearchHit {
  readonly kind: 'run' | 'event' | 'proof' | 'policy' | 'approval';
  readonly id: string;
  readonly what: string;
  readonly at: string | null;
  /** The command that shows it. */
  readonly next: string;
}

export interface SearchResult {
  readonly results: readonly SearchHit[];
  /** What was not searched, or not to its end, and why. */
  readonly cut: readonly string[];
}

/** Events of one search that are shown. */
const eventsShown = 5;

/** Rejects with the failure of the service if it answers none of the searches. */
export async function find(client: Client, text: string): Promise<SearchResult> {
  const lower = text.toLowerCase();
  const has = (...members: readonly (string | null | undefined)[]): boolean =>
    members.some((member) => member?.toLowerCase().includes(lower) === true);
  const parts = await Promise.allSettled([
    byId(client, text),
    runs(client, text, has),
    policies(client, has),
    approvals(client, has),
    events(client, text),
  ]);
  const names = ['ids', 'runs', 'policies', 'approvals', 'events'];
  const failed = parts.flatMap((part, at) =>
    part.status === 'rejected' ? [[names[at] ?? '', part.reason as unknown] as const] : [],
  );
  if (failed.length === parts.length) throw failed[0]?.[1];
  for (const [, reason] of failed) if (!isForbidden(reason)) throw reason;
  const found = parts.flatMap((part) => (part.status === 'fulfilled' ? [part.value] : []));
  const results = new Map(
    found.flatMap((part) => part.results.map((each) => [`${each.kind} ${each.id}`, each])),
  );
  return {
    results: [...results.values()],
    cut: [
      ...found.flatMap((part) => part.cut),
      ...failed.map(([name]) => `${name} not searched: the key lacks the scope`),
    ],
  };
}

const isClientId = (text: string): boolean => new RegExp(clientIdPattern).test(text);

const isForbidden = (reason: unknown): boolean => reason instanceof GovApiError && reason.status === 403;

const nothing: SearchResult = { results: [], cut: [] };

/** Returns null where there is no such thing. */
async function unlessMissing<Value>(answer: Promise<Value>): Promise<Value | null> {
  try {
    return await answer;
  } catch (cause) {
    if (cause instanceof GovApiError && (cause.status === 404 || cause.status === 410)) return null;
    throw cause;
  }
}

async function byId(client: Client, text: string): Promise<SearchResult> {
  if (/^evt_[0-9a-z]{26}$/.test(text)) {
    const answer = await unlessMissing(client.getEvent({ params: { eventId: text } }));
    return answer === null ? nothing : { results: [eventFound(answer.body)], cut: [] };
  }
  if (/^prf_[0-9a-z]{26}$/.test(text)) {
    const answer = await unlessMissing(client.getProof({ params: { proofId: text } }));
    if (answer === null) return nothing;
    const { runId, createdAt } = answer.body;
    const next = `gov proofs verify ${shellWord(text)}`;
    return {
      results: [{ kind: 'proof', id: text, what: `proof of run ${runId}`, at: createdAt, next }],
      cut: [],
    };
  }
  return nothing;
}

type Has = (...members: readonly (string | null | undefined)[]) => boolean;

async function runs(client: Client, text: string, has: Has): Promise<SearchResult> {
  const [count, { body: newest }] = await Promise.all([
    isClientId(text) ? client.countEvents({ query: { runId: text } }).then(({ body }) => body.count) : 0,
    client.listRuns({ query: { limit: limits.pageMax } }),
  ]);
  const found = newest.data
    .filter(({ runId }) => has(runId))
    .map(({ runId, events: of, lastTimestamp }) => runFound(runId, of, lastTimestamp));
  const isListed = found.some(({ id }) => id === text);
  return {
    results: isListed || count === 0 ? found : [runFound(text, count, null), ...found],
    cut: cutOf('runs', newest),
  };
}

const runFound = (id: string, count: number, at: string | null): SearchHit => ({
  kind: 'run',
  id,
  what: counted(count, 'event'),
  at,
  next: `gov runs show ${shellWord(id)}`,
});

async function policies(client: Client, has: Has): Promise<SearchResult> {
  const { body } = await client.listPolicies({ query: { limit: limits.pageMax } });
  const results = body.data
    .filter(({ id, name, description }) => has(id, name, description))
    .map(({ id, name, status, updatedAt }): SearchHit => {
      return {
        kind: 'policy',
        id,
        what: `${name} (${status})`,
        at: updatedAt,
        next: `gov policy get ${shellWord(id)}`,
      };
    });
  return { results, cut: cutOf('policies', body) };
}

async function approvals(client: Client, has: Has): Promise<SearchResult> {
  const { body } = await client.listApprovals({ query: { limit: limits.pageMax } });
  const results = body.data
    .filter(({ approvalId, tool, reason, runId }) => has(approvalId, tool?.name, reason, runId))
    .map(({ approvalId, status, tool, reason, requestedAt }): SearchHit => {
      const what = `${status}: ${tool?.name ?? 'a decision'}, ${reason}`;
      return {
        kind: 'approval',
        id: approvalId,
        what,
        at: requestedAt,
        next: `gov approvals show ${shellWord(approvalId)}`,
      };
    });
  return { results, cut: cutOf('approvals', body) };
}

const cutOf = (name: string, { nextCursor }: { readonly nextCursor: string | null }): string[] => {
  const noun = name === 'policies' ? 'policy' : name;
  return nextCursor === null
    ? []
    : [`${name} beyond the newest ${limits.pageMax} not searched: gov ${noun} list --all`];
};

/** The searches over events that this text can be, by the flag of `gov events list`. */
function eventQueries(text: string) {
  const isParty = text.length <= limits.partyNameChars;
  const decision = policyActions.find((action) => action === text);
  return [
    ...(isParty ? [{ actor: text }, { onBehalfOf: text }, { tool: text }, { resource: text }] : []),
    ...(/^[A-Za-z][A-Za-z0-9_.:/-]*$/.test(text) && text.length <= limits.eventTypeChars
      ? [{ eventType: text }]
      : []),
    ...(decision === undefined ? [] : [{ decision }]),
    ...(isClientId(text) ? [{ aiSystemId: text }] : []),
  ];
}

const flags: Readonly<Record<string, string>> = {
  eventType: 'type',
  aiSystemId: 'ai-system',
  onBehalfOf: 'on-behalf-of',
};

async function events(client: Client, text: string): Promise<SearchResult> {
  const found = await Promise.all(
    eventQueries(text).map(async (query) => {
      const { body } = await client.searchEvents({ query: { ...query, limit: eventsShown } });
      const [name = ''] = Object.keys(query);
      const all = `gov events list --${flags[name] ?? name} ${shellWord(text)}`;
      const isCut = body.nextCursor !== null;
      return {
        results: body.events.map(eventFound),
        cut: isCut ? [`more events with this ${flags[name] ?? name}: ${all}`] : [],
      };
    }),
  );
  return { results: found.flatMap((each) => each.results), cut: found.flatMap((each) => each.cut) };
}

function eventFound({ eventId, runId, eventType, resource, timestamp }: AuditEvent): SearchHit {
  const named = typeof resource === 'string' ? resource : resource?.['name'];
  const target = typeof named === 'string' ? ` ${named}` : '';
  return {
    kind: 'event',
    id: eventId,
    what: `${eventType}${target}, run ${runId}`,
    at: timestamp,
    next: `gov events get ${shellWord(eventId)}`,
  };
}
