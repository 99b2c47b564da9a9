/**
 * Judges one event before it is recorded (contract E1-E7): schema, time, depth, canonical sizes. Then drafts
 * it, which computes its salted commitments. Single and batch recording share it. Proven by
 * `test/service/events/handlers.engines.test.ts`.
 */
import type { EventInput } from '../../contract/events.ts';
import type { FieldCode } from '../../contract/field-codes.ts';
import { limits } from '../../contract/limits.ts';
import { rowNullDropper } from '../../contract/nulls.ts';
import type { FieldError } from '../../contract/problems.ts';
import { statedByMember } from '../../contract/stated-by.ts';
import { isReservedRun, reservedRunRefusal } from '../../contract/system-runs.ts';
import { table } from '../../contract/table.ts';
import { balanceType } from '../../core/balance/statement.ts';
import { callHashOf, callHashMember } from '../../core/coverage/call-hash.ts';
import { joinOf } from '../../core/coverage/join.ts';
import { speaksForKernel } from '../../core/coverage/report.ts';
import type { RefusedItem } from '../../core/json/items.ts';
import { canonicalize, type Json, type JsonObject } from '../../core/json/parse.ts';
import { draftEvent, type EventDraft } from '../../core/events/record.ts';
import { futureRefusal, parseTimestamp } from '../../core/time.ts';
import { escapedLine } from '../../core/visible.ts';
import type { Redact } from './redaction.ts';
import { loadCheck, type BodyCheck } from '../call/schema.ts';
import type { Services } from '../port/services.ts';
import type { SubjectsOf } from '../call/subjects.ts';

/** The run of tool calls that name no run. */
export const toolRun = 'gov.tools';

const joinRefusal =
  'expected no event that makes two reports of a call one: the service writes them for the telemetry that it receives';

const statedByRefusal =
  'expected an event without this member: the service names the credential that records it';

const kernelRefusal =
  'expected a key with more scopes than those of agents to record what a kernel saw and that a sandbox started, got the key of an agent or a token of a run; gov run --sandbox and gov events push record it with the key of the operator';

const earliestMs = Date.UTC(2000, 0, 1);

/** Redaction and subjects of a project, which recording needs. */
export interface RecordRules {
  readonly redact: Redact;
  readonly subjects: SubjectsOf;
  /** Set where the receiver of telemetry writes: it alone may say that two reports are of one call. */
  readonly mayJoin?: boolean;
  /** The only run that the caller may record in; absent for all. Received telemetry is judged without it. */
  readonly onlyRun?: string | undefined;
  /** The id of the credential that records. */
  readonly by?: string;
  /** The caller may not record what a kernel saw. */
  readonly isAgent?: boolean;
}

const plainly: RecordRules = { redact: null, subjects: null };

export type JudgedEvent =
  | { readonly draft: EventDraft; readonly fingerprint: string | null }
  | { readonly fault: FieldError };

const fault = (pointer: string, code: FieldCode, detail: string, limit?: number): { fault: FieldError } => ({
  fault: { pointer, in: 'body', code, detail, ...(limit === undefined ? {} : { limit }) },
});

/**
 * Judges an event that matches the schema, and drafts it as the project redacts it. Commitments and canonical
 * sizes are those of the redacted event. The client controls the event. Cost: 20 to 50 µs.
 */
export function judgeEvent(
  input: EventInput,
  services: Services,
  { redact, subjects, mayJoin = false, onlyRun, by, isAgent = true }: RecordRules = plainly,
): JudgedEvent {
  const { now, salt, fingerprint, counts } = services;
  if (isReservedRun(input.runId)) return fault('/runId', 'NOT_ALLOWED', reservedRunRefusal);
  if (onlyRun !== undefined && input.runId !== onlyRun)
    return fault('/runId', 'NOT_ALLOWED', `expected run ${onlyRun}, the only one of this token`);
  if (!mayJoin && joinOf(input) !== null) return fault('/metadata/importer', 'NOT_ALLOWED', joinRefusal);
  const isOfKernel = speaksForKernel(input);
  if (isOfKernel && isAgent) return fault('/eventType', 'NOT_ALLOWED', kernelRefusal);
  const timestampMs = parseTimestamp(input.timestamp);
  if (timestampMs === null) return fault('/timestamp', 'BAD_FORMAT', 'expected an RFC 3339 time with offset');
  if (timestampMs < earliestMs) {
    return fault('/timestamp', 'TOO_SMALL', 'expected a time from the year 2000 on');
  }
  const nowMs = now();
  const skewMs = timestampMs - nowMs;
  if (skewMs > limits.futureSkewSeconds * 1000) {
    return fault('/timestamp', 'TIMESTAMP_IN_FUTURE', futureRefusal(input.timestamp, nowMs));
  }
  if (input.metadata !== undefined && isDeeper(input.metadata, limits.metadataDepth)) {
    const detail = `expected at most ${limits.metadataDepth} levels`;
    return fault('/metadata', 'TOO_DEEP', detail, limits.metadataDepth);
  }
  const redacted = redact === null ? { event: input } : redact(input);
  if ('fault' in redacted) return redacted;
  const isStated = isOfKernel || input.eventType === balanceType;
  if (isStated && Object.hasOwn(input.metadata ?? {}, statedByMember))
    return fault(`/metadata/${statedByMember}`, 'NOT_ALLOWED', statedByRefusal);
  const hashed = withHash(redacted.event, input);
  const stated = isStated && by !== undefined ? statedAs(hashed, by) : hashed;
  const made = draftEvent(stated, timestampMs, salt);
  if ('code' in made) return fault(made.pointer, draftCodes[made.code], made.detail);
  // reads subjects before redaction, so that a redacted subject can still be erased
  const about = subjects === null ? null : subjects(input as unknown as JsonObject);
  if (about !== null && 'fault' in about) return about;
  const draft = about === null ? made : { ...made, ...about };
  if (Math.abs(skewMs) > limits.recordedSkewSeconds * 1000) counts.skewedEvents += 1;
  if (draft.clientEventId === null) return { draft, fingerprint: null };
  // fingerprints the event before redaction, so that a repeat stays a repeat when redaction changes; absent
  // metadata equals empty metadata; the event is JSON here
  const whole = { metadata: {}, ...input } as unknown as Json;
  return { draft, fingerprint: fingerprint(canonicalize(whole)) };
}

/**
 * The hash of what a call does, which coverage compares. Arguments that are redacted leave no hash of theirs.
 */
function withHash(event: EventInput, input: EventInput): EventInput {
  const hash = callHashOf(event);
  if (hash === null || (event !== input && hash !== callHashOf(input))) return event;
  return { ...event, metadata: { ...event.metadata, [callHashMember]: hash } };
}

/** A balance, and what a kernel saw, is the statement of one party: the log names it. */
const statedAs = ({ metadata, ...event }: EventInput, by: string): EventInput => ({
  ...event,
  metadata: { ...metadata, [statedByMember]: by },
});

/** Whether a value nests deeper than `levels` containers. The parser bounds its depth. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  for (const member of Object.values(value)) {
    if (typeof member === 'object' && member !== null && isDeeper(member, levels - 1)) return true;
  }
  return false;
}

let eventCheck: Promise<BodyCheck> | undefined;
const dropNulls = rowNullDropper(table.createEvent);

/** The schema check of a single event, for batches. First removes optional members that are null, as `execute.ts` does. */
export async function loadEventCheck(): Promise<BodyCheck> {
  const { body, readOnly } = table.createEvent;
  const check = await (eventCheck ??= loadCheck(body, { in: 'body', readOnly }));
  return (event) => {
    dropNulls?.(event);
    return check(event);
  };
}

/** The fault of an event that is not in the JSON profile (contract P2). */
export const refusedItem = ({ kind, detail }: RefusedItem): JudgedEvent => fault('', itemCodes[kind], detail);

const itemCodes = {
  unsafe: 'UNSAFE_JSON',
  too_complex: 'TOO_COMPLEX',
  too_large: 'EVENT_TOO_LARGE',
} as const;

const draftCodes = { event_too_large: 'EVENT_TOO_LARGE', unsafe_json: 'UNSAFE_JSON' } as const;

/** Reason codes of contract E10 for findings about an event. */
const reasons: Readonly<Record<string, string>> = {
  MISSING_FIELD: 'missing_field',
  UNKNOWN_FIELD: 'unknown_field',
  TIMESTAMP_IN_FUTURE: 'timestamp_in_future',
  EVENT_TOO_LARGE: 'event_too_large',
  UNSAFE_JSON: 'unsafe_json',
  TOO_COMPLEX: 'too_complex',
  CLIENT_EVENT_ID_CONFLICT: 'client_event_id_conflict',
} satisfies Partial<Record<FieldCode, string>>;

/** The `reason` of a rejected event: a stable code, then place and detail, at most 500 characters. */
export function rejection({ pointer, code, detail }: FieldError): string {
  const reason = `${reasons[code] ?? 'invalid_field'}: ${pointer === '' ? '/' : pointer} ${detail}`;
  return escapedLine(reason).slice(0, limits.batchReasonChars);
}
