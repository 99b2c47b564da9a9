/**
 * How telemetry says of a call that it recorded that other spans report the same one: an `event.completed` of the receiver
 * (`core/intake/otlp/joins.ts`). Tested by `test/core/coverage/join.test.ts` and `test/http/otlp/one-call.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import type { JsonObject } from '../json/canonical.ts';
import { isObject } from '../json/object.ts';

/** Reports without the id of a call are compared with calls of so many milliseconds before and after. */
export const joinMs = 60_000;

/** The type of the report of a further source. */
export const observedType = 'x.tool.observed';

/** The types of further reports, by the type that the event would have had; of others, `observedType`. */
export const observedTypes: Readonly<Record<string, string>> = {
  'prompt.submitted': 'x.prompt.observed',
  'model.invoked': 'x.model.observed',
};

export const isObservation = (eventType: string): boolean =>
  eventType === observedType || Object.values(observedTypes).includes(eventType);

/** What a later event says of a recorded call or result: that another span of telemetry reports the same one. */
export interface CallJoin {
  readonly type: 'tool.call' | 'tool.result';
  /** The call id in the event, and the one that the call has. */
  readonly from: string;
  readonly to: string;
  /** Whether another event is the call or result, so that this one is an observation. */
  readonly isCopy: boolean;
  /** The run of the other event; null: the same run. */
  readonly run: string | null;
}

/** An id that an importer made up names a call in its own source alone. */
export const isOwnId = (id: unknown): id is string =>
  typeof id === 'string' && id !== '' && !id.startsWith('import:');

/**
 * Reads an `event.completed` of the receiver of telemetry; null for other events. Clients cannot write one (contract P5).
 * A span that has the id of its call keeps it, so only ids that the receiver made up are joined with others.
 */
export function joinOf({
  eventType,
  metadata = {},
}: Pick<EventInput, 'eventType' | 'metadata'>): CallJoin | null {
  if (eventType !== 'event.completed' || metadata['importer'] !== 'otlp') return null;
  const { toolCallId: from, completedType: type, added } = metadata;
  const { toolCallId: to, readAs, run = null }: JsonObject = isObject(added) ? added : {};
  const isOfCall = type === 'tool.call' || type === 'tool.result';
  if (!isOfCall || typeof from !== 'string' || typeof to !== 'string') return null;
  if (from === to ? readAs !== observedType : isOwnId(from)) return null;
  return { type, from, to, isCopy: readAs === observedType, run: typeof run === 'string' ? run : null };
}
