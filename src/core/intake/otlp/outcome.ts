/** How a span ended. Tested by `test/core/intake/formats/otlp.test.ts` and `test/core/intake/otlp/tree.test.ts`. */
import type { Ending } from '../../../contract/endings.ts';
import { readArguments } from '../conversation.ts';
import { endingOf } from '../ending.ts';
import { textOf } from '../run.ts';
import { toolOutputOf } from './dialects.ts';
import type { SpanRecord } from './records.ts';
import { toolMessageIn } from './tool-message.ts';

/**
 * The status says it, or the attribute of the conventions, or Langfuse's level, or an exception that left the span. A span
 * without a status ended without an error, as the conventions have it; with an exception that it may have handled,
 * nobody knows. Source: OpenTelemetry, Trace API (Set Status), and semantic conventions, Recording errors.
 */
export function outcomeOf(
  { status, attributes, events }: SpanRecord,
  { isTool }: { readonly isTool: boolean },
): Ending {
  const exceptions = events.filter(({ name }) => name === 'exception');
  const hasFailed =
    status === 'error' ||
    textOf(attributes['error.type']) !== undefined ||
    attributes['langfuse.observation.level'] === 'ERROR' ||
    exceptions.some((each) => String(each.attributes['exception.escaped']) === 'true') ||
    (isTool && toolMessageIn(attributes)?.['status'] === 'error');
  const type = String(attributes['error.type']);
  const stated = hasFailed
    ? isTimeout.test(type)
      ? 'timed_out'
      : 'error'
    : status === 'ok'
      ? 'ok'
      : undefined;
  return endingOf({
    stated,
    results: isTool ? [readArguments(toolOutputOf(attributes)[0])] : [],
    ...(isTool ? { record: attributes } : {}),
    silent: exceptions.length > 0 ? 'unknown' : 'ok',
  });
}

/** Well-known values of `error.type`, and names of exceptions. */
const isTimeout = /^timeout$|Timeout(?:Error|Exception|Expired)?$/;

/** Whether a tool has returned: with an output, or with another ending in place of one. */
export const hasResult = (span: SpanRecord): boolean =>
  toolOutputOf(span.attributes).length > 0 || outcomeOf(span, { isTool: true }) !== 'ok';
