/**
 * Leaf records of the audit log: a record is `JCS({ type, …fields, _sd, _sd_alg })`, its leaf `SHA-256(0x00 || record)`
 * (RFC 6962 §2.1). The record of an event also commits to all disclosures as one text (`_sd_hash`), so that a bulk reader
 * computes one hash per event, not one per field. A *draft* has everything that is known before the sequencer assigns the
 * position. `sealEvent` computes the digests of the fields in the write thread, which has more time than the thread that
 * parses. Proven by `test/core/events/record.test.ts`.
 */
import type { AuditEvent, EventInput } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { Committer, sortedDigests, readDisclosures, textDigest, type Disclosure } from './disclosure.ts';
import { unkeptOf, type KeptBody } from './erased.ts';
import { hashText } from '../hash.ts';
import { eventId } from '../id.ts';
import { canonicalize, type Json, type JsonObject } from '../json/parse.ts';
import { leafHash } from '../merkle/tree.ts';
import { formatTimestamp } from '../time.ts';
import { isObject } from '../json/object.ts';
import { memberName, pointerToken } from '../json/pointer.ts';

/** Leaf types other than events. */
export type LeafType =
  | 'gov.genesis/1'
  | 'gov.graph/1'
  | 'gov.proof/1'
  | 'gov.evaluation/1'
  | 'gov.decision/1'
  | 'gov.approval/1'
  | 'gov.approver/1'
  | 'gov.use/1'
  | 'gov.snapshot/1'
  | 'gov.replay/1'
  | 'gov.policy/1'
  | 'gov.config/1'
  | 'gov.erasure/1'
  | 'gov.prune/1'
  | 'gov.loss/1'
  | 'gov.key/1'
  | 'gov.epoch/1'
  | 'gov.index/1';

export interface EventDraft {
  readonly kind: 'event';
  readonly runId: string;
  readonly eventType: string;
  /** Client timestamp in Unix milliseconds, for filters. */
  readonly timestampMs: number;
  readonly timestamp: string;
  readonly aiSystemId: string | null;
  readonly clientEventId: string | null;
  /** Text of the record from after `_sd_hash` to eventId, and after serverTimestamp. */
  readonly head: string;
  readonly tail: string;
  readonly disclosures: string;
  /** Number of disclosures. */
  readonly fields: number;
  /** Keyed hashes of the subjects of the event; absent if the project has no subject pointers. */
  readonly subjects?: readonly string[];
}

export interface OtherDraft {
  readonly kind: 'other';
  readonly type: LeafType;
  readonly runId: string | null;
  /** Id by which the leaf can be found; null without an id. */
  readonly id: string | null;
  readonly record: string;
  /** Where the sequencer writes the server time into the record; absent for a record that is complete. */
  readonly timeAt?: number;
  /** `null` if the leaf has no committed field. */
  readonly disclosures: string | null;
  /** Keyed hashes of the subjects, as of an event. */
  readonly subjects?: readonly string[];
}

export type LeafDraft = EventDraft | OtherDraft;

/** The run of the service's own events; no client writes to it (contract O8). */
export const systemRun = 'gov.system';

/** Reason why an event cannot be recorded; codes of contract E10. */
export interface Refusal {
  readonly code: 'event_too_large' | 'unsafe_json';
  readonly pointer: string;
  readonly detail: string;
}

const bytesOver = (text: string, limit: number): number => {
  if (text.length * 3 <= limit) return 0;
  const bytes = Buffer.byteLength(text);
  return bytes > limit ? bytes : 0;
};

/**
 * Drafts an event that has passed the contract schema and the time checks. The client controls all of `input`.
 * Returns the draft, or a refusal if a canonical size exceeds its limit. Cost: one canonicalisation per committed field.
 */
export function draftEvent(input: EventInput, timestampMs: number, salt: () => string): EventDraft | Refusal {
  const committer = new Committer(salt);
  committer.add('/action', input.action);
  const tooBig =
    commitParty(committer, 'actor', input.actor as Json) ??
    (input.resource === undefined ? null : commitParty(committer, 'resource', input.resource as Json));
  if (tooBig !== null) return tooBig;
  const metadata = (input.metadata ?? {}) as JsonObject;
  for (const key of Object.keys(metadata)) {
    committer.add(`/metadata/${pointerToken(key)}`, metadata[key] as Json);
  }
  if (input.clientEventId !== undefined) committer.add('/clientEventId', input.clientEventId);

  const disclosures = committer.finish();
  if (disclosures.length * 3 > limits.metadataBytes) {
    const metadataBytes = bytesOver(canonicalize(metadata), limits.metadataBytes);
    if (metadataBytes > 0) return tooLarge('/metadata', limits.metadataBytes, metadataBytes);
    const eventBytes = bytesOver(canonicalize(input as unknown as Json), limits.eventBytes);
    if (eventBytes > 0) return tooLarge('', limits.eventBytes, eventBytes);
  }
  return {
    kind: 'event',
    runId: input.runId,
    eventType: input.eventType,
    timestampMs,
    timestamp: input.timestamp,
    aiSystemId: input.aiSystemId ?? null,
    clientEventId: input.clientEventId ?? null,
    head: recordHead(input),
    tail: `,"timestamp":"${input.timestamp}","type":"gov.event/1"}`,
    disclosures,
    fields: committer.fields,
  };
}

/** Commits to each member of an actor or resource, or to the whole value if it is a string. */
function commitParty(committer: Committer, name: 'actor' | 'resource', party: Json): Refusal | null {
  if (!isObject(party)) {
    committer.add(`/${name}`, party);
    return null;
  }
  let length = 2;
  for (const key of Object.keys(party)) {
    length += key.length + 4 + committer.add(`/${name}/${pointerToken(key)}`, party[key] as Json);
  }
  if (length * 3 <= limits.partyBytes) return null;
  const bytes = bytesOver(canonicalize(party), limits.partyBytes);
  return bytes === 0 ? null : tooLarge(`/${name}`, limits.partyBytes, bytes);
}

const tooLarge = (pointer: string, limit: number, bytes: number): Refusal => ({
  code: 'event_too_large',
  pointer,
  detail: `expected at most ${limit} canonical bytes, got ${bytes}`,
});

/** Every interpolated value matched a pattern without characters that JSON escapes, so no escaping is needed. */
function recordHead(input: EventInput): string {
  const system = input.aiSystemId === undefined ? '' : `"aiSystemId":"${input.aiSystemId}",`;
  const causes = input.causedBy === undefined ? '' : `"causedBy":${JSON.stringify(input.causedBy)},`;
  return `,${system}${causes}"eventId":"`;
}

/** The position that the sequencer assigns to a draft. `random`: 26 bits. */
export interface AssignedPosition {
  readonly index: number;
  readonly runSeq: number;
  readonly serverMs: number;
  readonly random: number;
}

export interface SealedEvent {
  readonly eventId: string;
  readonly record: string;
  readonly leaf: Buffer;
}

let newest = { ms: 0, text: formatTimestamp(0) };

/** `formatTimestamp` of a server time. All records of a request share it, so the newest text is remembered. */
export function serverTime(ms: number): string {
  if (ms !== newest.ms) newest = { ms, text: formatTimestamp(ms) };
  return newest.text;
}

/**
 * Seals a draft at its position: adds eventId, runSeq and serverTimestamp, and computes record and leaf. Cost: three
 * SHA-256, and one for each committed field.
 */
export function sealEvent(draft: EventDraft, place: AssignedPosition): SealedEvent {
  const id = eventId(place.serverMs, place.index, place.random);
  const digests = sortedDigests(draft.disclosures).join('","');
  const record =
    `{"_sd":["${digests}"],"_sd_alg":"sha-256","_sd_hash":"${textDigest(draft.disclosures)}"` +
    `${draft.head}${id}","eventType":"${draft.eventType}","runId":"${draft.runId}","runSeq":${place.runSeq},` +
    `"serverTimestamp":"${serverTime(place.serverMs)}"${draft.tail}`;
  return { eventId: id, record, leaf: leafHash(record) };
}

/** Drafts a leaf of another type; `committed`: its salted fields by pointer. Throws if it exceeds a limit: a bug. */
export function draftLeaf(
  type: LeafType,
  fields: JsonObject,
  options: {
    runId?: string;
    /** Also in `fields`, under the name that the type gives it. */
    id?: string;
    committed?: Iterable<readonly [pointer: string, value: Json, canonical?: string]>;
    salt?: () => string;
  } = {},
): OtherDraft {
  const { runId = null, id = null, committed = [], salt } = options;
  const committer = new Committer(
    salt ??
      (() => {
        throw new Error('a committed field needs a salt');
      }),
  );
  let count = 0;
  for (const [pointer, value, canonical] of committed) {
    committer.add(pointer, value, canonical);
    count += 1;
  }
  const disclosures = committer.finish();
  const record = canonicalize({
    ...fields,
    ...(runId === null ? {} : { runId }),
    type,
    _sd: sortedDigests(disclosures),
    _sd_alg: 'sha-256',
  });
  const bytes = bytesOver(record, limits.recordBytes);
  if (bytes > 0 || count > limits.committedFields) {
    throw new Error(
      `expected a ${type} record of at most ${limits.recordBytes} bytes and ${limits.committedFields} fields, ` +
        `got ${Math.max(bytes, record.length)} and ${count}`,
    );
  }
  return { kind: 'other', type, runId, id, record, disclosures: count === 0 ? null : disclosures };
}

/** The clear members of a `gov.event/1` record. */
export interface EventRecord {
  readonly type: 'gov.event/1';
  readonly eventId: string;
  readonly runId: string;
  readonly runSeq: number;
  readonly eventType: string;
  readonly timestamp: string;
  readonly serverTimestamp: string;
  readonly causedBy?: readonly string[];
  readonly aiSystemId?: string;
  readonly _sd: readonly string[];
}

/**
 * Rebuilds an event from its record and stored disclosures; JCS-equal to the event as sent. Erased members are absent, or
 * empty if every event has them. `erased` lists them with the index of the leaf that erased them, or -1 if the body names
 * no such leaf.
 */
export function openEvent(
  index: number,
  record: string,
  disclosures: string,
  erased: string | null = null,
): AuditEvent {
  const clear = JSON.parse(record) as EventRecord;
  const fields = readDisclosures(disclosures);
  const parts = rebuild(fields);
  return {
    eventId: clear.eventId,
    runId: clear.runId,
    eventType: clear.eventType,
    actor: (parts.get('actor') ?? {}) as AuditEvent['actor'],
    resource: (parts.get('resource') ?? null) as AuditEvent['resource'],
    action: (parts.get('action') ?? '') as string,
    timestamp: clear.timestamp,
    serverTimestamp: clear.serverTimestamp,
    metadata: (parts.get('metadata') ?? {}) as AuditEvent['metadata'],
    causedBy: clear.causedBy === undefined ? null : [...clear.causedBy],
    aiSystemId: clear.aiSystemId ?? null,
    clientEventId: (parts.get('clientEventId') ?? null) as string | null,
    sequence: index,
    leafHash: hashText(leafHash(record)),
    ...(fields.length < clear._sd.length ? { erased: lostOf(clear._sd, { disclosures, erased }) } : {}),
  };
}

function lostOf(digests: readonly string[], body: KeptBody): NonNullable<AuditEvent['erased']> {
  const unkept = unkeptOf(digests, body);
  return [
    ...unkept.erased.map(({ digest, leaf }) => ({ digest, sequence: leaf })),
    ...unkept.missing.map((digest) => ({ digest, sequence: -1 })),
  ];
}

/** Returns the top-level members of an event, from pointers `/member` and `/member/name`. */
export function rebuild(disclosures: readonly Disclosure[]): Map<string, Json> {
  const members = new Map<string, Json>();
  for (const [, pointer, value] of disclosures) {
    const slash = pointer.indexOf('/', 1);
    if (slash === -1) {
      members.set(pointer.slice(1), value);
      continue;
    }
    const member = pointer.slice(1, slash);
    const name = memberName(pointer.slice(slash + 1));
    let object = members.get(member);
    if (!isObject(object)) {
      // Without a prototype, `__proto__` is a name like any other.
      object = Object.create(null) as JsonObject;
      members.set(member, object);
    }
    object[name] = value;
  }
  return members;
}
