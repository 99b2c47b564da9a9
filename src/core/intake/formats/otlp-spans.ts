/**
 * Spans as events. `otlp.ts` has the table. A span gives an event at its start; a tool span with a result or an error gives
 * a second one at its end. Tested by `test/core/intake/formats/otlp.test.ts`.
 */
import { readArguments } from '../conversation.ts';
import { saysFailure } from '../failure.ts';
import {
  attributeOf,
  indexedMessages,
  kindByAttributes,
  textAttribute,
  toolOutputOf,
  type SpanKind,
} from '../otlp/dialects.ts';
import type { LogRecord, SpanRecord } from '../otlp/records.ts';
import { isSource, textOf, type Draft, type Party, type RunBuilder, type Source } from '../run.ts';
import { otherAttributes, type Timed } from './otlp-timed.ts';

/** Spans with their ancestors, and the runs that they name. */
export class SpanTree {
  readonly spans: readonly SpanRecord[];
  readonly #byId: ReadonlyMap<string, SpanRecord>;
  readonly #runs: ReadonlyMap<string, string>;

  /** `elsewhere`: runs by trace id that earlier requests name. They stay. */
  constructor(spans: readonly SpanRecord[], elsewhere: ReadonlyMap<string, string> = new Map()) {
    this.spans = spans;
    this.#byId = new Map(spans.map((span) => [`${span.traceId} ${span.spanId}`, span]));
    this.#runs = new Map([...namedTraces(spans), ...elsewhere]);
  }

  /** Yields the containers of a span, from the inside out; survives a circle. */
  *ancestors(span: SpanRecord): Generator<SpanRecord> {
    const seen = new Set([span]);
    for (
      let above = this.#parent(span);
      above !== undefined && !seen.has(above);
      above = this.#parent(above)
    ) {
      seen.add(above);
      yield above;
    }
  }

  #parent({ traceId, parentId }: SpanRecord): SpanRecord | undefined {
    return parentId === undefined ? undefined : this.#byId.get(`${traceId} ${parentId}`);
  }

  /** Returns the run of a span: its own, that of its nearest ancestor, that of its trace, else the trace. */
  runOf(span: SpanRecord): string {
    for (const { attributes } of [span, ...this.ancestors(span)]) {
      const run = textAttribute(attributes, 'run');
      if (run !== undefined) return run;
    }
    return this.runOfTrace(span.traceId);
  }

  runOfTrace(traceId: string): string {
    return this.#runs.get(traceId) ?? `trace:${traceId}`;
  }
}

/** Returns the run that the first record of each trace names; else the run in which its program was started. */
export function namedTraces(records: readonly (SpanRecord | LogRecord)[]): Map<string, string> {
  const runs = new Map<string, string>();
  const started = new Map<string, string>();
  for (const { traceId, attributes, resource } of records) {
    if (traceId === undefined) continue;
    const run = textAttribute(attributes, 'run');
    if (run !== undefined && !runs.has(traceId)) runs.set(traceId, run);
    const own = startedRun(resource);
    if (own !== undefined) started.set(traceId, own);
  }
  return new Map([...started, ...runs]);
}

/** `gov run` names its run in the resource of the program that it starts. */
export const startedRun = (resource: Source): string | undefined => textOf(resource['gov.run']);

const keyOf = ({ traceId, spanId }: Pick<SpanRecord, 'traceId' | 'spanId'>): string =>
  `span.${traceId}.${spanId}`;

/** Returns the events of a span; none if it says nothing about an agent, which is counted. */
export function describeSpan(
  span: SpanRecord,
  { run, tree, awaits = false }: { run: RunBuilder; tree: SpanTree; awaits?: boolean },
): Timed[] {
  const kind = isLoggedToo(span) ? 'workflow' : kindByAttributes(span.attributes);
  if (kind === undefined) {
    run.changes.add('bookkeeping');
    return [];
  }
  if (span.start === null) run.changes.add('time_unreadable');
  const above = [...tree.ancestors(span)];
  const container = above.find(({ attributes }) => kindByAttributes(attributes) !== undefined);
  // a parent ends after its children, so that it may come in a later request
  const awaited = awaits ? (above.at(-1) ?? span).parentId : undefined;
  const parent = container ?? (awaited === undefined ? undefined : { ...span, spanId: awaited });
  const actor = actorOf(span, above);
  const toolCallId =
    kind === 'tool' ? (textAttribute(span.attributes, 'callId') ?? `import:${span.spanId}`) : undefined;
  const shared = { actor, mergeable: kind === 'tool', ...calleeOf(span, kind) };
  const output = toolOutputOf(span.attributes);
  const result = readArguments(output[0]);
  const failed = hasFailed(span) || (kind === 'tool' && saysFailure(result));
  const statusMessage = span.statusMessage ?? textOf(span.attributes['langfuse.observation.status_message']);
  const first: Timed = {
    ...shared,
    key: keyOf(span),
    at: span.start,
    rank: kind === 'tool' ? 1 : kind === 'model' ? 3 : 0,
    metadata: {
      importer: 'otlp',
      signal: 'span',
      parentEventId: parent === undefined ? undefined : run.idOf(keyOf(parent)),
      toolCallId,
      ...contentOf(span, kind),
      traceId: span.traceId,
      spanId: span.spanId,
      scope: span.scope,
      name: span.name,
      endTime: span.end?.timestamp,
      durationMs: span.start === null || span.end === null ? undefined : span.end.unixMs - span.start.unixMs,
      outcome: failed ? 'error' : undefined,
      statusMessage,
      otel: otherAttributes(span.attributes, used),
    },
  };
  if (kind !== 'tool' || (output.length === 0 && !failed)) return [first];
  return [
    first,
    {
      ...shared,
      eventType: 'tool.result',
      action: 'return',
      key: `${keyOf(span)}.result`,
      at: span.end ?? span.start,
      rank: 2,
      metadata: {
        importer: 'otlp',
        signal: 'span',
        parentEventId: run.idOf(keyOf(span)),
        toolCallId,
        content: result ?? statusMessage,
        outcome: failed ? 'error' : 'ok',
      },
    },
  ];
}

/** The status says it, or the attribute of the conventions, or Langfuse's level, also where the status is unset. */
const hasFailed = ({ failed, attributes }: SpanRecord): boolean =>
  failed ||
  textOf(attributes['error.type']) !== undefined ||
  attributes['langfuse.observation.level'] === 'ERROR';

/** A call of Gemini CLI under an id that neither its hooks nor its log have. Its log reports each call, with arguments. */
const isLoggedToo = ({ scope, name }: SpanRecord): boolean => scope === 'gemini-cli' && name === 'tool_call';

const used =
  /^(gen_ai\.(operation\.name|tool\.(name|call\.(id|arguments|result)|call_id)|input\.messages|output\.messages|system_instructions|conversation\.id|(request|response)\.model|agent\.name|usage\..*|(prompt|completion)\.\d+\..+)|llm\.request\.type|ai\.toolCall\.(name|id|args|result)|session\.id|conversation\.id|(input|output)\.value)$/;

function contentOf({ attributes }: SpanRecord, kind: SpanKind): Source {
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
function idsIn(messages: unknown, types: readonly string[]): string[] {
  if (!Array.isArray(messages)) return [];
  const isAnswer = types.includes('tool_result');
  return messages.filter(isSource).flatMap((message) => {
    const parts = [message['parts'], message['content']].filter(Array.isArray).flat().filter(isSource);
    const calls = Array.isArray(message['tool_calls']) ? message['tool_calls'].filter(isSource) : [];
    const typed = [...parts, ...calls].filter((part) => types.includes(String(part['type'])));
    const named = isAnswer ? [] : calls.filter((call) => call['type'] === undefined);
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

function usageOf(attributes: Source): Source | undefined {
  const members = Object.entries(attributes).filter(([name]) => name.startsWith('gen_ai.usage.'));
  return members.length === 0
    ? undefined
    : Object.fromEntries(members.map(([name, value]) => [name.slice('gen_ai.usage.'.length), value]));
}

/** Returns the nearest agent above, else the service. */
function actorOf(span: SpanRecord, above: readonly SpanRecord[]): Party {
  const named = above.map(({ attributes }) => textAttribute(attributes, 'agent')).find(Boolean);
  const own =
    kindByAttributes(span.attributes) === 'agent' ? undefined : textAttribute(span.attributes, 'agent');
  return { name: own ?? named ?? textOf(span.resource['service.name']) ?? 'agent', role: 'agent' };
}

function calleeOf(span: SpanRecord, kind: SpanKind): Pick<Draft, 'eventType' | 'action' | 'resource'> {
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
      const tool =
        textAttribute(attributes, 'toolName') ?? span.name.replace(/^(execute_tool|tools\/call) /, '');
      return {
        eventType: 'tool.call',
        action: 'execute',
        resource: { name: tool, type: isMcp ? 'mcp_tool' : 'tool' },
      };
    }
    case 'agent':
      return { eventType: 'agent.invoked', action: 'invoke', resource: { name: agent, type: 'agent' } };
    case 'workflow':
      return { eventType: 'workflow.invoked', action: 'invoke' };
    case 'retrieval':
      return { eventType: 'kb.query', action: 'query', resource: { name: span.name, type: 'data' } };
    case 'plan':
      return { eventType: 'agent.planned', action: 'plan' };
    case 'guardrail':
      return { eventType: 'policy.evaluated', action: 'decide' };
    case 'memory': {
      const reads = attributes['gen_ai.operation.name'] === 'search_memory';
      return {
        eventType: reads ? 'memory.read' : 'memory.write',
        action: String(attributes['gen_ai.operation.name']),
        resource: { name: span.name, type: 'data' },
      };
    }
  }
}
