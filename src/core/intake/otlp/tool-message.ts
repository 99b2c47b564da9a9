/**
 * The message with which a tool of LangChain answers its model: the output of the span of the tool. It has the id of the
 * call, which the span has nowhere else, and its status. Tested by `test/core/intake/formats/otlp-frameworks.test.ts`.
 */
import { readArguments } from '../conversation.ts';
import { isSource, textOf, type Source } from '../run.ts';
import { textAttribute, toolOutputOf } from './dialects.ts';

/** Returns the id that the model gave the call of a span of a tool. */
export const callIdIn = (attributes: Source): string | undefined =>
  textAttribute(attributes, 'callId') ?? textOf(toolMessageIn(attributes)?.['tool_call_id']);

/** Returns the message; undefined for spans of others. */
export function toolMessageIn(attributes: Source): Source | undefined {
  if (attributes['openinference.span.kind'] !== 'TOOL') return undefined;
  const output = readArguments(toolOutputOf(attributes)[0]);
  const inner = isSource(output) ? [output, output['output'], output['kwargs']] : [];
  const messages = inner.filter(isSource).flatMap((each) => [each, each['kwargs']]);
  return messages.filter(isSource).find((each) => textOf(each['tool_call_id']) !== undefined);
}
