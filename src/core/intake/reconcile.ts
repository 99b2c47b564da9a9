/**
 * Compares a recording with the stored run and returns the events to add:
 *
 * - an event that the run already has: nothing;
 * - an event with new members, because its observation has ended since: an `event.completed` with those members;
 * - a call or result that another source has recorded: an `x.tool.observed`; a prompt that one has recorded as often with
 *   the same text, or without a text: an `x.prompt.observed`; a call of a model whose answer or request has the same id:
 *   an `x.model.observed`;
 * - an event whose members differ from the stored ones: the recording is of another run, and nothing is stored;
 * - the same, where an older version of gov stored the event: an `event.completed` with the members that differ.
 * Tested by `test/core/intake/reconcile.test.ts`.
 */
import type { AuditEvent, EventInput } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { callHashMember, withCallHash } from '../coverage/call-hash.ts';
import { isObservation } from '../coverage/join.ts';
import { claimedKeys, observationOf, reportKey, sourceOf } from '../coverage/report.ts';
import { Sightings } from '../coverage/sightings.ts';
import { isObject } from '../json/object.ts';
import type { Json, JsonObject } from '../json/canonical.ts';
import { shortHash, type ImportedRun } from './run.ts';

/** The members of a stored event that a recording decides. `erased`: values are gone, so nothing can be compared. */
export type StoredEvent = Pick<
  AuditEvent,
  | 'eventType'
  | 'actor'
  | 'resource'
  | 'action'
  | 'timestamp'
  | 'metadata'
  | 'causedBy'
  | 'clientEventId'
  | 'erased'
>;

type Version = 'older' | 'same' | 'newer';

export interface Difference {
  readonly clientEventId: string;
  /** The version of gov that recorded the run, beside this one. */
  readonly recordedBy: Version;
  /** JSON pointer into the event. */
  readonly pointer: string;
  readonly stored: unknown;
  readonly given: unknown;
}

export interface ReconcileResult {
  /** The events of the recording in order; null for one that the run has. */
  readonly events: readonly (EventInput | null)[];
  readonly completed: number;
  readonly merged: number;
  /** Events that an older version of gov had read otherwise: part of `completed`. */
  readonly corrected: number;
}

/** Compares a recording with the events of its run, in their order. Cost: once over both. */
export function reconcile(
  run: Pick<ImportedRun, 'events' | 'mergeable'>,
  stored: readonly StoredEvent[],
): ReconcileResult | Difference {
  const known = new Known(stored);
  const events: (EventInput | null)[] = [];
  const recordedBy = versionIn(known, run.events[0]);
  const isOlder = recordedBy === 'older';
  let completed = 0;
  let merged = 0;
  let corrected = 0;
  for (const given of run.events) {
    const id = given.clientEventId ?? '';
    const isOfOther = known.isOfOther(given);
    const before = known.byId.get(id);
    if (before === undefined) {
      const isMerged = run.mergeable.has(id) && known.hasOtherSignal(given);
      if (isMerged) merged += 1;
      const event = isOfOther || known.hasOtherSource(given) ? observationOf(withCallHash(given)) : given;
      events.push(isMerged ? null : event);
      continue;
    }
    if (isCopy(given)) {
      events.push(null);
      continue;
    }
    const event = isObservation(before.eventType) ? observationOf(given) : given;
    const found = compare(before, event, isOlder);
    if ('pointer' in found) return { clientEventId: id, recordedBy, ...found };
    if (found.isCorrected && isOlder) corrected += 1;
    const isComplete = Object.keys(found.added).length === 0;
    if (!isComplete) completed += 1;
    events.push(isComplete ? null : completion(event, { added: found.added, number: known.next(id) }));
  }
  return { events, completed, merged, corrected };
}

/**
 * Whether the stored events come from importers that read recordings in another way. The first event says which. Those of a
 * newer one differ by their version at least, so an older gov adds nothing to them.
 */
function versionIn({ byId }: Known, first: EventInput | undefined): Version {
  const stored = byId.get(first?.clientEventId ?? '');
  if (stored === undefined) return 'same';
  const newer = versionOf(stored.metadata) - versionOf(first?.metadata ?? {});
  return newer === 0 ? 'same' : newer < 0 ? 'older' : 'newer';
}

/** An event of another recording's part, which may lack members and causes that the part itself has. */
const isCopy = ({ metadata }: Pick<EventInput, 'metadata'>): boolean => {
  const extra = metadata?.['extra'];
  return isObject(extra) && extra['copiedFrom'] !== undefined;
};

const versionOf = ({ importerVersion }: Readonly<Record<string, unknown>>): number =>
  typeof importerVersion === 'number' ? importerVersion : 1;

class Known {
  /** Events by clientEventId, with what later events added to them. */
  readonly byId = new Map<string, StoredEvent>();
  readonly #completions = new Map<string, number>();
  readonly #calls = new Map<string, Set<unknown>>();
  readonly #sources = new Map<string, Set<unknown>>();
  /** Prompts and calls of models in the run, and in the recording so far. */
  readonly #stored = new Sightings();
  readonly #given = new Sightings();

  constructor(stored: readonly StoredEvent[]) {
    for (const event of stored) {
      const completes = event.metadata['completes'];
      if (event.eventType === 'event.completed' && typeof completes === 'string') this.#add(completes, event);
      if (event.clientEventId !== null) this.byId.set(event.clientEventId, event);
      const call = callOf(event);
      if (call !== undefined)
        this.#calls.set(call, (this.#calls.get(call) ?? new Set()).add(event.metadata['signal']));
      this.#stored.add(event);
      for (const key of claimedKeys(event))
        this.#sources.set(key, (this.#sources.get(key) ?? new Set()).add(sourceOf(event.metadata)));
    }
  }

  #add(id: string, { metadata }: StoredEvent): void {
    const base = this.byId.get(id);
    if (base === undefined) return;
    const added = isObject(metadata['added']) ? metadata['added'] : {};
    this.byId.set(id, { ...base, metadata: merge(base.metadata as JsonObject, added) });
    this.#completions.set(id, this.next(id));
  }

  /** Returns the number of the next completion of an event, from 1. */
  next(id: string): number {
    return (this.#completions.get(id) ?? 0) + 1;
  }

  /** Whether another source has reported this prompt or call of a model. Takes the events of the recording in order. */
  isOfOther(event: EventInput): boolean {
    return this.#stored.isOfOther(this.#given.add(event).others, sourceOf(event.metadata ?? {}));
  }

  /** Whether the run has the same call, reported by another signal of the source. */
  hasOtherSignal(event: EventInput): boolean {
    const signals = this.#calls.get(callOf(event) ?? '');
    return signals !== undefined && [...signals].some((signal) => signal !== event.metadata?.['signal']);
  }

  /** Whether another source has recorded the same call or result, and this one has not. */
  hasOtherSource(event: EventInput): boolean {
    const sources = this.#sources.get(reportKey(event) ?? '');
    return sources !== undefined && !sources.has(sourceOf(event.metadata ?? {}));
  }
}

function callOf({ eventType, metadata }: Pick<EventInput, 'eventType' | 'metadata'>): string | undefined {
  const id = metadata?.['toolCallId'];
  return metadata?.['signal'] !== undefined && typeof id === 'string' ? `${eventType} ${id}` : undefined;
}

const merge = (base: JsonObject, added: JsonObject): JsonObject => {
  const merged: JsonObject = { ...base };
  for (const [name, value] of Object.entries(added)) {
    const before = merged[name];
    merged[name] = isObject(before) && isObject(value) ? merge(before, value) : value;
  }
  return merged;
};

type FieldDifference = Omit<Difference, 'clientEventId' | 'recordedBy'>;
type EventComparison = { readonly added: JsonObject; readonly isCorrected: boolean } | FieldDifference;

/** Returns what an event says more than the stored one, or where it says something else. */
function compare(stored: StoredEvent, event: EventInput, isOlder: boolean): EventComparison {
  // nothing can be compared with erased values, and they must not come back
  if (stored.erased !== undefined) return { added: {}, isCorrected: false };
  if (stored.eventType !== event.eventType) {
    if (stored.metadata['readAs'] === event.eventType) return { added: {}, isCorrected: false };
    if (isOlder && isNamed(event)) return { added: { readAs: event.eventType }, isCorrected: true };
  }
  const isImportTime =
    event.metadata?.['timestampSource'] === 'import' && stored.metadata['timestampSource'] === 'import';
  const members = {
    eventType: event.eventType,
    // results of a subagent were once its session's
    ...(isOlder ? {} : { actor: event.actor }),
    action: event.action,
    resource: event.resource ?? null,
    // the file of a subagent may start a run before the file of its session
    ...(isImportTime || isCopy(stored) || (isOlder && event.eventType === 'run.started')
      ? {}
      : { timestamp: event.timestamp }),
  };
  for (const [name, given] of Object.entries(members)) {
    const before = stored[name as keyof typeof members] ?? null;
    const found = difference(before as Json, given as Json, `/${name}`);
    if (found !== undefined) return found;
  }
  const causes = compareCauses(stored, event);
  if ('pointer' in causes) return causes;
  const given = (event.metadata ?? {}) as JsonObject;
  const metadata = stored.metadata as JsonObject;
  const found =
    isOlder || isCopy(stored) || hasOtherGuess(metadata, given)
      ? corrected(metadata, given)
      : added(metadata, given, '/metadata');
  return 'pointer' in found ? found : { ...found, added: { ...causes.added, ...found.added } };
}

/**
 * Whether a call that the importer found by itself is another one, or is found in another way, now that the source says more.
 * Its outcome may be known then.
 */
const hasOtherGuess = (stored: JsonObject, given: JsonObject): boolean => {
  const isOther = (name: string): boolean => stored[name] !== given[name];
  if (stored['matchedBy'] !== undefined) return ['toolCallId', 'matchedBy', 'outcome'].some(isOther);
  return isOther('toolCallId') && String(stored['toolCallId']).startsWith('import:');
};

/** Whether the source named the event, so that no other reading gives its id to another part of the source. */
const isNamed = ({ clientEventId = '' }: EventInput): boolean => !/:\d+$/.test(clientEventId);

/** A cause that is known only now is added to an event that names none, and to a copy. */
function compareCauses(
  stored: StoredEvent,
  event: EventInput,
): { readonly added: JsonObject } | FieldDifference {
  const before = stored.causedBy ?? stored.metadata['causedBy'] ?? null;
  const given = event.causedBy ?? null;
  if (isCopy(stored) && given !== null) {
    const later = stored.metadata['causedBy'];
    const known = new Set<unknown>([...(stored.causedBy ?? []), ...(Array.isArray(later) ? later : [])]);
    return given.every((id) => known.has(id)) ? { added: {} } : { added: { causedBy: [...given] } };
  }
  if (before === null && given !== null) return { added: { causedBy: [...given] } };
  if (given === null && (stored.causedBy === null || isCopy(stored))) return { added: {} };
  return difference(before as Json, given as Json, '/causedBy') ?? { added: {} };
}

const contents = new Set(['content', 'arguments', 'input', 'output']);

/** The members that are new or read otherwise now; what is no longer read stays as it is stored. */
function corrected(stored: JsonObject, given: JsonObject): EventComparison {
  const more: JsonObject = {};
  let isCorrected = false;
  for (const [name, value] of Object.entries(given)) {
    const before = stored[name];
    const other = before === undefined ? undefined : difference(before, value, `/metadata/${name}`);
    if (before !== undefined && (other === undefined || contains(before, value))) continue;
    // another content is another recording, or a reading that numbers its events otherwise
    if (other !== undefined && contents.has(name)) return other;
    more[name] = value;
    isCorrected ||= before !== undefined && name !== 'importerVersion';
  }
  return { added: more, isCorrected };
}

/** Whether an object has all members of another: a copy may say more, such as that it is one. */
const contains = (before: Json, value: Json): boolean =>
  isObject(before) && isObject(value)
    ? Object.entries(value).every(([name, each]) => {
        const own = before[name];
        return own !== undefined && contains(own, each);
      })
    : difference(before, value, '') === undefined;

/** Members that no importer writes: the service, and completions. */
const ofOthers = new Set(['gov.redacted', 'gov.statedBy', 'causedBy', 'readAs', callHashMember]);

/** Compares two objects. The given one may have more members. */
function added(stored: JsonObject, given: JsonObject, pointer: string): EventComparison {
  const more: JsonObject = {};
  for (const [name, value] of Object.entries(stored)) {
    if (pointer === '/metadata' && ofOthers.has(name)) continue;
    const other = given[name];
    if (isObject(value) && isObject(other) && !isRedacted(value) && value['truncated'] !== true) {
      const inner = added(value, other, `${pointer}/${name}`);
      if ('pointer' in inner) return inner;
      if (Object.keys(inner.added).length > 0) more[name] = inner.added;
      continue;
    }
    const found = difference(value, other ?? null, `${pointer}/${name}`);
    if (found !== undefined) return found;
  }
  for (const [name, value] of Object.entries(given)) if (!Object.hasOwn(stored, name)) more[name] = value;
  return { added: more, isCorrected: false };
}

/** The service replaces configured values before it stores them (contract O11). */
const isRedacted = (value: Json): boolean =>
  isObject(value) && value['redacted'] === true && typeof value['fingerprint'] === 'string';

function difference(stored: Json, given: Json, pointer: string): FieldDifference | undefined {
  if (isRedacted(stored)) return undefined;
  if (Array.isArray(stored) && Array.isArray(given) && stored.length === given.length) {
    for (const [index, item] of stored.entries()) {
      const found = difference(item, given[index] ?? null, `${pointer}/${index}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (isObject(stored) && isObject(given)) {
    const names = new Set([...Object.keys(stored), ...Object.keys(given)]);
    for (const name of names) {
      const found = difference(stored[name] ?? null, given[name] ?? null, `${pointer}/${name}`);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return stored === given ? undefined : { pointer, stored, given };
}

/** The event that adds to a stored one. It names what it completes, and is caused by it. */
function completion(event: EventInput, { added, number }: { added: JsonObject; number: number }): EventInput {
  const id = event.clientEventId ?? '';
  return {
    ...event,
    eventType: 'event.completed',
    action: 'complete',
    metadata: {
      completes: id,
      completedType: event.eventType,
      added,
      timestampSource: event.metadata?.['timestampSource'],
      ...(event.metadata?.['importMarks'] === undefined
        ? {}
        : { importMarks: event.metadata['importMarks'] }),
    },
    causedBy: [id, ...(event.causedBy !== undefined && 'causedBy' in added ? event.causedBy : [])],
    clientEventId: completionId(id, number),
  };
}

function completionId(id: string, number: number): string {
  const ending = `.completed${number === 1 ? '' : number}`;
  if (id.length + ending.length <= limits.identifierChars) return `${id}${ending}`;
  return `${id.slice(0, limits.identifierChars - ending.length - 9)}-${shortHash(id)}${ending}`;
}
