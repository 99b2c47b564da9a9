/**
 * What a span is, by the attributes of the conventions in use: OpenTelemetry GenAI (old and new names), OpenInference,
 * OpenLLMetry, LangSmith, AI SDK, MCP, Langfuse, Google ADK. The first attribute that says it counts.
 * Tested by `test/core/intake/formats/otlp.test.ts` and `langfuse.test.ts`.
 */
import { textOf, type Source } from '../run.ts';

export type SpanKind =
  | 'model'
  | 'embedding'
  | 'tool'
  | 'agent'
  | 'retrieval'
  | 'guardrail'
  | 'workflow'
  | 'plan'
  | 'memory';

const table: readonly (readonly [attribute: string, kinds: Readonly<Record<string, SpanKind>>])[] = [
  [
    'gen_ai.operation.name',
    {
      chat: 'model',
      generate_content: 'model',
      text_completion: 'model',
      llm_call: 'model',
      embeddings: 'embedding',
      execute_tool: 'tool',
      tool_call: 'tool',
      invoke_agent: 'agent',
      create_agent: 'agent',
      retrieval: 'retrieval',
      invoke_workflow: 'workflow',
      plan: 'plan',
      search_memory: 'memory',
      create_memory: 'memory',
      update_memory: 'memory',
      upsert_memory: 'memory',
      delete_memory: 'memory',
      create_memory_store: 'memory',
      delete_memory_store: 'memory',
    },
  ],
  [
    'openinference.span.kind',
    {
      LLM: 'model',
      EMBEDDING: 'embedding',
      TOOL: 'tool',
      AGENT: 'agent',
      RETRIEVER: 'retrieval',
      RERANKER: 'retrieval',
      GUARDRAIL: 'guardrail',
      EVALUATOR: 'guardrail',
      CHAIN: 'workflow',
    },
  ],
  [
    'ai.operationId',
    { 'ai.toolCall': 'tool', 'ai.generateText.doGenerate': 'model', 'ai.streamText.doStream': 'model' },
  ],
  ['llm.request.type', { chat: 'model', completion: 'model', rerank: 'model', embedding: 'embedding' }],
  ['traceloop.span.kind', { tool: 'tool', agent: 'agent', workflow: 'workflow', task: 'workflow' }],
  ['langsmith.span.kind', { tool: 'tool', llm: 'model', retriever: 'retrieval' }],
  ['mcp.method.name', { 'tools/call': 'tool', 'resources/read': 'retrieval', 'prompts/get': 'retrieval' }],
  [
    'langfuse.observation.type',
    {
      generation: 'model',
      embedding: 'embedding',
      tool: 'tool',
      agent: 'agent',
      retriever: 'retrieval',
      guardrail: 'guardrail',
      evaluator: 'guardrail',
      chain: 'workflow',
    },
  ],
];

/** Names of spans by the conventions, for an instrumentation that writes the attributes only when a call ends well. */
const toolSpan = /^(?:execute_tool|tools\/call) \S/;

/** Returns the kind that a span names; undefined if it names none. */
export const kindOfSpan = ({
  name,
  attributes,
}: {
  name: string;
  attributes: Source;
}): SpanKind | undefined => kindByAttributes(attributes) ?? (toolSpan.test(name) ? 'tool' : undefined);

/** Returns the kind that attributes name; undefined if none does. */
export function kindByAttributes(attributes: Source): SpanKind | undefined {
  for (const [attribute, kinds] of table) {
    const value = attributes[attribute];
    if (typeof value === 'string' && Object.hasOwn(kinds, value)) return kinds[value];
  }
  if (attributes['gen_ai.tool.name'] !== undefined) return 'tool';
  const hasMessages = Object.keys(attributes).some((name) => modelMessages.test(name));
  return hasMessages && textAttribute(attributes, 'model') !== undefined ? 'model' : undefined;
}

/** Messages to and from a model, of a span that names the model and no operation. */
const modelMessages =
  /^(?:gen_ai\.(?:(?:input|output)\.messages|(?:prompt|completion)(?:\.\d+\..+)?)|gcp\.vertex\.agent\.llm_response)$/;

/** Attributes that name one thing, the newest convention first. */
const names = {
  run: [
    'gen_ai.conversation.id',
    'session.id',
    'conversation.id',
    'langfuse.session.id',
    'thread_id',
    'ai.telemetry.metadata.sessionId',
    'gcp.vertex.agent.session_id',
  ],
  toolName: [
    'gen_ai.tool.name',
    'tool.name',
    'ai.toolCall.name',
    'tool_name',
    'traceloop.entity.name',
    'function_name',
  ],
  callId: [
    'gen_ai.tool.call.id',
    'gen_ai.tool.call_id',
    'ai.toolCall.id',
    'tool_call.id',
    'tool_use_id',
    'call_id',
  ],
  toolInput: [
    'gen_ai.tool.call.arguments',
    'ai.toolCall.args',
    'tool_input',
    'arguments',
    'function_args',
    'traceloop.entity.input',
    'input.value',
    'langfuse.observation.input',
    'gcp.vertex.agent.tool_call_args',
    'tool_parameters',
  ],
  toolOutput: [
    'gen_ai.tool.call.result',
    'ai.toolCall.result',
    'output',
    'traceloop.entity.output',
    'output.value',
    'langfuse.observation.output',
    'gcp.vertex.agent.tool_response',
  ],
  model: [
    'gen_ai.response.model',
    'gen_ai.request.model',
    'llm.model_name',
    'ai.model.id',
    'langfuse.observation.model.name',
    'embedding.model_name',
    'model',
    'model_name',
  ],
  agent: ['gen_ai.agent.name', 'agent.name', 'gen_ai.workflow.name'],
  modelInput: [
    'gen_ai.input.messages',
    'ai.prompt.messages',
    'input.value',
    'gen_ai.prompt',
    'langfuse.observation.input',
    'gcp.vertex.agent.llm_request',
  ],
  modelOutput: [
    'gen_ai.output.messages',
    'ai.response.text',
    'output.value',
    'gen_ai.completion',
    'langfuse.observation.output',
    'gcp.vertex.agent.llm_response',
  ],
} as const satisfies Readonly<Record<string, readonly string[]>>;

/** Returns the value of the first attribute of a group that is there. */
export function attributeOf(attributes: Source, group: keyof typeof names): unknown {
  for (const name of names[group]) {
    const value = attributes[name];
    if (value !== undefined && value !== '') return value;
  }
  return undefined;
}

/** Returns the output of a tool as a list of one; an empty list if no attribute reports it. An empty output is one. */
export function toolOutputOf(attributes: Source): readonly [output?: unknown] {
  const name = names.toolOutput.find((each) => Object.hasOwn(attributes, each));
  return name === undefined ? [] : [attributeOf(attributes, 'toolOutput') ?? attributes[name]];
}

export const textAttribute = (attributes: Source, group: keyof typeof names): string | undefined =>
  textOf(attributeOf(attributes, group));

/**
 * Returns messages that OpenLLMetry wrote as one attribute for each member: `gen_ai.prompt.0.content`,
 * `gen_ai.completion.0.tool_calls.1.id`. Undefined: none. The sender chooses the numbers, so they only order.
 */
export function indexedMessages(attributes: Source, group: 'prompt' | 'completion'): Source[] | undefined {
  const pattern = new RegExp(
    `^gen_ai\\.${group}\\.(\\d{1,6})\\.(?:tool_calls\\.(\\d{1,6})\\.)?(\\w+(?:\\.\\w+)?)$`,
  );
  const messages = new Map<
    number,
    { members: [string, unknown][]; calls: Map<number, [string, unknown][]> }
  >();
  for (const [attribute, value] of Object.entries(attributes)) {
    const [, at, callAt, member] = pattern.exec(attribute) ?? [];
    if (at === undefined || member === undefined) continue;
    const message = messages.get(Number(at)) ?? { members: [], calls: new Map() };
    messages.set(Number(at), message);
    const call = callAt === undefined ? undefined : (message.calls.get(Number(callAt)) ?? []);
    if (call !== undefined) message.calls.set(Number(callAt), call);
    (call ?? message.members).push([member, value]);
  }
  if (messages.size === 0) return undefined;
  return inOrder(messages).map(({ members, calls }) => ({
    ...Object.fromEntries(members),
    ...(calls.size === 0 ? {} : { tool_calls: inOrder(calls).map((call) => Object.fromEntries(call)) }),
  }));
}

const inOrder = <Value>(byNumber: ReadonlyMap<number, Value>): Value[] =>
  [...byNumber].toSorted(([a], [b]) => a - b).map(([, value]) => value);
