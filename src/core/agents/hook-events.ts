/**
 * What a hook asks the plane, and what it records: the call to evaluate, and the events of the run. The run and the call
 * ids are those of the importers (`../intake/`), so that a transcript and telemetry of the same session join them.
 * Prompts, results and answers are recorded as hashes. Tested by `test/core/agents/hook-input.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import type { ToolCall, ToolDecision } from '../../contract/tools.ts';
import type { Ending } from '../../contract/endings.ts';
import { limits } from '../../contract/limits.ts';
import { callHash } from '../coverage/call-hash.ts';
import { withDigests } from '../action/large-content.ts';
import { endingOf } from '../intake/ending.ts';
import { capture } from '../intake/otlp/capture.ts';
import { RunBuilder, runIdFrom, textOf, type Draft, type Party, type Source } from '../intake/run.ts';
import { sha256 } from '../hash.ts';
import { formatTimestamp } from '../time.ts';
import type { HookedTool, HookInput } from './hook-input.ts';

/** As importers name it: a subagent of Claude Code is `claude-code/<id>`. */
const actorOf = ({ client, subagent }: HookInput) => ({
  name: subagent === null ? client : `${client}/${subagent}`,
  role: 'agent',
});

/** A policy sees an MCP tool by its own name and server, as the MCP proxy names it. */
export function callOf(
  input: HookInput,
  tool: HookedTool,
  facts: Pick<ToolCall, 'client' | 'facts'> = {},
): ToolCall {
  const { client, cwd, permissionMode, session, source } = input;
  const callId = textOf(source['tool_use_id']);
  return {
    tool: tool.mcp === null ? { name: tool.name } : { name: tool.mcp.name, server: tool.mcp.server },
    arguments: hashed(client, tool).arguments,
    ...facts,
    runId: runIdFrom(session),
    actor: actorOf(input),
    source: 'hook',
    // Gemini CLI names no call
    ...(callId === undefined ? {} : { toolCallId: callId.slice(0, limits.actionChars) }),
    context: {
      client,
      toolName: tool.name,
      ...(cwd === null ? {} : { cwd }),
      ...(permissionMode === null ? {} : { permissionMode }),
    },
  };
}

/** `id` makes the event unique; the same id repeats the same event. */
export interface Stamp {
  readonly id: string;
  readonly nowMs: number;
}

/** The event that is durable before the call runs, or the refusal. */
export function rulingEvent(
  input: HookInput,
  { tool, decision }: { readonly tool: HookedTool; readonly decision: ToolDecision },
  stamp: Stamp,
): EventInput {
  const { allowed } = decision;
  return eventOf(
    input,
    {
      eventType: allowed ? 'tool.call' : 'tool.denied',
      actor: actorOf(input),
      resource: resourceOf(tool),
      action: allowed ? 'execute' : 'refuse',
      metadata: {
        recordedBy: 'hook',
        client: input.client,
        toolCallId: tool.callId,
        evaluationId: decision.evaluationId,
        argumentsHash: decision.argumentsHash,
        actionHash: decision.actionHash,
        approvalId: decision.approvalId,
        [allowed ? 'decision' : 'status']: decision.decision,
        ...(tool.mcp === null ? {} : { server: { name: tool.mcp.server }, toolName: tool.name }),
      },
    },
    stamp,
  );
}

/**
 * The event that leads from the run of `gov run --sandbox` to that of the session, which has the decisions about its programs.
 * It is the same each time, so that the log has it once. Null where both are one run.
 */
export function linkEvent(
  { client, session }: HookInput,
  { runId, at }: { readonly runId: string; readonly at: string },
): EventInput | null {
  const run = runIdFrom(session);
  if (run === runId) return null;
  return {
    runId,
    eventType: 'run.linked',
    actor: { name: client, role: 'agent' },
    resource: { name: run, type: 'run' },
    action: 'link',
    timestamp: at,
    metadata: { recordedBy: 'hook', client, run },
    clientEventId: `hook:link.${sha256(JSON.stringify([runId, client, run])).toString('hex', 0, 16)}`,
  };
}

/** The event of a moment that decides nothing. */
export function reportEvent(input: HookInput, stamp: Stamp): EventInput {
  const facts = { recordedBy: 'hook', client: input.client, hook: input.eventName };
  return eventOf(input, draftOf(input, facts), stamp);
}

function draftOf(input: HookInput, facts: Source): Draft {
  const { client, moment, source, content, tool, cwd } = input;
  const actor = actorOf(input);
  switch (moment) {
    case 'start': {
      const how = source['source'] ?? 'startup';
      const metadata = { ...facts, cwd, source: how, model: source['model'] };
      // a session that is resumed or compacted started before
      return how === 'startup' || how === 'clear'
        ? { eventType: 'run.started', actor, action: 'start', metadata }
        : { eventType: 'agent.step', actor, action: `${String(how)} session`, metadata };
    }
    case 'prompt':
      return {
        eventType: 'prompt.submitted',
        actor: { name: 'user', role: 'user' },
        action: 'submit',
        metadata: { ...facts, content },
      };
    case 'end':
      return {
        eventType: 'run.ended',
        actor,
        action: 'end',
        metadata: { ...facts, reason: source['reason'] },
      };
    case 'result':
    case 'failure':
      return {
        eventType: 'tool.result',
        actor,
        action: 'return',
        ...(tool === null ? {} : { resource: resourceOf(tool) }),
        metadata: {
          ...facts,
          toolCallId: tool?.callId,
          callHash: tool === null ? null : callHash(hashed(client, tool)),
          outcome: moment === 'result' ? 'ok' : failureOf(source),
          durationMs: source['duration_ms'] ?? source['duration'],
          content,
        },
      };
    default:
      return { eventType: 'agent.step', actor, action: 'stop', metadata: { ...facts, content } };
  }
}

/** The call as the policies decided it. Arguments that changed since show in its hash. */
const hashed = (client: HookInput['client'], { name, mcp, arguments: given }: HookedTool) => ({
  client,
  tool: mcp?.name ?? name,
  server: mcp?.server ?? null,
  arguments: mcp === null ? withDigests(client, name, given) : given,
});

/** How a call ended that did not end well. */
const failureOf = (source: Source): Ending =>
  endingOf({
    stated: source['is_interrupt'] === true ? 'interrupted' : 'error',
    results: [source, source['tool_response'], source['tool_output'], source['error']],
  });

/** The tool as the policies saw it: a proof compares the call that ran with the call that was decided. */
const resourceOf = ({ name, mcp }: HookedTool): Party =>
  mcp === null ? { name, type: 'tool' } : { name: mcp.name, type: 'mcp_tool' };

function eventOf({ session }: HookInput, draft: Draft, { id, nowMs }: Stamp): EventInput {
  const run = new RunBuilder('hook', { id: session }, { importedAt: nowMs, sourceName: '', idBase: 'hook' });
  run.add({
    ...draft,
    metadata: capture(draft.metadata ?? {}, 'hashes'),
    key: id,
    at: { timestamp: formatTimestamp(nowMs), source: 'source', unixMs: nowMs },
  });
  const [event] = run.finish(1).events;
  if (event === undefined) throw new Error('expected the event that was added');
  // importers mark recordings so; this is no recording, but the caller's own event
  const { timestampSource: _mark, ...metadata } = event.metadata ?? {};
  return { ...event, metadata };
}
