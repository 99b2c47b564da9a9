/**
 * Messages in the form of Anthropic's API, with content blocks. `anthropic.ts` has the table; `claude-code.ts` reads the
 * same blocks. Tested by `test/core/intake/formats/anthropic.test.ts`.
 */
import type { Ending } from '../../../contract/endings.ts';
import { splitParts, words, type Call, type Conversation } from '../conversation.ts';
import { endingOf } from '../ending.ts';
import { idOf, isSource, textOf, type Party, type Source } from '../run.ts';
import type { SourceTime } from '../time.ts';

const callTypes: Readonly<Record<string, string>> = {
  tool_use: 'tool',
  server_tool_use: 'tool',
  mcp_tool_use: 'mcp_tool',
};
const spoken = words('text image document search_result thinking redacted_thinking container_upload');
const isResult = (type: unknown): boolean => /(^|_)tool_result$/.test(String(type));

/** Block types that only this API has. */
export const ownBlocks = words(
  'tool_use tool_result thinking redacted_thinking server_tool_use mcp_tool_use',
);

export interface Blocks {
  /** Text, pictures, documents and thinking; a text stays a text. Undefined: none. */
  readonly content: unknown;
  readonly calls: readonly Call[];
  readonly results: readonly Source[];
  readonly unknown: readonly unknown[];
}

/** Sorts the blocks of a message. Only the model calls tools: a call in another's message is a block nobody understands. */
export function readBlocks(content: unknown, role: string): Blocks {
  if (!Array.isArray(content)) return { content, calls: [], results: [], unknown: [] };
  const blocks = content.filter(isSource);
  const isCall = ({ type }: Source) => role === 'assistant' && Object.hasOwn(callTypes, String(type));
  const rest = content.filter((block) => !isSource(block) || (!isCall(block) && !isResult(block['type'])));
  const split = splitParts(rest, spoken);
  const left = Array.isArray(split.content) ? split.content : [];
  return {
    content: left.length === 0 ? undefined : left,
    calls: blocks.filter(isCall).map((block) => ({
      sourceId: idOf(block['id']),
      name: textOf(block['name']) ?? 'unknown',
      arguments: block['input'],
      type: callTypes[String(block['type'])],
    })),
    results: blocks.filter((block) => isResult(block['type'])),
    unknown: split.unknown,
  };
}

interface ResultsOf {
  readonly at: SourceTime | null;
  readonly key?: string;
  readonly actor?: Party | undefined;
  readonly details?: unknown;
  readonly extra?: Source;
  /** The ending that the program itself wrote in place of a result. */
  readonly written?: (block: Source, details: unknown) => Ending | undefined;
}

/** Writes the results in a message. `details` is what the program kept of them beside the message. */
export function writeResults(
  results: readonly Source[],
  conversation: Conversation,
  { at, key, actor, details, extra, written }: ResultsOf,
): void {
  for (const [index, block] of results.entries()) {
    const { type, tool_use_id: id, content, is_error: isError, cache_control: _cache, ...rest } = block;
    const own = { ...(type === 'tool_result' ? {} : { resultType: type }), ...rest, ...extra };
    const stated = isError === true || hasErrorCode(content) ? 'error' : isError === false ? 'ok' : undefined;
    const record = { ...rest, is_error: isError };
    conversation.returned({
      at,
      actor,
      sourceId: idOf(id),
      content,
      // a result is none of an error unless it says so
      outcome:
        written?.(block, details) ?? endingOf({ stated, results: [content, details], record, silent: 'ok' }),
      details,
      extra: Object.keys(own).length === 0 ? undefined : own,
      key: key === undefined ? undefined : `${key}.result${index === 0 ? '' : index + 1}`,
    });
  }
}

/** Tools that the provider runs report errors in the content of their results. */
const hasErrorCode = (content: unknown): boolean => isSource(content) && 'error_code' in content;
