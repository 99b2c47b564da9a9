/**
 * Subagents of Claude Code, Codex and Gemini CLI work in files of their own, in the run of their session. This names the
 * call that started each: the session's own file says which, and either file may be pushed first, and again. A cause must
 * be in the log before its effect, so the cause of events that are there already comes in an `event.completed`
 * (`reconcile.ts`). Tested by `test/cli/push/subagents.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import type { StoredEvent } from './reconcile.ts';
import { isSource, textOf, type ImportedRun } from './run.ts';

type ReportedEvent = Pick<EventInput, 'eventType' | 'actor' | 'metadata' | 'clientEventId'> | StoredEvent;

/** Returns the run with the cause of each subagent's first event, where it is known. Cost: once over both lists. */
export function linkSubagents(run: ImportedRun, stored: readonly StoredEvent[]): ImportedRun {
  const starters = startersIn([...stored, ...run.events]);
  if (starters.size === 0) return run;
  const before = new Map<string, StoredEvent>();
  for (const event of stored) {
    const agent = agentOf(event);
    if (agent !== undefined && !before.has(agent)) before.set(agent, event);
  }
  const seen = new Set<string>();
  const late: EventInput[] = [];
  const given = new Map(run.events.map(({ clientEventId }, at) => [clientEventId, at]));
  const isStored = new Set(stored.map(({ clientEventId }) => clientEventId));
  const events = run.events.map((event, at) => {
    const agent = agentOf(event);
    if (agent === undefined || seen.has(agent)) return event;
    seen.add(agent);
    const known = before.get(agent);
    if (known !== undefined && known.clientEventId !== event.clientEventId) return event;
    const causedBy = event.causedBy ?? known?.causedBy ?? starters.get(agent);
    if (causedBy === undefined) return event;
    const isBefore = causedBy.every((id) => isStored.has(id) || (given.get(id) ?? -1) < at);
    if (isBefore) return { ...event, causedBy: [...causedBy] };
    if (known === undefined || !hasCause(known, stored)) late.push(causeOf(event, { run, causedBy }));
    return event;
  });
  for (const [agent, event] of before) {
    const causedBy = starters.get(agent);
    const isLate = !seen.has(agent) && causedBy !== undefined && event.causedBy === null;
    if (isLate && !hasCause(event, stored)) late.push(causeOf(event, { run, causedBy }));
  }
  return { ...run, events: [...events, ...late] };
}

/** The calls that started subagents, by the id of the subagent: the result of such a call names it. */
function startersIn(events: readonly ReportedEvent[]): Map<string, readonly string[]> {
  const calls = new Map<string, string>();
  const agents = new Map<string, string>();
  for (const { eventType, metadata = {}, clientEventId } of events) {
    const callId = textOf(metadata['toolCallId']);
    if (callId === undefined) continue;
    const type = textOf(metadata['observed']) ?? eventType;
    if (type === 'tool.call' && typeof clientEventId === 'string' && !calls.has(callId))
      calls.set(callId, clientEventId);
    const extra = metadata['extra'];
    const agent = isSource(extra) ? textOf(extra['agentId']) : undefined;
    if (type === 'tool.result' && agent !== undefined && !agents.has(agent)) agents.set(agent, callId);
  }
  return new Map(
    [...agents].flatMap(([agent, callId]) => {
      const call = calls.get(callId);
      return call === undefined ? [] : [[agent, [call]] as const];
    }),
  );
}

/** The subagent that a recording's event is of; undefined for events of others, and of hooks and telemetry. */
function agentOf({ actor, metadata = {} }: ReportedEvent): string | undefined {
  if (typeof metadata['timestampSource'] !== 'string' || metadata['importer'] === 'otlp') return undefined;
  const name = typeof actor === 'object' && actor !== null ? actor.name : actor;
  return typeof name === 'string' ? /^(?:claude-code|codex|gemini-cli)\/(.+)$/.exec(name)?.[1] : undefined;
}

const hasCause = ({ clientEventId }: StoredEvent, stored: readonly StoredEvent[]): boolean =>
  stored.some(({ metadata }) => {
    const { completes, added } = metadata;
    return completes === clientEventId && isSource(added) && Array.isArray(added['causedBy']);
  });

type Late = ReportedEvent & Pick<EventInput, 'timestamp'>;

/** Says what caused an event that stands before its cause. */
function causeOf(
  { eventType, actor, timestamp, clientEventId, metadata = {} }: Late,
  { run, causedBy }: { readonly run: ImportedRun; readonly causedBy: readonly string[] },
): EventInput {
  const id = clientEventId ?? '';
  return {
    runId: run.runId,
    eventType: 'event.completed',
    actor: actor as EventInput['actor'], // an importer wrote it
    action: 'complete',
    timestamp,
    metadata: {
      completes: id,
      completedType: eventType,
      added: { causedBy: [...causedBy] },
      timestampSource: metadata['timestampSource'],
    },
    causedBy: [id, ...causedBy],
    clientEventId: `${id}.caused`,
  };
}
