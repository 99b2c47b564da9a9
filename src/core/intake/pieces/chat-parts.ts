/**
 * The parts of a chat message's content: those of OpenAI, of the AI SDK's ModelMessages (`tool-call`, `tool-result`), and of
 * Bedrock Converse, whose blocks have no type but one member that names them (`toolUse`, `toolResult`).
 * Tested by `test/core/intake/pieces/chat-parts.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { readArguments, words, type Call } from '../conversation.ts';
import { endingOf } from '../ending.ts';
import { idOf, isSource, textOf, type Source } from '../run.ts';

export interface PartResult {
  readonly sourceId: string | undefined;
  readonly name: string | undefined;
  readonly content: unknown;
  readonly outcome: Ending;
  readonly extra: Source | undefined;
}

export interface Parts {
  /** What the author said; undefined: nothing. */
  readonly content: unknown;
  readonly calls: readonly Call[];
  readonly results: readonly PartResult[];
  readonly unknown: readonly unknown[];
}

const spoken = words('text image_url input_audio file refusal image reasoning');
/** Blocks of Converse that are content. */
const blocks = words(
  'text image document video audio reasoningContent guardContent cachePoint citationsContent searchResult',
);

/** Returns the first program whose parts are in messages; undefined for OpenAI's own. */
export function partsProgram(messages: readonly Source[]): string | undefined {
  const parts = messages.flatMap((message) => [
    ...(Array.isArray(message['content']) ? message['content'].filter(isSource) : []),
    ...invocationParts(message),
  ]);
  if (parts.some((part) => isCallOfSdk(part) || isResultOfSdk(part))) return 'the AI SDK';
  return parts.some(
    (part) => blockOf(part, 'toolUse') !== undefined || blockOf(part, 'toolResult') !== undefined,
  )
    ? 'Bedrock Converse'
    : undefined;
}

/** Sorts the parts of a message. Only an assistant calls tools; a call in another's message is a part nobody understands. */
export function readParts(content: unknown, role: string): Parts {
  const isText = typeof content === 'string' || content === null || content === undefined;
  if (isText) return { content, calls: [], results: [], unknown: [] };
  const said: unknown[] = [];
  const calls: Call[] = [];
  const results: PartResult[] = [];
  const unknown: unknown[] = [];
  for (const part of Array.isArray(content) ? content : [content]) {
    const call = role === 'assistant' ? callIn(part) : undefined;
    const result = role === 'system' ? undefined : resultIn(part);
    if (call !== undefined) calls.push(call);
    else if (result !== undefined) results.push(result);
    else if (isSpoken(part)) said.push(part);
    else unknown.push(part);
  }
  const isEmpty = said.length === 0 && calls.length + results.length + unknown.length > 0;
  return { content: isEmpty ? undefined : said, calls, results, unknown };
}

function isSpoken(part: unknown): boolean {
  if (typeof part === 'string') return true;
  if (!isSource(part)) return false;
  if (part['type'] !== undefined) return spoken.has(String(part['type']));
  return (
    typeof part['text'] === 'string' || (onlyName(part) !== undefined && blocks.has(onlyName(part) ?? ''))
  );
}

/** Converse names a block by its only member. */
const onlyName = (part: Source): string | undefined => {
  const names = Object.keys(part);
  return names.length === 1 ? names[0] : undefined;
};

function blockOf(part: Source, name: string): Source | undefined {
  const block = onlyName(part) === name ? part[name] : undefined;
  return isSource(block) ? block : undefined;
}

/**
 * Returns the parts in which version 4 of the AI SDK keeps the calls of a message for its interface: each invocation is a
 * call, and a result once it has one.
 */
export function invocationParts({ toolInvocations: given }: Source): Source[] {
  const invocations = Array.isArray(given) ? given.filter(isSource) : [];
  return invocations.flatMap(({ state, args, result, ...call }) => [
    { type: 'tool-call', ...call, args },
    ...(state === 'result' || result !== undefined ? [{ type: 'tool-result', ...call, result }] : []),
  ]);
}

const isCallOfSdk = (part: Source): boolean =>
  part['type'] === 'tool-call' && idOf(part['toolCallId']) !== undefined;
const isResultOfSdk = (part: Source): boolean =>
  part['type'] === 'tool-result' && idOf(part['toolCallId']) !== undefined;

function callIn(part: unknown): Call | undefined {
  if (!isSource(part)) return undefined;
  if (isCallOfSdk(part)) {
    return {
      sourceId: idOf(part['toolCallId']),
      name: textOf(part['toolName']) ?? 'unknown',
      arguments: readArguments(part['input'] ?? part['args']),
    };
  }
  const block = blockOf(part, 'toolUse');
  if (block === undefined) return undefined;
  return {
    sourceId: idOf(block['toolUseId']),
    name: textOf(block['name']) ?? 'unknown',
    arguments: block['input'],
  };
}

function resultIn(part: unknown): PartResult | undefined {
  if (!isSource(part)) return undefined;
  if (isResultOfSdk(part)) return resultOfSdk(part);
  const block = blockOf(part, 'toolResult');
  if (block === undefined) return undefined;
  const { toolUseId: id, content, status, ...rest } = block;
  return {
    sourceId: idOf(id),
    name: undefined,
    content,
    outcome: endingOf({
      stated: status === 'error' ? 'error' : status === 'success' ? 'ok' : undefined,
      results: [content],
      record: rest,
    }),
    extra: Object.keys(rest).length === 0 ? undefined : rest,
  };
}

/** Since version 5 of the AI SDK the output says its kind: `text`, `json`, `error-text`, `error-json`, `execution-denied`. */
function resultOfSdk(part: Source): PartResult {
  const { type: _type, toolCallId: id, toolName: name, output, result, isError, ...rest } = part;
  const kind = isSource(output) ? textOf(output['type']) : undefined;
  const value = isSource(output) && kind !== undefined ? (output['value'] ?? output['reason']) : output;
  const content = value ?? result;
  const hasFailed = isError === true || kind?.startsWith('error-') === true;
  const stated =
    kind === 'execution-denied' ? 'refused' : hasFailed ? 'error' : isError === false ? 'ok' : undefined;
  const extra = { ...(kind === undefined ? {} : { outputType: kind }), ...rest };
  return {
    sourceId: idOf(id),
    name: textOf(name),
    content,
    // a kind of output that is none of an error says that the call ended well
    outcome: endingOf({
      stated,
      results: [content],
      record: { ...rest, isError },
      silent: kind === undefined ? 'unknown' : 'ok',
    }),
    extra: Object.keys(extra).length === 0 ? undefined : extra,
  };
}
