/**
 * One imported run: a list of events as `POST /events` accepts them. Importing the same source twice gives the same events
 * with the same clientEventIds, and each event fits the contract.
 * Tested by `test/core/intake/fit.test.ts` and the test of each importer.
 */
import { hash } from 'node:crypto';
import type { EventInput } from '../../contract/events.ts';
import { limits } from '../../contract/limits.ts';
import { formatTimestamp } from '../time.ts';
import { Changes, fitMetadata, line, type Change } from './fit.ts';
import type { Remainder } from '../balance/statement.ts';
import { countFacts, remainderOf, type InheritedFacts } from './facts.ts';
import { Repeats, type NumberedPart } from './repeats.ts';
import type { SourceTime } from './time.ts';

/** The input of an importer. The same values for the same source make an import repeatable. */
export interface ImportContext {
  /** Unix milliseconds for events without a time in the source. */
  readonly importedAt: number;
  /** File name without folders. Empty for a pipe. */
  readonly sourceName: string;
  /** Name of the folder that has the file; absent: nobody knows it. */
  readonly folder?: string | undefined;
  /** Put before each run id. */
  readonly runPrefix?: string | undefined;
  /** The run id to use, for a source of one run. */
  readonly runId?: string | undefined;
  /** The file was not UTF-8 throughout, so a U+FFFD in its text may be a repair. */
  readonly repaired?: boolean | undefined;
  /** Runs by trace id, of traces that other files of the same push name. */
  readonly traces?: ReadonlyMap<string, string> | undefined;
  /** The beginning of clientEventIds, of a caller that handles repeated keys itself; default: the run id. */
  readonly idBase?: string | undefined;
  /** Which lines a file repeats of another one, where only the other one shows it. */
  readonly copied?: CopiedLines | undefined;
  /** Called with the number of records that say nothing about an agent, where no run counts them. */
  readonly skipped?: ((records: number) => void) | undefined;
  /** Returns where a value stands in the file; absent: nobody asks. */
  readonly placeOf?: ((value: unknown) => string) | undefined;
  /** Counts the run ids that come from names, so that recordings of one file stay apart. */
  readonly named?: Map<string, number> | undefined;
  /** What earlier parts of the same recording became; absent: it is read from its beginning. */
  readonly before?: EventCounts | undefined;
}

/** How many events there are, and how many of them the source gives no key. */
export interface EventCounts {
  readonly events: number;
  readonly keyless: number;
}

/** All lines with ids, from the first to the one with the id `through`, are those of another run. */
export interface CopiedLines {
  readonly run: string;
  readonly through: string;
}

export interface ImportedRun {
  readonly runId: string;
  readonly format: string;
  readonly events: readonly EventInput[];
  /** Messages, steps or observations of the run in the source. */
  readonly items: number;
  readonly changes: ReadonlyMap<Change, number>;
  /** Events that another signal of the same source may have recorded with other words, by clientEventId. */
  readonly mergeable: ReadonlySet<string>;
  /** Ids of the source that came again with other content, and were numbered. */
  readonly numbered: readonly string[];
  /** Facts that the recording repeats of other runs: one entry for each. They have no events here. */
  readonly inherited: readonly InheritedFacts[];
  /** The events that these facts would be. Nobody records them. */
  readonly inheritedEvents?: readonly EventInput[];
  /** Parts that gov does not understand. Each is an `x.unknown` too. */
  readonly remainder: readonly Remainder[];
}

/**
 * How a recording is known: by the id that its source gave it, or by the file's name and the content of its opening,
 * which stays the same while the recording grows.
 */
export type Identity = { readonly id: string } | { readonly opening: unknown; readonly name?: string };

/** What a reader of an event has to know: the claims of `event_integrity` count unknown ones by their type. */
type Mark = 'unknown' | 'repaired' | 'ambiguous';

export interface Party {
  readonly name: string;
  readonly role?: string;
  readonly type?: string;
}

/** An event before it has its id and time. */
export interface Draft {
  readonly eventType: string;
  readonly actor: Party;
  readonly action: string;
  readonly resource?: Party | undefined;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly causedBy?: readonly string[] | undefined;
  /** Null or absent: the source has no time. */
  readonly at?: SourceTime | null | undefined;
  /** The end of the clientEventId after the run id; default: the number of earlier events without a key. */
  readonly key?: string | undefined;
  readonly marks?: readonly Mark[];
  /** Another signal of the source may record the same fact under this key. */
  readonly mergeable?: boolean;
}

/** Longest run id that leaves room for `:<n>` in a clientEventId. */
const runIdChars = limits.identifierChars - 36;

/**
 * Returns a run id from a name of any length and alphabet. Characters that contract A2 rejects become `-`. A name that was
 * changed or shortened ends in 8 hex digits of its hash, so that different names stay apart.
 */
export function runIdFrom(name: string): string {
  const clean = name.replace(/[^A-Za-z0-9._:-]+/g, '-').replace(/^[^A-Za-z0-9]+|-+$/g, '');
  if (clean === name && name !== '' && name.length <= runIdChars) return name;
  return `${clean === '' ? 'run' : clean.slice(0, runIdChars - 9)}-${shortHash(name)}`;
}

/** Returns the run id of a recording: `--run`, else the prefix and its identity. */
function runIdOf(identity: Identity, context: ImportContext): string {
  if (context.runId !== undefined) return context.runId;
  const prefix = context.runPrefix === undefined ? '' : `${context.runPrefix}-`;
  if ('id' in identity) return runIdFrom(`${prefix}${identity.id}`);
  const file = context.sourceName.replace(/(\.(jsonl?|ndjson|traj|trace|log|pb|bin))+$/i, '');
  const base = identity.name ?? (file || 'import');
  const name = `${prefix}${base}-${shortHash(JSON.stringify(identity.opening ?? null))}`;
  // two recordings of one file may begin alike
  const uses = (context.named?.get(name) ?? 0) + 1;
  context.named?.set(name, uses);
  return runIdFrom(uses === 1 ? name : `${name}-${uses}`);
}

export const shortHash = (text: string): string => hash('sha256', text, 'hex').slice(0, 8);

/**
 * Rises when importers read the same recording otherwise; recordings before it existed are of version 1. The first event of
 * a recording has it, so that a repeated import knows a change of gov from a change of the recording.
 */
export const importerVersion = 12;

export class RunBuilder {
  readonly runId: string;
  readonly changes = new Changes();
  readonly #format: string;
  readonly #context: ImportContext;
  readonly #events: EventInput[] = [];
  readonly #idBase: string;
  readonly #mergeable = new Set<string>();
  readonly #parts = new Repeats();
  readonly #drafts = new Repeats();
  readonly #repeated: string[] = [];
  readonly #inherited: InheritedFacts[] = [];
  readonly #inheritedEvents: EventInput[] = [];
  readonly #remainder: Remainder[] = [];
  readonly #before: number;
  /** Events without a key so far. A run's end has a key, because more may follow it. */
  #numbered: number;

  constructor(format: string, identity: Identity, context: ImportContext) {
    this.#format = format;
    this.#context = context;
    this.#before = context.before?.events ?? 0;
    this.#numbered = context.before?.keyless ?? 0;
    this.runId = runIdOf(identity, context);
    this.#idBase =
      context.idBase ??
      (this.runId.length <= runIdChars
        ? this.runId
        : `${this.runId.slice(0, runIdChars - 9)}-${hash('sha256', this.runId, 'hex').slice(0, 8)}`);
  }

  /** Returns the clientEventId of a draft with this key. */
  idOf(key: string): string {
    const clean = key.replace(/[^A-Za-z0-9._:-]+/g, '-');
    const id = `${this.#idBase}:${clean === key ? key : `${clean}-${shortHash(key)}`}`;
    if (id.length <= limits.identifierChars) return id;
    return `${id.slice(0, limits.identifierChars - 9)}-${hash('sha256', key, 'hex').slice(0, 8)}`;
  }

  /**
   * Returns the key of a part that its source names: its id, or a numbered one if an earlier part with other content has
   * it; undefined for a part that came before.
   */
  keyOf(id: string, part: unknown): string | undefined {
    const place = this.#counted(id, this.#parts.placeOf(id, part));
    return place.isRepeat ? undefined : place.id;
  }

  #counted(id: string, place: NumberedPart): NumberedPart {
    if (place.isRepeat) this.changes.add('id_repeated');
    else if (place.id !== id) {
      this.changes.add('id_numbered');
      this.#repeated.push(id);
    }
    return place;
  }

  #placeOf(draft: Draft): NumberedPart {
    const id = this.idOf(draft.key ?? String(this.#numbered++));
    if (this.#context.idBase !== undefined) return { id, isRepeat: false };
    const place = this.#counted(id, this.#drafts.placeOf(id, draft));
    if (place.id.length <= limits.identifierChars) return place;
    return {
      ...place,
      id: `${place.id.slice(0, limits.identifierChars - 9)}-${shortHash(place.id)}`,
    };
  }

  /**
   * Appends an event, unless the run has the same one under its key; returns its clientEventId. The id depends on what
   * came before alone.
   */
  add(draft: Draft): string {
    const index = this.#before + this.#events.length;
    const { id: clientEventId, isRepeat } = this.#placeOf(draft);
    if (isRepeat) return clientEventId;
    const time = draft.at ?? null;
    const repairs = this.changes.of('text_repaired');
    const event = {
      runId: this.runId,
      eventType: draft.eventType,
      actor: this.#party(draft.actor),
      ...(draft.resource === undefined ? {} : { resource: this.#party(draft.resource) }),
      action: line(draft.action, limits.actionChars, { fallback: 'unnamed', changes: this.changes }),
      // an event without a time gets the import's, a millisecond after the event before it
      timestamp: time === null ? formatTimestamp(this.#context.importedAt + index) : time.timestamp,
      metadata: fitMetadata(draft.metadata ?? {}, this.changes),
      ...(draft.causedBy === undefined || draft.causedBy.length === 0
        ? {}
        : { causedBy: [...draft.causedBy] }),
      clientEventId,
    };
    const marks = [...(draft.marks ?? [])];
    if (this.changes.of('text_repaired') > repairs || this.#holdsRepair(event)) marks.push('repaired');
    this.#events.push({
      ...event,
      metadata: {
        ...event.metadata,
        timestampSource: time === null ? 'import' : time.source,
        ...(marks.length === 0 ? {} : { importMarks: marks }),
      },
    });
    if (draft.mergeable === true) this.#mergeable.add(clientEventId);
    return clientEventId;
  }

  /** Appends a part that gov does not understand: kept whole, with its text, and marked. */
  unknown(what: string, value: unknown, { actor, at, key }: Pick<Draft, 'actor' | 'at' | 'key'>): void {
    this.changes.add('unknown_part');
    this.#remainder.push(remainderOf(what, value, this.#context.placeOf?.(value) ?? ''));
    this.add({
      eventType: 'x.unknown',
      actor,
      action: 'record',
      metadata: { what, text: isSource(value) ? spokenIn(value) : undefined, value },
      marks: ['unknown'],
      key,
      at,
    });
  }

  /** Counts the facts of another run that the recording repeats. They get no events here. */
  inherit(parent: RunBuilder, through?: string): void {
    for (const event of parent.#events) {
      if (event.eventType !== 'run.started') this.changes.add('inherited');
      this.#inheritedEvents.push(event);
    }
    this.#inherited.push({
      run: parent.runId,
      ...countFacts(parent.#events),
      ...(through === undefined ? {} : { through }),
    });
  }

  /** Whether an event's text has the sign that replaced unreadable bytes of the file. */
  #holdsRepair(event: object): boolean {
    return this.#context.repaired === true && JSON.stringify(event).includes('\ufffd');
  }

  /** Of the run so far, with its earlier parts. */
  get counts(): EventCounts {
    return { events: this.#before + this.#events.length, keyless: this.#numbered };
  }

  /** Returns the finished run. `items` is the number of things that the source recorded. */
  finish(items: number): ImportedRun {
    const [first] = this.#events;
    // one that reads for itself, such as the receiver of telemetry, compares nothing
    if (first !== undefined && this.#before === 0 && this.#context.idBase === undefined)
      this.#events[0] = { ...first, metadata: { ...first.metadata, importerVersion } };
    return {
      runId: this.runId,
      format: this.#format,
      events: this.#events,
      items,
      changes: this.changes.counts,
      mergeable: this.#mergeable,
      numbered: this.#repeated,
      inherited: this.#inherited,
      inheritedEvents: this.#inheritedEvents,
      remainder: this.#remainder,
    };
  }

  #party(party: Party): Record<string, string> {
    const text = (value: string, chars: number) =>
      line(value, chars, { fallback: 'unnamed', changes: this.changes });
    return {
      name: text(party.name, limits.partyNameChars),
      ...(party.role === undefined ? {} : { role: text(party.role, limits.partyRoleChars) }),
      ...(party.type === undefined ? {} : { type: text(party.type, limits.partyTypeChars) }),
    };
  }
}

const spokenIn = ({ text, content }: Source): string | undefined => textOf(text) ?? textOf(content);

/** A JSON object of the source. */
export type Source = Readonly<Record<string, unknown>>;
export const isSource = (value: unknown): value is Source =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
/** Returns a text of the source; undefined for other values and for ''. */
export const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' ? value : undefined;

/** An id as a text: some programs count their calls. */
export const idOf = (id: unknown): string | undefined => (typeof id === 'number' ? String(id) : textOf(id));
