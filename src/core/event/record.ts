/**
 * Leaf records of the audit log. A record is `JCS({ type, …fields, _sd, _sd_alg })`; its leaf is
 * `SHA-256(0x00 || record)` (RFC 6962 §2.1). That of an event commits to its disclosures as one text too (`_sd_hash`), so
 * that whoever reads many makes one hash for each event, not for each field. A *draft* holds all that is known before the
 * sequencer gives a record its place. The digests of an event's fields are made with its place, since by then it is in the
 * thread that writes, which has more time for them than the one that parses.
 * Proven by `test/core/event/record.test.ts`.
 */
import type { AuditEvent, EventInput } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { Committer, pointerToken, sortedDigests, textDigest, type Disclosure } from './disclosure.ts';
import { unkeptOf, type KeptBody } from './erased.ts';
import { hashText } from '../hash.ts';
import { eventId } from '../id.ts';
import { canonicalize, readJson, type Json, type JsonObject } from '../json/parse.ts';
import { leafHash } from '../merkle/tree.ts';
import { formatTimestamp } from '../time.ts';

/** Leaf types other than events. */
export type LeafType =
  | 'gov.genesis/1'
  | 'gov.graph/1'
  | 'gov.proof/1'
  | 'gov.evaluation/1'
  | 'gov.decision/1'
  | 'gov.approval/1'
  | 'gov.snapshot/1'
  | 'gov.replay/1'
  | 'gov.policy/1'
  | 'gov.config/1'
  | 'gov.erasure/1'
  | 'gov.prune/1'
  | 'gov.key/1'
  | 'gov.epoch/1';

export interface EventDraft {
  readonly kind: 'event';
  readonly runId: string;
  readonly eventType: string;
  /** Client timestamp in Unix milliseconds, for filters. */
  readonly timestampMs: number;
  readonly timestamp: string;
  readonly aiSystemId: string | null;
  readonly clientEventId: string | null;
  /** The record's text from after `_sd_hash` to eventId, and after serverTimestamp. */
  readonly head: string;
  readonly tail: string;
  readonly disclosures: string;
  /** How many disclosures there are. */
  readonly fields: number;
  /** Keyed hashes of the subjects that it is about; absent where none are looked for. */
  readonly subjects?: readonly string[];
}

export interface OtherDraft {
  readonly kind: 'other';
  readonly type: LeafType;
  readonly runId: string | null;
  /** Under which it is found again; null where it has none. */
  readonly id: string | null;
  readonly record: string;
  /** `null` where nothing is committed. */
  readonly disclosures: string | null;
  /** As of an event. */
  readonly subjects?: readonly string[];
}

export type LeafDraft = EventDraft | OtherDraft;

/** The run of the service's own events; nobody else writes to it (contract O8). */
export const systemRun = 'gov.system';

/** Why an event cannot be recorded; codes of contract decision E10. */
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

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Drafts an event that already passed the contract schema and the time checks. The client controls all of
 * `input`. Cost: one canonicalisation per committed field.
 * @returns the draft, or the refusal when a canonical size is over its limit.
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

/** Commits to each member of an actor or resource, or to the whole where it is a string. */
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

/** Every interpolated value matched a pattern without characters that JSON escapes. */
function recordHead(input: EventInput): string {
  const system = input.aiSystemId === undefined ? '' : `"aiSystemId":"${input.aiSystemId}",`;
  const causes = input.causedBy === undefined ? '' : `"causedBy":${JSON.stringify(input.causedBy)},`;
  return `,${system}${causes}"eventId":"`;
}

/** What the sequencer adds to a draft. `random` are 26 bits. */
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

/** `formatTimestamp` of a server time, which all records of a request share: the newest is remembered. */
export function serverTime(ms: number): string {
  if (ms !== newest.ms) newest = { ms, text: formatTimestamp(ms) };
  return newest.text;
}

/**
 * Gives a drafted event its place: eventId, runSeq, serverTimestamp, and with them its leaf. Cost: three SHA-256, and one for
 * each committed field.
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

/** Drafts any other leaf; `committed` are its salted fields by pointer. Throws where it is over a limit: a bug. */
export function draftLeaf(
  type: LeafType,
  fields: JsonObject,
  options: {
    runId?: string;
    /** Stands in `fields` too, under the name that the type gives it. */
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
 * Rebuilds an event as it was sent from its record and stored disclosures; JCS-equal to the input. Members that are not
 * kept are left out, or empty where an event always has them, and told in `erased`: by the leaf that erased them, or -1
 * where none did, by what the body says.
 */
export function openEvent(
  index: number,
  record: string,
  disclosures: string,
  erased: string | null = null,
): AuditEvent {
  const clear = JSON.parse(record) as EventRecord;
  const fields = readJson(disclosures) as unknown as Disclosure[];
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

/** Top-level members of an event by name, from `/member` and `/member/name` pointers. */
export function rebuild(disclosures: readonly Disclosure[]): Map<string, Json> {
  const members = new Map<string, Json>();
  for (const [, pointer, value] of disclosures) {
    const slash = pointer.indexOf('/', 1);
    if (slash === -1) {
      members.set(pointer.slice(1), value);
      continue;
    }
    const member = pointer.slice(1, slash);
    const token = pointer.slice(slash + 1);
    const name = token.includes('~') ? token.replaceAll('~1', '/').replaceAll('~0', '~') : token;
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
