/**
 * The kind, tool and call ids of a Langfuse observation. Its own type decides. For spans that frameworks leave untyped,
 * the OpenTelemetry attributes decide, then the name. Tested by `test/core/intake/formats/langfuse.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { endingOf } from '../ending.ts';
import { kindByAttributes } from '../otlp/dialects.ts';
import { isSource, textOf, type Source } from '../run.ts';
import { parseShallow } from '../source.ts';

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
  return named.find((id) => id !== undefined) ?? answeredIds(parsed(source['output']))[0];
}

/** A call that a model asked for. */
export interface AskedCall {
  readonly id: string;
  readonly name: string | undefined;
  readonly arguments: unknown;
}

/** Returns the calls that a model observation asked for, each id once. */
export function askedCalls({ attributes, source }: Pick<Observation, 'attributes' | 'source'>): AskedCall[] {
  const listed = Array.isArray(source['toolCalls']) ? source['toolCalls'].map(parsed) : [];
  const objects = [...findObjects(listed, () => true), ...findObjects(parsed(source['output']), calls)];
  const read = objects.flatMap((object) => {
    const id = idIn(object, callIdNames);
    return id === undefined ? [] : [{ id, ...namedCall(object) }];
  });
  const flattened = attributeIds(
    attributes,
    /^llm\.output_messages\.\d+\.message\.tool_calls\.\d+\.tool_call\.id$/,
  ).map((id) => ({ id, name: undefined, arguments: undefined }));
  return [
    ...new Map([...flattened, ...read.toReversed()].map((call) => [call.id, call])).values(),
  ].toReversed();
}

function namedCall(object: Source): Omit<AskedCall, 'id'> {
  const called = isSource(object['function']) ? object['function'] : object;
  return {
    name: textOf(called['name']) ?? textOf(called['toolName']),
    arguments: parsed(called['arguments'] ?? called['input'] ?? called['args']),
  };
}

/** Returns the ids of the results that a model observation read. */
export function readIds({ attributes, source }: Observation): string[] {
  const flattened = attributeIds(attributes, /^llm\.input_messages\.\d+\.message\.tool_call_id$/);
  return [...new Set([...answeredIds(parsed(source['input'])), ...flattened])];
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
  // of the AI SDK, and of Bedrock
  (textOf(object['toolCallId'] ?? object['toolUseId']) !== undefined && 'input' in object);

const answers = (object: Source): boolean =>
  ['tool_call_response', 'tool_result', 'tool-result', 'function_call_output'].includes(
    String(object['type']),
  ) ||
  object['role'] === 'tool' ||
  (textOf(object['toolUseId']) !== undefined && 'content' in object) ||
  textOf(object['tool_call_id']) !== undefined;

const callIdNames = ['call_id', 'callId', 'toolCallId', 'toolUseId', 'id'];
const answerIdNames = ['tool_call_id', 'tool_use_id', ...callIdNames];

const idIn = (object: Source, names: readonly string[]): string | undefined =>
  names.map((name) => textOf(object[name])).find((found) => found !== undefined);

const answeredIds = (value: unknown): string[] =>
  [...findObjects(value, answers)].flatMap((object) => idIn(object, answerIdNames) ?? []);

/** How a tool ended: by its level, else by its output, or by a result in it, as LangGraph and Bedrock write it. */
export function endingIn({ source }: Observation): Ending {
  const { level, output } = source;
  const inside = [...findObjects(parsed(output), answers)];
  const hasFailed = level === 'ERROR' || inside.some(({ status }) => status === 'error');
  // an observation whose level is none of an error ended without one
  const isSilent = textOf(level) !== undefined || inside.some(({ status }) => status === 'success');
  return endingOf({
    stated: hasFailed ? 'error' : undefined,
    results: [parsed(output), ...inside],
    silent: isSilent ? 'ok' : 'unknown',
  });
}

/** Walks at most 20 containers deep, because the source may nest without limit. */
function* findObjects(value: unknown, wanted: (object: Source) => boolean, depth = 0): Generator<Source> {
  if (depth > 20) return;
  // Koog writes the calls of a message as JSON text into its content
  if (typeof value === 'string' && value.startsWith('[{"function":'))
    yield* findObjects(parsed(value), wanted, depth + 1);
  if (typeof value !== 'object' || value === null) return;
  if (isSource(value) && wanted(value)) yield value;
  for (const member of Object.values(value)) yield* findObjects(member, wanted, depth + 1);
}

/** Returns the parsed value of a JSON text; any other value unchanged. Some exports encode twice. */
export function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*["{[]/.test(value)) return value;
  try {
    const inner = parseShallow(value);
    return typeof inner === 'string' ? parsed(inner) : inner;
  } catch {
    return value;
  }
}
