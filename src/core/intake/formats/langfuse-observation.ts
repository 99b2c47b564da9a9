/**
 * The kind, tool and call ids of a Langfuse observation. Its own type decides. For spans that frameworks leave untyped,
 * the OpenTelemetry attributes decide, then the name. Tested by `test/core/intake/formats/langfuse.test.ts`.
 */
import { kindByAttributes } from '../otlp/dialects.ts';
import { isSource, textOf, type Source } from '../run.ts';

export type Kind = 'model' | 'embedding' | 'tool' | 'agent' | 'retrieval' | 'guardrail' | 'workflow' | 'step';

/** An observation with its parsed metadata, in the tree of its trace. */
export interface Observation {
  readonly id: string;
  readonly source: Source;
  readonly attributes: Source;
  readonly metadata: unknown;
  readonly parent: Observation | undefined;
  readonly parentId: string | undefined;
}

const byType: Readonly<Record<string, Kind>> = {
  GENERATION: 'model',
  EMBEDDING: 'embedding',
  TOOL: 'tool',
  AGENT: 'agent',
  RETRIEVER: 'retrieval',
  GUARDRAIL: 'guardrail',
  EVALUATOR: 'guardrail',
  CHAIN: 'workflow',
};

const toolName = /^(?:tool\.|execute_tool |running tool: )(.+)$/;

export function kindOf(observation: Observation): Kind {
  const typed = byType[String(observation.source['type'])];
  if (typed !== undefined) return typed;
  const named = kindByAttributes(observation.attributes);
  if (named !== undefined) return named === 'plan' || named === 'memory' ? 'step' : named;
  const isTool = toolName.test(nameOf(observation)) || isToolOfLangGraph(observation);
  return isTool ? 'tool' : 'step';
}

/** LangGraph runs tools as untyped children of the node `tools`, among its channel and branch spans. */
function isToolOfLangGraph({ parent, source }: Observation): boolean {
  if (parent === undefined || nameOf(parent) !== 'tools') return false;
  return (
    source['level'] !== 'DEBUG' &&
    /^[\w-]+$/.test(String(source['name'])) &&
    source['name'] !== 'should_continue'
  );
}

export const nameOf = (observation: Observation): string =>
  textOf(observation.source['name']) ?? observation.id;

/** Returns the name of the tool or agent without the prefix of instrumentations. */
export function calledName(observation: Observation, kind: 'tool' | 'agent'): string {
  const attributes =
    kind === 'tool'
      ? ['gen_ai.tool.name', 'tool.name', 'ai.toolCall.name']
      : ['gen_ai.agent.name', 'agent.name'];
  const named = attributes
    .map((name) => textOf(observation.attributes[name]))
    .find((name) => name !== undefined);
  return named ?? toolName.exec(nameOf(observation))?.[1] ?? nameOf(observation);
}

/** Returns the call id of a tool observation, if the source has it. */
export function callIdOf({ attributes, source }: Observation): string | undefined {
  const named = ['gen_ai.tool.call.id', 'ai.toolCall.id', 'tool_call.id'].map((name) =>
    textOf(attributes[name]),
  );
  return named.find((id) => id !== undefined) ?? [...findIds(parsed(source['output']), answers)][0];
}

/** Returns the ids of the calls that a model observation asked for. */
export function askedIds({ attributes, source }: Observation): string[] {
  const listed = Array.isArray(source['toolCalls']) ? source['toolCalls'].map(parsed) : [];
  const flattened = attributeIds(
    attributes,
    /^llm\.output_messages\.\d+\.message\.tool_calls\.\d+\.tool_call\.id$/,
  );
  const ids = [...findIds(listed, () => true), ...findIds(parsed(source['output']), calls), ...flattened];
  return [...new Set(ids)];
}

/** Returns the ids of the results that a model observation read. */
export function readIds({ attributes, source }: Observation): string[] {
  const flattened = attributeIds(attributes, /^llm\.input_messages\.\d+\.message\.tool_call_id$/);
  return [...new Set([...findIds(parsed(source['input']), answers), ...flattened])];
}

const attributeIds = (attributes: Source, name: RegExp): string[] =>
  Object.keys(attributes)
    .filter((key) => name.test(key))
    .map((key) => textOf(attributes[key]))
    .filter((id) => id !== undefined);

/** Matches a call in the usual message formats: OpenAI, Responses, Anthropic, GenAI conventions, Vercel AI SDK. */
const calls = (object: Source): boolean =>
  ['tool_call', 'tool_use', 'tool-call', 'function_call'].includes(String(object['type'])) ||
  isSource(object['function']) ||
  (textOf(object['toolCallId']) !== undefined && 'input' in object);

const answers = (object: Source): boolean =>
  ['tool_call_response', 'tool_result', 'tool-result', 'function_call_output'].includes(
    String(object['type']),
  ) ||
  object['role'] === 'tool' ||
  textOf(object['tool_call_id']) !== undefined;

/** Walks at most 20 containers deep, because the source may nest without limit. */
function* findIds(value: unknown, wanted: (object: Source) => boolean, depth = 0): Generator<string> {
  if (depth > 20) return;
  // Koog writes the calls of a message as JSON text into its content
  if (typeof value === 'string' && value.startsWith('[{"function":'))
    yield* findIds(parsed(value), wanted, depth + 1);
  if (typeof value !== 'object' || value === null) return;
  if (isSource(value) && wanted(value)) {
    const names =
      wanted === answers
        ? ['tool_call_id', 'tool_use_id', 'call_id', 'toolCallId', 'id']
        : ['call_id', 'toolCallId', 'id'];
    const id = names.map((name) => textOf(value[name])).find((found) => found !== undefined);
    if (id !== undefined) yield id;
  }
  for (const member of Object.values(value)) yield* findIds(member, wanted, depth + 1);
}

/** Returns the parsed value of a JSON text; any other value unchanged. Some exports encode twice. */
export function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*["{[]/.test(value)) return value;
  try {
    const inner: unknown = JSON.parse(value);
    return typeof inner === 'string' ? parsed(inner) : inner;
  } catch {
    return value;
  }
}
