/**
 * Spans as events. `otlp.ts` has the table. A span gives an event at its start; a tool span with a result or an error gives
 * a second one at its end. Tested by `test/core/intake/formats/otlp.test.ts`.
 */
import { readArguments } from '../conversation.ts';
import { matchedBy } from '../otlp/asked-calls.ts';
import {
  attributeOf,
  indexedMessages,
  kindOfSpan,
  textAttribute,
  toolOutputOf,
  type SpanKind,
} from '../otlp/dialects.ts';
import type { SpanRecord } from '../otlp/records.ts';
import { outcomeOf } from '../otlp/outcome.ts';
import { isLoggedToo, toolNameOf, type SpanTree } from '../otlp/tree.ts';
import { isSource, textOf, type Draft, type Party, type RunBuilder, type Source } from '../run.ts';
import { otherAttributes, type TimedDraft } from './otlp-timed.ts';

const keyOf = ({ traceId, spanId }: Pick<SpanRecord, 'traceId' | 'spanId'>): string =>
  `span.${traceId}.${spanId}`;

/** Returns the events of a span; none if it says nothing about an agent, which is counted. */
export function describeSpan(
  span: SpanRecord,
  { run, tree, awaits = false }: { run: RunBuilder; tree: SpanTree; awaits?: boolean },
): TimedDraft[] {
  const kind = isLoggedToo(span) ? 'workflow' : kindOf(span);
  if (kind === undefined) {
    run.changes.add('bookkeeping');
    return [];
  }
  if (span.start === null) run.changes.add('time_unreadable');
  const above = [...tree.ancestors(span)];
  const container = above.find((each) => kindOf(each) !== undefined);
  // a parent ends after its children, so that it may come in a later request
  const awaited = awaits ? (above.at(-1) ?? span).parentId : undefined;
  const parent = container ?? (awaited === undefined ? undefined : { ...span, spanId: awaited });
  const actor = actorOf(span, above);
  const around = tree.sameCall(span);
  const own = kind === 'tool' ? tree.callSpan(span) : undefined;
  const call = own === undefined ? undefined : tree.callOf(span);
  const called = { toolCallId: call?.id, matchedBy: call?.isAsked === true ? matchedBy : undefined };
  const shared = { actor, mergeable: kind === 'tool', ...calleeOf(span, kind) };
  const result = readArguments(toolOutputOf(span.attributes)[0]);
  const outcome = outcomeOf(span, { isTool: kind === 'tool' });
  const statusMessage = span.statusMessage ?? textOf(span.attributes['langfuse.observation.status_message']);
  const first: TimedDraft = {
    ...shared,
    observes: around.length > 0 || (kind === 'model' && tree.modelCopies(span.traceId).has(span.spanId)),
    key: keyOf(span),
    at: span.start,
    rank: kind === 'tool' ? 1 : kind === 'model' ? 3 : 0,
    metadata: {
      importer: 'otlp',
      signal: 'span',
      parentEventId: parent === undefined ? undefined : run.idOf(keyOf(parent)),
      ...called,
      ...contentOf(span, kind),
      traceId: span.traceId,
      spanId: span.spanId,
      scope: span.scope,
      name: span.name,
      endTime: span.end?.timestamp,
      durationMs: span.start === null || span.end === null ? undefined : span.end.unixMs - span.start.unixMs,
      outcome: outcome === 'ok' ? undefined : outcome,
      statusMessage,
      ...eventsOf(span),
      otel: otherAttributes(span.attributes, kind === 'tool' || kind === 'model' ? used : usedByAll),
    },
  };
  if (own?.hasResult !== true) return [first];
  return [
    first,
    {
      ...shared,
      observes: around.some((each) => each.hasResult === true),
      eventType: 'tool.result',
      action: 'return',
      key: `${keyOf(span)}.result`,
      at: span.end ?? span.start,
      rank: 2,
      metadata: {
        importer: 'otlp',
        signal: 'span',
        parentEventId: run.idOf(keyOf(span)),
        ...called,
        content: result ?? statusMessage ?? exceptionIn(span),
        outcome,
      },
    },
  ];
}

type Kind = SpanKind | 'step';

/** A span with an attribute of a model, an agent or MCP is a step at least, whatever it names its operation. */
const kindOf = (span: SpanRecord): Kind | undefined =>
  kindOfSpan(span) ??
  (Object.keys(span.attributes).some((name) => /^(?:gen_ai|llm|mcp)\./.test(name)) ? 'step' : undefined);

/** The events of a span hold messages of a model, or the text of an exception. */
function eventsOf({ events }: SpanRecord): Source {
  if (events.length === 0) return {};
  const types = events.flatMap(({ attributes }) => textOf(attributes['exception.type']) ?? []);
  return { exceptions: types.length === 0 ? undefined : types, spanEvents: events };
}

/** The message of the exception that a span has in place of an output. */
const exceptionIn = ({ events }: SpanRecord): string | undefined =>
  events
    .map(({ attributes }) => textOf(attributes['exception.message']))
    .findLast((each) => each !== undefined);

/** What every span names in a member of its own; only a tool and a model have members for their content. */
const usedByAll = /^(gen_ai\.(conversation\.id|agent\.name)|session\.id|conversation\.id)$/;
const used =
  /^(gen_ai\.(operation\.name|tool\.(name|call\.(id|arguments|result)|call_id)|input\.messages|output\.messages|system_instructions|conversation\.id|(request|response)\.model|agent\.name|usage\..*|(prompt|completion)\.\d+\..+)|llm\.(request\.type|usage\..*|token_count\..*)|gcp\.vertex\.agent\.(llm_request|llm_response|tool_call_args|tool_response|session_id)|langfuse\.observation\.(input|output|model\.name|usage_details)|ai\.toolCall\.(name|id|args|result)|session\.id|conversation\.id|(input|output)\.value)$/;

function contentOf({ attributes }: SpanRecord, kind: Kind): Source {
  if (kind === 'tool') return { arguments: readArguments(attributeOf(attributes, 'toolInput')) };
  if (kind !== 'model') return {};
  const input = readArguments(attributeOf(attributes, 'modelInput')) ?? indexedMessages(attributes, 'prompt');
  const output =
    readArguments(attributeOf(attributes, 'modelOutput')) ?? indexedMessages(attributes, 'completion');
  const asked = [
    ...idsIn(output, ['tool_call', 'tool_use', 'function_call']),
    ...flatIds(attributes, 'output'),
  ];
  const read = [
    ...idsIn(newest(input), ['tool_call_response', 'tool_result']),
    ...flatIds(attributes, 'input'),
  ];
  return {
    toolCallIds: asked.length === 0 ? undefined : asked,
    toolResultIds: read.length === 0 ? undefined : read,
    input,
    output,
    system: readArguments(attributes['gen_ai.system_instructions']),
    usage: usageOf(attributes),
  };
}

/** The messages after the model's last answer: the ones before were in earlier inputs. */
function newest(input: unknown): unknown {
  if (!Array.isArray(input)) return input;
  const last = input.findLastIndex((message) => isSource(message) && message['role'] === 'assistant');
  return input.slice(last + 1);
}

/** Returns the ids of parts of these types in messages, and of the calls and results that OpenAI's form names. */
function idsIn(given: unknown, types: readonly string[]): string[] {
  const messages = isSource(given) ? [given] : given;
  if (!Array.isArray(messages)) return [];
  const isAnswer = types.includes('tool_result');
  return messages.filter(isSource).flatMap((message) => {
    const parts = [message['parts'], message['content']].filter(Array.isArray).flat().filter(isSource);
    const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'].filter(isSource) : [];
    const typed = [...parts, ...calls].filter((part) => types.includes(String(part['type'])));
    const named = isAnswer ? [] : calls.filter(({ type }) => type === undefined || type === 'function');
    const answered = isAnswer && message['role'] === 'tool' ? textOf(message['tool_call_id']) : undefined;
    const ids = [...typed, ...named].flatMap(
      (part) => textOf(part['id']) ?? textOf(part['tool_use_id']) ?? [],
    );
    return answered === undefined ? ids : [...ids, answered];
  });
}

/** OpenInference writes messages as one attribute for each member. */
function flatIds(attributes: Source, side: 'input' | 'output'): string[] {
  const prefix = `llm.${side}_messages.`;
  const ending = side === 'output' ? /\.tool_calls\.\d+\.tool_call\.id$/ : /\.message\.tool_call_id$/;
  return Object.keys(attributes)
    .filter((each) => each.startsWith(prefix) && ending.test(each))
    .flatMap((each) => textOf(attributes[each]) ?? []);
}

/** What begins the names of counts of tokens, in the conventions in use. */
const usagePrefix = /^(?:gen_ai\.usage|llm\.usage|llm\.token_count)\./;

function usageOf(attributes: Source): Source | undefined {
  const details = readArguments(attributes['langfuse.observation.usage_details']);
  const members = Object.entries(attributes).filter(([name]) => usagePrefix.test(name));
  if (members.length === 0) return isSource(details) ? details : undefined;
  return Object.fromEntries(members.map(([name, value]) => [name.replace(usagePrefix, ''), value]));
}

/** Returns the nearest agent above, else the service. */
function actorOf(span: SpanRecord, above: readonly SpanRecord[]): Party {
  const named = above.map(({ attributes }) => textAttribute(attributes, 'agent')).find(Boolean);
  const own = kindOfSpan(span) === 'agent' ? undefined : textAttribute(span.attributes, 'agent');
  return { name: own ?? named ?? textOf(span.resource['service.name']) ?? 'agent', role: 'agent' };
}

function calleeOf(span: SpanRecord, kind: Kind): Pick<Draft, 'eventType' | 'action' | 'resource'> {
  const { attributes } = span;
  const model: Party = { name: textAttribute(attributes, 'model') ?? 'unknown', type: 'model' };
  const agent = textAttribute(attributes, 'agent') ?? span.name;
  switch (kind) {
    case 'model':
      return { eventType: 'model.invoked', action: 'inference', resource: model };
    case 'embedding':
      return { eventType: 'model.invoked', action: 'embed', resource: model };
    case 'tool': {
      const isMcp = attributes['mcp.method.name'] !== undefined;
      return {
        eventType: 'tool.call',
        action: 'execute',
        resource: { name: toolNameOf(span), type: isMcp ? 'mcp_tool' : 'tool' },
      };
    }
    case 'agent':
      return { eventType: 'agent.invoked', action: 'invoke', resource: { name: agent, type: 'agent' } };
    case 'workflow':
      return { eventType: 'workflow.invoked', action: 'invoke' };
    case 'retrieval': {
      const names = ['mcp.resource.uri', 'gen_ai.prompt.name', 'gen_ai.data_source.id'];
      const name =
        names.map((each) => textOf(attributes[each])).find((each) => each !== undefined) ?? span.name;
      return { eventType: 'kb.query', action: 'query', resource: { name, type: 'data' } };
    }
    case 'plan':
      return { eventType: 'agent.planned', action: 'plan' };
    case 'guardrail':
      return { eventType: 'policy.evaluated', action: 'decide' };
    case 'step':
      return { eventType: 'agent.step', action: span.name };
    case 'memory': {
      const reads = attributes['gen_ai.operation.name'] === 'search_memory';
      return {
        eventType: reads ? 'memory.read' : 'memory.write',
        action: String(attributes['gen_ai.operation.name']),
        resource: { name: textOf(attributes['gen_ai.memory.store.id']) ?? span.name, type: 'data' },
      };
    }
  }
}
