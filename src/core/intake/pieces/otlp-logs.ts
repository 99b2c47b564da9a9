/**
 * Log records of agents as events, by the name of the record without its program's prefix. `otlp.ts` has the table.
 * Tested by `test/core/intake/formats/otlp.test.ts`.
 */
import { unnamedCallId } from '../call-ids.ts';
import { readArguments } from '../conversation.ts';
import { endingOf } from '../ending.ts';
import { isStepOfCodex } from '../codex-steps.ts';
import { attributeOf, textAttribute, toolOutputOf } from '../otlp/dialects.ts';
import type { LogRecord } from '../otlp/records.ts';
import { idOf, isSource, shortHash, textOf, type Party, type RunBuilder, type Source } from '../run.ts';
import { otherAttributes, type TimedDraft } from './otlp-timed.ts';

const programs = /^(claude_code|codex|gemini_cli|qwen-code|opencode|copilot)\./;

/** Records of how a program does, without meaning for a run. */
const filtered = /^(sse_event|websocket_event|startup_phase|turn_ttft|config|flash_.*|ripgrep_.*)$/;

/** Returns the events of a log record; none if it says nothing about an agent, which is counted. */
export function describeLog(log: LogRecord, run: RunBuilder, key = keyOf(log)): TimedDraft[] {
  const hasSession = textAttribute(log.attributes, 'run') !== undefined;
  const name = log.name.replace(programs, '').replace(/^gen_ai\..+\.exception$/, 'api_error');
  const isOfModel = [name, ...Object.keys(log.attributes)].some((each) => /^(?:gen_ai|llm)\./.test(each));
  const events = hasSession || isOfModel ? describe(name, { log, key }) : [];
  if (events.length === 0) run.changes.add('bookkeeping');
  return events;
}

/** The session numbers its records; without a number, a record is known by its content. */
function keyOf({ name, at, attributes, body, traceId, spanId }: LogRecord): string {
  const sequence = attributes['event.sequence'];
  if (sequence !== undefined) return `log.${String(sequence)}`;
  const sorted = Object.entries(attributes).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const content = JSON.stringify([name, at?.timestamp, sorted, body, traceId, spanId]);
  return `log.${shortHash(content)}${shortHash(`2 ${content}`)}`;
}

function describe(name: string, { log, key }: { log: LogRecord; key: string }): TimedDraft[] {
  const { attributes, at } = log;
  const agent: Party = {
    name: textAttribute(attributes, 'agent') ?? textOf(log.resource['service.name']) ?? 'agent',
    role: 'agent',
  };
  const toolCallId = textAttribute(attributes, 'callId') ?? callIdOfGemini(log);
  const tool: Party = {
    name: textAttribute(attributes, 'toolName') ?? 'unknown',
    type: toolType(attributes),
  };
  const shared = { at, key, actor: agent, rank: 1 };
  const facts: Source = {
    importer: 'otlp',
    signal: 'log',
    record: log.name,
    traceId: log.traceId,
    spanId: log.spanId,
    scope: log.scope,
    otel: otherAttributes(attributes, used),
  };
  switch (name) {
    case 'user_prompt':
    case 'gen_ai.user.message':
      return [
        {
          ...shared,
          eventType: 'prompt.submitted',
          actor: { name: 'user', role: 'user' },
          action: 'submit',
          metadata: { ...facts, content: promptOf(name, log) },
        },
      ];
    case 'api_request':
    case 'gen_ai.choice':
    case 'gen_ai.client.inference.operation.details':
      return [invoked(log, { ...shared, facts })];
    case 'gen_ai.tool.message':
      return [answered(log, { ...shared, facts })];
    case 'api_error':
      return [{ ...shared, eventType: 'run.error', action: 'fail', metadata: facts }];
    case 'tool_decision':
      return [decided({ ...shared, toolCallId, tool, facts, attributes })];
    case 'tool_result':
    case 'tool_call':
      if (isOwnStep(log))
        return [{ ...shared, rank: 0, eventType: 'agent.step', action: tool.name, metadata: facts }];
      if (isUnknownTool(log) || isRefusedByGemini(log)) {
        const refused = { decision: isUnknownTool(log) ? 'unsupported' : 'denied', source: 'client' };
        return [decided({ ...shared, toolCallId, tool, facts, attributes: refused })];
      }
      return called({ ...shared, toolCallId, tool, facts, attributes });
    default:
      if (!isNumbered(attributes) && filtered.test(name)) return [];
      return [
        { ...shared, rank: 0, eventType: 'agent.step', action: name, metadata: { ...facts, body: log.body } },
      ];
  }
}

type Shared = Pick<TimedDraft, 'at' | 'key' | 'actor' | 'rank'> & { readonly facts: Source };

const invoked = ({ attributes, body }: LogRecord, { facts, ...shared }: Shared): TimedDraft => ({
  ...shared,
  rank: 3,
  eventType: 'model.invoked',
  action: 'inference',
  resource: { name: textAttribute(attributes, 'model') ?? 'unknown', type: 'model' },
  metadata: {
    ...facts,
    toolCallIds: callIdsIn(body),
    input: readArguments(attributes['gen_ai.input.messages']),
    output: readArguments(attributes['gen_ai.output.messages']) ?? body,
  },
});

/** The ids of the calls that a choice of a model asks for. */
function callIdsIn(body: unknown): string[] | undefined {
  const message = isSource(body) ? (body['message'] ?? body) : undefined;
  const calls = isSource(message) && Array.isArray(message['tool_calls']) ? message['tool_calls'] : [];
  const ids = calls.filter(isSource).flatMap(({ id }) => idOf(id) ?? []);
  return ids.length === 0 ? undefined : ids;
}

/** A message with which a tool answers its model shows that the call has ended. */
function answered({ body, attributes }: LogRecord, { facts, ...shared }: Shared): TimedDraft {
  const message = isSource(body) ? body : {};
  const id = idOf(message['id']) ?? idOf(message['tool_call_id']) ?? textAttribute(attributes, 'callId');
  const content = message['content'] ?? body;
  if (id === undefined)
    return { ...shared, eventType: 'agent.step', action: 'tool message', metadata: { ...facts, body } };
  return {
    ...shared,
    rank: 2,
    mergeable: true,
    eventType: 'tool.result',
    action: 'return',
    metadata: { ...facts, toolCallId: id, content, outcome: endingOf({ results: [content] }) },
  };
}

/** Programs write this in place of a text that they do not send. */
const withheld: ReadonlySet<unknown> = new Set(['<REDACTED>', '[REDACTED]']);

/** The body of a program's record names the record. */
function promptOf(name: string, { attributes, body }: LogRecord): unknown {
  const prompt = attributes['prompt'] ?? (name === 'user_prompt' ? undefined : body);
  return withheld.has(prompt) ? undefined : prompt;
}

interface OfTool extends Pick<TimedDraft, 'at' | 'key' | 'actor' | 'rank'> {
  readonly toolCallId: string | undefined;
  readonly tool: Party;
  readonly facts: Source;
  readonly attributes: Source;
}

function decided({ toolCallId, tool, facts, attributes, ...shared }: OfTool): TimedDraft {
  const { decision, source: decidedBy } = attributes;
  return {
    ...shared,
    rank: 0,
    eventType: /^(accept|approved|allow)/.test(String(decision)) ? 'tool.decision' : 'tool.call_blocked',
    action: 'decide',
    resource: tool,
    metadata: { ...facts, toolCallId, decision, decidedBy },
  };
}

/** Codex names the MCP server in the records of its tools, so a server cannot report a call in the two forms below. */
const isOfCodex = ({ name, attributes }: LogRecord): boolean =>
  name === 'codex.tool_result' && textOf(attributes['mcp_server']) === undefined;

/** The namespace of a tool: empty for those of Codex itself, which it calls `functions` since 0.171. */
const spaceOf = ({ attributes }: LogRecord): string => {
  const space = textOf(attributes['tool_namespace']) ?? '';
  return space === 'functions' ? '' : space;
};

/** Codex and Gemini CLI refuse a call of a tool that they do not have, before their hooks (measured: 0.171, 0.61.0). */
const isUnknownTool = (log: LogRecord): boolean => {
  if (isOfGemini(log)) return log.attributes['error_type'] === 'tool_not_registered';
  const { tool_name: tool, success, output } = log.attributes;
  const named = `${spaceOf(log)}${String(tool)}`;
  const isRefused = [`unsupported call: ${named}`, `unsupported custom tool call: ${named}`].includes(
    String(output),
  );
  return isOfCodex(log) && String(success) === 'false' && isRefused;
};

/** What Codex does for itself, without a hook, is no call. */
const isOwnStep = (log: LogRecord): boolean => {
  const { tool_name: tool, arguments: input } = log.attributes;
  return isOfCodex(log) && spaceOf(log) === '' && isStepOfCodex(tool, input);
};

const isOfGemini = ({ name }: LogRecord): boolean => name === 'gemini_cli.tool_call';

/** Gemini CLI names its calls neither here nor to its hooks. It leaves the arguments out where `logPrompts` is false. */
function callIdOfGemini(log: LogRecord): string | undefined {
  const { attributes } = log;
  const [session, tool] = [textAttribute(attributes, 'run'), textAttribute(attributes, 'toolName')];
  const args = readArguments(attributes['function_args']);
  if (!isOfGemini(log) || session === undefined || tool === undefined || !isSource(args)) return undefined;
  return unnamedCallId(session, tool, args);
}

/** A hook or a rule of Gemini CLI, or its user, refused the call (measured: 0.61.0). */
const isRefusedByGemini = (log: LogRecord): boolean =>
  isOfGemini(log) &&
  String(log.attributes['success']) === 'false' &&
  (log.attributes['error_type'] === 'policy_violation' || log.attributes['decision'] === 'reject');

/** One record reports a call and its outcome. */
function called({ toolCallId, tool, facts, attributes, ...shared }: OfTool): TimedDraft[] {
  const id = toolCallId ?? `import:${shared.key}`;
  const [output] = toolOutputOf(attributes);
  const stated = String(attributes['success'] ?? attributes['status']);
  const hasFailed = /^(false|error)$/.test(stated) || textOf(attributes['error.type']) !== undefined;
  const call = { ...shared, mergeable: true, resource: tool };
  return [
    {
      ...call,
      eventType: 'tool.call',
      action: 'execute',
      key: `${shared.key}.call`,
      metadata: { ...facts, toolCallId: id, arguments: readArguments(attributeOf(attributes, 'toolInput')) },
    },
    {
      ...call,
      rank: 2,
      eventType: 'tool.result',
      action: 'return',
      metadata: {
        importer: 'otlp',
        signal: 'log',
        toolCallId: id,
        content: output,
        outcome: endingOf({
          stated: hasFailed ? 'error' : /^(true|ok|success)$/.test(stated) ? 'ok' : undefined,
          results: [output],
          record: attributes,
        }),
        durationMs: attributes['duration_ms'],
        otel: isNumbered(attributes) ? { 'event.sequence': attributes['event.sequence'] } : undefined,
      },
    },
  ];
}

/** A numbered record is always recorded: one that is left out would count as missing. */
const isNumbered = (attributes: Source): boolean => attributes['event.sequence'] !== undefined;

const toolType = (attributes: Source): string =>
  textOf(attributes['mcp_server']) !== undefined ||
  [attributes['tool_source'], attributes['tool_type']].includes('mcp')
    ? 'mcp_tool'
    : 'tool';

const used =
  /^(session\.id|conversation\.id|gen_ai\.conversation\.id|event\.(name|timestamp)|prompt(_text)?|tool_(name|use_id|input|parameters)|function_(name|args)|call_id|arguments|output|decision|gen_ai\.(input|output)\.messages)$/;
