/**
 * The timeline of a run, from its events, evaluations and approvals: a tool call with its decisions, approvals and results
 * below it, in the order of recording. Everything in it comes from clients: text of any kind and any shape.
 * Tested by `test/console/runs/timeline.test.ts`.
 */
import { deciderName } from '../approvals/call.ts';
import type { ShownApproval } from '../../contract/approvals.ts';
import type { ReportSource } from '../../contract/coverage.ts';
import { endingOf } from '../../contract/endings.ts';
import type { AuditEvent } from '../../contract/events.ts';
import type { PolicyEvaluationRecord } from '../../contract/governance.ts';
import { isObservation, joinOf } from '../../core/coverage/join.ts';
import { sourceOf } from '../../core/coverage/report.ts';
import { Sightings, type Place } from '../../core/coverage/sightings.ts';
import { decidingPolicies } from '../../core/decided/deciding-policies.ts';

export type EntryKind =
  | 'prompt'
  | 'model'
  | 'output'
  | 'call'
  | 'decision'
  | 'approval'
  | 'result'
  | 'run'
  | 'other';

export interface Entry {
  /** The id of the event, evaluation or approval. */
  readonly id: string;
  readonly kind: EntryKind;
  readonly at: string;
  /** Of a call, a result or a decision, its tool. */
  readonly title: string;
  /** One line that continues the title. */
  readonly text: string;
  /** Whether it belongs to the call above it. */
  readonly isPart: boolean;
  /** What a decision or an approval came to, as the API names it. */
  readonly outcome: string | null;
  readonly event: AuditEvent | null;
  readonly evaluation: PolicyEvaluationRecord | null;
  readonly approval: ShownApproval | null;
}

export interface RunParts {
  /** In the order of recording. */
  readonly events: readonly AuditEvent[];
  readonly evaluations: readonly PolicyEvaluationRecord[];
  readonly approvals: readonly ShownApproval[];
}

const callTypes = new Set(['tool.call', 'tool.denied', 'tool.call_blocked']);
const evaluatedType = 'tool.evaluated';

const kinds: Readonly<Record<string, EntryKind>> = {
  'prompt.submitted': 'prompt',
  'model.invoked': 'model',
  'output.delivered': 'output',
  'tool.result': 'result',
  [evaluatedType]: 'decision',
  'run.started': 'run',
  'run.ended': 'run',
  'run.error': 'run',
};

/** Longest text of a line; the details show all of it. */
const lineChars = 240;

/** Returns the entries. Cost: linear in the events, evaluations and approvals, but for sorting the parts of a call. */
export function timelineOf(parts: RunParts): Entry[] {
  const groups = groupsOf(parts);
  const entries: Entry[] = [];
  for (const group of groups) entries.push(...entriesOf(group));
  return entries;
}

/** A call with all that belongs to it, a prompt or a call of a model with its other reports, or one thing alone. */
interface Group {
  call: AuditEvent | null;
  readonly members: Member[];
  readonly approvals: ShownApproval[];
}

/** An event, an evaluation, or the event of an evaluation with it. */
interface Member {
  readonly sequence: number;
  readonly event: AuditEvent | null;
  readonly evaluation: PolicyEvaluationRecord | null;
}

/** Puts each event and evaluation into the group of its call: by the id of the call, its evaluation or its approval. */
function groupsOf({ events, evaluations, approvals }: RunParts): Group[] {
  const groups: Group[] = [];
  const byName = new Map<string, Group>();
  const approvalOf = new Map(approvals.map((approval) => [approval.evaluationId, approval.approvalId]));
  const calls = callIdsOf(events);
  const sightings = new Sightings();
  for (const member of membersOf(events, evaluations)) {
    const { event, evaluation } = member;
    const names = event === null ? [] : namesOf(event, calls);
    const asked = evaluation === null ? undefined : approvalOf.get(evaluation.id);
    if (asked !== undefined) names.push(`approval ${asked}`);
    const { own, others } = event === null ? nowhere : sightings.add(event);
    let group = [...names, ...others.map(placeName)]
      .map((name) => byName.get(name))
      .find((each) => each !== undefined);
    if (group === undefined) groups.push((group = { call: null, members: [], approvals: [] }));
    group.members.push(member);
    for (const name of [...names, ...own.map(placeName)]) if (!byName.has(name)) byName.set(name, group);
    if (group.call === null && event !== null && opensGroup(event)) group.call = event;
  }
  for (const approval of approvals) byName.get(`approval ${approval.approvalId}`)?.approvals.push(approval);
  return groups;
}

const nowhere = { own: [], others: [] };
const placeName = ({ name, n }: Place): string => `${n} ${name}`;

/** Types of events that other reports of the same fact stand below. */
const firstTypes = new Set([...callTypes, 'prompt.submitted', 'model.invoked']);
const opensGroup = ({ eventType }: AuditEvent): boolean => firstTypes.has(eventType);

/** Events and evaluations in the order of recording. The event of an evaluation comes with it. */
function membersOf(events: readonly AuditEvent[], evaluations: readonly PolicyEvaluationRecord[]): Member[] {
  const byId = new Map(evaluations.map((evaluation) => [evaluation.id, evaluation]));
  const members = events.map((event): Member => {
    const { sequence, eventType, metadata } = event;
    const evaluation = eventType === evaluatedType ? byId.get(String(metadata['evaluationId'])) : undefined;
    if (evaluation !== undefined) byId.delete(evaluation.id);
    return { sequence, event, evaluation: evaluation ?? null };
  });
  // a decision about a tool call has an event, which may not be loaded yet
  for (const evaluation of byId.values()) {
    if (evaluation.policySource === 'tool') continue;
    members.push({ sequence: evaluation.sequence, event: null, evaluation });
  }
  return members.toSorted((a, b) => a.sequence - b.sequence);
}

const callParts = /^(?:tool\.(?:call|denied|call_blocked|result|evaluated|decision)|x\.tool\.observed)$/;

/** The ids of calls that telemetry reported under another id, by that id (contract P5). */
function callIdsOf(events: readonly AuditEvent[]): ReadonlyMap<string, string> {
  const joins = events.map(joinOf).filter((join) => join !== null);
  const ids = new Map(joins.map(({ from, to }) => [from, to]));
  // an id may lead to another one; a client may write a circle
  for (const { from } of joins) {
    let to = ids.get(from) ?? from;
    for (let steps = 0; steps < joins.length && ids.has(to); steps++) to = ids.get(to) ?? to;
    ids.set(from, to);
  }
  return ids;
}

function namesOf(event: AuditEvent, calls: ReadonlyMap<string, string>): string[] {
  const { eventType, metadata } = event;
  if (!callParts.test(eventType) && joinOf(event) === null) return [];
  return (['toolCallId', 'evaluationId', 'approvalId'] as const).flatMap((member) => {
    const value = textOf(metadata[member]);
    const id = value !== null && member === 'toolCallId' ? (calls.get(value) ?? value) : value;
    return id === null ? [] : [`${member.replace(/Id$/, '')} ${id}`];
  });
}

function entriesOf({ call, members, approvals }: Group): Entry[] {
  const parts = members.filter(({ event }) => event === null || event !== call);
  const entries = call === null ? [] : [eventEntry(call, false)];
  const waiting = new Set(approvals);
  for (const member of parts) {
    entries.push(memberEntry(member, call !== null));
    for (const approval of waiting) {
      if (approval.evaluationId !== member.evaluation?.id) continue;
      entries.push(approvalEntry(approval));
      waiting.delete(approval);
    }
  }
  return [...entries, ...[...waiting].map(approvalEntry)];
}

function memberEntry({ event, evaluation }: Member, isPart: boolean): Entry {
  if (evaluation !== null) return evaluationEntry(evaluation, { event, isPart });
  if (event === null) throw new Error('expected an event or an evaluation, got neither');
  return eventEntry(event, isPart);
}

function eventEntry(event: AuditEvent, isPart: boolean): Entry {
  const kind = callTypes.has(event.eventType) ? 'call' : (kinds[event.eventType] ?? 'other');
  const decision = textOf(event.metadata['decision']) ?? textOf(event.metadata['status']);
  return {
    id: event.eventId,
    kind,
    at: event.timestamp,
    title: titleOf(event, kind),
    text: isObservation(event.eventType)
      ? `seen by ${sourceNames[sourceOf(event.metadata)]}`
      : lineOf(contentOf(event)),
    isPart,
    outcome:
      kind === 'decision' || kind === 'call' ? decision : kind === 'result' ? endingShown(event) : null,
    event,
    evaluation: null,
    approval: null,
  };
}

const sourceNames: Readonly<Record<ReportSource, string>> = {
  hook: 'a hook',
  mcp: 'the MCP proxy',
  direct: 'its program',
  otlp: 'telemetry',
  transcript: 'a recording',
  kernel: 'the kernel',
};

/** An ending other than the usual one. */
function endingShown({ metadata }: AuditEvent): string | null {
  const ending = endingOf(metadata['outcome']);
  return ending === undefined || ending === 'ok' ? null : ending;
}

function evaluationEntry(
  evaluation: PolicyEvaluationRecord,
  { event, isPart }: { readonly event: AuditEvent | null; readonly isPart: boolean },
): Entry {
  const policies = decidingPolicies(evaluation);
  const [first] = policies;
  const acted = textOf(event?.metadata['decision']);
  return {
    id: event?.eventId ?? evaluation.id,
    kind: 'decision',
    at: evaluation.evaluatedAt,
    title: (event === null ? null : partyName(event.resource)) ?? evaluation.policySource,
    text: first === undefined ? 'no clause matched' : lineOf(`${first.policyId}: ${first.reasoning}`),
    isPart,
    outcome: acted ?? evaluation.combined,
    event,
    evaluation,
    approval: null,
  };
}

const approvalEntry = (approval: ShownApproval): Entry => ({
  id: approval.approvalId,
  kind: 'approval',
  at: approval.decidedAt ?? approval.requestedAt,
  title: approval.tool?.name ?? '',
  text: lineOf(
    approval.decidedBy === null
      ? approval.reason
      : `by ${deciderName(approval)}${approval.comment === null ? '' : `: ${approval.comment}`}`,
  ),
  isPart: true,
  outcome: approval.status,
  event: null,
  evaluation: null,
  approval,
});

function titleOf(event: AuditEvent, kind: EntryKind): string {
  const { eventType, resource, metadata } = event;
  if (kind === 'call' || kind === 'result')
    return partyName(resource) ?? textOf(metadata['tool']) ?? eventType;
  if (kind === 'model') return partyName(resource) ?? eventType;
  if (kind === 'prompt' || kind === 'output') return partyName(event.actor) ?? eventType;
  return eventType;
}

/** The name of an actor or a resource, or else its id. */
export function partyName(party: AuditEvent['actor'] | null): string | null {
  if (party === null || typeof party === 'string') return party;
  return textOf(party['name']) ?? textOf(party['id']) ?? textOf(party['role']) ?? textOf(party['type']);
}

/** What an event is about: arguments, content, a result, or else its action. */
function contentOf({ action, metadata }: AuditEvent): string {
  for (const member of ['arguments', 'content', 'result', 'output', 'message', 'reason', 'error'] as const) {
    const value = metadata[member];
    if (value === undefined || value === null || value === '') continue;
    return typeof value === 'string' ? value : JSON.stringify(value);
  }
  return action;
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** The beginning of a text, on one line. */
const lineOf = (text: string): string => text.slice(0, lineChars).replace(/\s+/g, ' ').trim();
