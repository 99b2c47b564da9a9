/**
 * Writes an event as JSON from the texts of its record and its disclosures, without parsing them: the bytes that were
 * hashed are the bytes that are written. The members are those of `openEvent`, in its order. Returns null for texts that gov did not write, and for events
 * with removed fields: `openEvent` reads those. The result depends on the texts alone. An export of
 * 200,000 events takes 3.1 s as JSON with it and 9.7 s without (`bench/exports.ts`).
 * Proven by `test/core/events/text.test.ts` (`openEvent` as oracle).
 */
import { tupleBounds } from './disclosure.ts';
import { hashText } from '../hash.ts';
import type { Json } from '../json/parse.ts';

/** A member's name and its value as JSON texts. */
type Member = readonly [name: string, value: string];

/** Each member of an event as a JSON text; an object that was committed member by member as its members. */
export interface EventText {
  readonly eventId: string;
  readonly runId: string;
  readonly eventType: string;
  readonly actor: string | readonly Member[];
  readonly resource: string | readonly Member[];
  readonly action: string;
  readonly timestamp: string;
  readonly serverTimestamp: string;
  readonly metadata: readonly Member[];
  readonly causedBy: string;
  readonly aiSystemId: string;
  readonly clientEventId: string;
  readonly sequence: string;
  readonly leafHash: string;
}

const word = '"[A-Za-z0-9._:/-]{1,128}"';
const time = '"[0-9TZ:.+-]{20,35}"';
const clearMembers = new RegExp(
  `^\\],"_sd_alg":"sha-256",(?:"_sd_hash":"[A-Za-z0-9_-]{43}",)?(?:"aiSystemId":(${word}),)?` +
    `(?:"causedBy":(\\[(?:${word}(?:,${word})*)?\\]),)?"eventId":(${word}),"eventType":(${word}),"runId":(${word}),"runSeq":[0-9]{1,15},` +
    `"serverTimestamp":(${time}),"timestamp":(${time}),"type":"gov\\.event/1"\\}$`,
);

const sdStart = '{"_sd":[';
/** `"`, the digest, `"`, and what separates it from the next. */
const digestChars = 46;

/** `bounds`: of the disclosures (`tupleBounds`), where they are known; `hash`: of the record's leaf, 32 bytes. Cost: 2 µs. */
export function eventText({
  index,
  record,
  disclosures,
  bounds = tupleBounds(disclosures) ?? undefined,
  hash,
}: {
  readonly index: number;
  readonly record: string;
  readonly disclosures: string;
  readonly bounds?: readonly number[] | undefined;
  readonly hash: Uint8Array;
}): EventText | null {
  if (bounds === undefined) return null;
  const end = record.startsWith(sdStart) ? record.indexOf(']') : -1;
  const clear = end === -1 ? null : clearMembers.exec(record.slice(end));
  const fields =
    clear === null ? null : fieldsOf(disclosures, bounds, (end - sdStart.length + 1) / digestChars);
  if (clear === null || fields === null) return null;
  const [, aiSystemId = 'null', causedBy = 'null', eventId = '', eventType = '', runId = ''] = clear;
  return {
    eventId,
    runId,
    eventType,
    ...fields,
    timestamp: clear[7] ?? '',
    serverTimestamp: clear[6] ?? '',
    causedBy,
    aiSystemId,
    sequence: String(index),
    leafHash: `"${hashText(hash)}"`,
  };
}

type Fields = Pick<EventText, 'actor' | 'resource' | 'action' | 'metadata' | 'clientEventId'>;

/** Null unless there are `count` of them, each in our spelling, none twice, and texts where events have texts. */
function fieldsOf(disclosures: string, bounds: readonly number[], count: number): Fields | null {
  if (bounds.length !== 2 * count || count > comparedFields) return null;
  if (held.size >= placesHeld) forgetPlaces();
  const whole: Partial<Record<Whole, string>> = {};
  const parts: Record<PartedMember, Member[]> = { actor: [], resource: [], metadata: [] };
  const places: FieldPosition[] = [];
  let likely = firstPlace;
  for (let at = 0; at < bounds.length; at += 2) {
    const from = bounds[at] ?? 0;
    const start = from + saltEnd + 1;
    // without such a salt, the value may contain the same characters
    const isOurs =
      disclosures.indexOf('"', from + 2) === start - 3 && disclosures.startsWith('","', start - 3);
    if (!isOurs) return null;
    const place = placeAt(disclosures, start, likely);
    if (place === null || places.includes(place)) return null;
    places.push(place);
    likely = place;
    const value = disclosures.slice(start + place.end.length, (bounds[at + 1] ?? 0) - 1);
    if (place.name !== null) parts[place.member].push([place.name, value]);
    else if (value.startsWith('"')) whole[place.member] = value;
    else return null;
  }
  const { actor, resource, action, clientEventId = 'null' } = whole;
  const isTwice =
    (actor !== undefined && parts.actor.length > 0) || (resource !== undefined && parts.resource.length > 0);
  if (action === undefined || isTwice) return null;
  return {
    actor: actor ?? parts.actor,
    resource: resource ?? (parts.resource.length === 0 ? 'null' : parts.resource),
    action,
    metadata: parts.metadata,
    clientEventId,
  };
}

type Whole = 'actor' | 'resource' | 'action' | 'clientEventId';
type PartedMember = 'actor' | 'resource' | 'metadata';

/** Where a field is: a member of the event, or one of an object in it, whose `name` is a JSON text. */
type FieldPosition = (
  | { readonly member: Whole; readonly name: null }
  | { readonly member: PartedMember; readonly name: string }
) & {
  /** Its pointer and what ends it: `",`. */
  readonly end: string;
  /** The field that followed it in the last event. */
  next: FieldPosition | null;
};

/** `["`, 22 characters of salt, `",` */
const saltEnd = 26;
/** Events of more fields are left to `openEvent`. */
const comparedFields = 64;

const wholePointer = /^\/(actor|resource|action|clientEventId)$/;
/** Names that need no escape, in a pointer or in JSON, and stand in objects where they were put. */
const partPointer = /^\/(actor|resource|metadata)\/(?!__proto__$)([\w.-]*[A-Za-z_.-][\w.-]*)$/;

const placesHeld = 4096;
const longestHeld = 64;
const held = new Map<string, FieldPosition | null>();

/** The same object for the same pointer, but for long ones: few pointers make up a log. */
function placeOf(pointer: string): FieldPosition | null {
  const known = held.get(pointer);
  if (known !== undefined || pointer.length > longestHeld) return known ?? null;
  // a slice would keep the whole body alive
  const own = Buffer.from(pointer).toString();
  const [, whole] = wholePointer.exec(own) ?? [];
  const [, parted, name] = partPointer.exec(own) ?? [];
  const more = { end: `${own}",`, next: null };
  // the patterns name no other members
  const place = whole === undefined ? null : { member: whole as Whole, name: null, ...more };
  const found = parted === undefined ? place : { member: parted as PartedMember, name: `"${name}"`, ...more };
  held.set(own, found);
  return found;
}

/** The place whose pointer begins at `start`; events that follow each other mostly have the same, in the same order. */
function placeAt(
  disclosures: string,
  start: number,
  before: { next: FieldPosition | null },
): FieldPosition | null {
  const { next } = before;
  if (next !== null && disclosures.startsWith(next.end, start)) return next;
  const end = disclosures.indexOf('"', start);
  if (disclosures[end + 1] !== ',') return null;
  const place = placeOf(disclosures.slice(start, end));
  before.next = place;
  return place;
}

/** What stands before the first. */
const firstPlace: { next: FieldPosition | null } = { next: null };

/** Between events: within one, the same pointer has to be the same object. */
function forgetPlaces(): void {
  held.clear();
  firstPlace.next = null;
}

function objectText(value: string | readonly Member[]): string {
  if (typeof value === 'string') return value;
  let text = '';
  for (const [name, member] of value) text += `${text === '' ? '' : ','}${name}:${member}`;
  return `{${text}}`;
}

/** In the order of JCS: by UTF-16 code units. Names hold no character below the quotation mark that ends them. */
const inOrder = (members: readonly Member[]): readonly Member[] =>
  members.toSorted(([one], [other]) => (one < other ? -1 : 1));

/** The value of a member for a CSV row: an object or list as its JCS, null for an absent value. */
function cellOf(value: string | readonly Member[]): string | number | null {
  if (typeof value !== 'string') return objectText(inOrder(value));
  if (value === 'null') return null;
  if (!value.startsWith('"')) return value.startsWith('[') || value.startsWith('{') ? value : Number(value);
  return value.includes('\\') ? (JSON.parse(value) as string) : value.slice(1, -1);
}

/** The text of the whole, on one line. */
export const eventRow = (event: EventText): string =>
  `{"eventId":${event.eventId},"runId":${event.runId},"eventType":${event.eventType},` +
  `"actor":${objectText(event.actor)},"resource":${objectText(event.resource)},"action":${event.action},` +
  `"timestamp":${event.timestamp},"serverTimestamp":${event.serverTimestamp},` +
  `"metadata":${objectText(event.metadata)},"causedBy":${event.causedBy},"aiSystemId":${event.aiSystemId},` +
  `"clientEventId":${event.clientEventId},"sequence":${event.sequence},"leafHash":${event.leafHash}}`;

/** The values for `csvRow`, in the order of the members of an event; it has lost no field, so the last cell stays empty. */
export const eventCells = (event: EventText): Json[] => [
  cellOf(event.eventId),
  cellOf(event.runId),
  cellOf(event.eventType),
  cellOf(event.actor),
  cellOf(event.resource),
  cellOf(event.action),
  cellOf(event.timestamp),
  cellOf(event.serverTimestamp),
  cellOf(event.metadata),
  cellOf(event.causedBy),
  cellOf(event.aiSystemId),
  cellOf(event.clientEventId),
  cellOf(event.sequence),
  cellOf(event.leafHash),
  null,
];
