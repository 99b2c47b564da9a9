/**
 * Checks events without a service, for `--dry-run`: the contract's schema, times, depth and sizes, with the reasons of
 * contract E10. Only the service knows which clientEventIds exist, so its decision may differ.
 * Tested by `test/cli/push/check.test.ts`.
 */
import type { ErrorObject } from 'ajv';
import { eventReadOnly, EventInput } from '../../contract/events.ts';
import { nullDropper } from '../../contract/nulls.ts';
import { isReservedRun, reservedRunRefusal } from '../../contract/system-runs.ts';
import { limits } from '../../contract/limits.ts';
import type { Json } from '../../core/json/parse.ts';
import { draftEvent } from '../../core/events/record.ts';
import { futureRefusal, parseTimestamp } from '../../core/time.ts';

const earliestMs = Date.UTC(2000, 0, 1);

/** Loads the schema compiler. Returns the check, which returns null for an acceptable event, else the reason. */
export async function loadCheck(now: () => number): Promise<(event: Json) => string | null> {
  const { Ajv } = await import('ajv');
  const ajv = new Ajv({ strict: true, strictRequired: false, verbose: true });
  ajv.addFormat('date-time', { type: 'string', validate: (text: string) => parseTimestamp(text) !== null });
  const valid = ajv.compile<EventInput>(EventInput as object);
  const dropNulls = nullDropper(EventInput);
  return (event) => {
    dropNulls?.(event);
    if (!valid(event)) return cut(schemaReason(valid.errors ?? []));
    const reason = otherReason(event, now());
    return reason === null ? null : cut(reason);
  };
}

const cut = (reason: string): string => reason.slice(0, limits.batchReasonChars);

function schemaReason(errors: readonly ErrorObject[]): string {
  // a union reports the failures of all its members; the deepest one says most
  const error = errors.toSorted((a, b) => b.instancePath.length - a.instancePath.length)[0];
  if (error === undefined) throw new Error('a refused event without an error');
  const { keyword, instancePath, params, message } = error;
  if (keyword === 'required')
    return `missing_field: ${instancePath}/${params['missingProperty']} expected a value, got none`;
  if (keyword === 'additionalProperties') {
    const name = String(params['additionalProperty']);
    const known = (eventReadOnly as readonly string[]).includes(name);
    return known
      ? `invalid_field: ${instancePath}/${name} is set by the service only`
      : `unknown_field: ${instancePath}/${name.slice(0, limits.echoChars)} is not part of an event`;
  }
  return `invalid_field: ${instancePath === '' ? '/' : instancePath} ${message ?? keyword}`;
}

function otherReason(event: EventInput, now: number): string | null {
  if (isReservedRun(event.runId)) return `invalid_field: /runId ${reservedRunRefusal}`;
  const timestampMs = parseTimestamp(event.timestamp) ?? 0;
  if (timestampMs < earliestMs) return 'invalid_field: /timestamp expected a time from the year 2000 on';
  if (timestampMs - now > limits.futureSkewSeconds * 1000) {
    return `timestamp_in_future: /timestamp ${futureRefusal(event.timestamp, now)}`;
  }
  if (isDeeper(event.metadata, limits.metadataDepth)) {
    return `invalid_field: /metadata expected at most ${limits.metadataDepth} levels`;
  }
  const draft = draftEvent(event, timestampMs, () => 'AAAAAAAAAAAAAAAAAAAAAA');
  return 'code' in draft ? `${draft.code}: ${draft.pointer || '/'} ${draft.detail}` : null;
}

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((member) => isDeeper(member, levels - 1));
}
