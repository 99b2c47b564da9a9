/**
 * What the service has of a large recording, without asking for all of it again: a note in the state directory has the length
 * and hash of the file, a hash of each event that was made of it, and how many events the run has. If the file still begins
 * so, its importer makes the same events of it, and the log has what the note claims, then these events are what the service
 * has. Any doubt, such as events of another source in the run, leads to asking for all of them.
 *
 * A note is no evidence: each program of the user can write one. So the log is asked for what it claims, in two or three
 * requests: as many events of the run, a balance of the noted bytes by their hash, and, where the note lists events, the last
 * one as the newest of its type.
 *
 * A file that is read in parts (`in-parts.ts`) is read on after it has grown: its note has the place where its last lines
 * begin, and the hashes of their events alone. What the lines before became is the word of the log, not of the note: with
 * these last lines, the place must give that balance.
 *
 * A note has no content but ids. The hash at its beginning shows damage, and a note of another build of gov is not read.
 * A crash before it is written leaves an older one, whose count differs.
 * Tested by `test/cli/push/recorded.test.ts`.
 */
import { hash } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { limits } from '../../contract/limits.ts';
import type { Batch } from '../../client/sending/batch.ts';
import type { DeliveryResult, Sink } from '../../client/sending/deliver.ts';
import type { EventInput } from '../../contract/events.ts';
import { balanceType, readBalance, type Balance } from '../../core/balance/statement.ts';
import { readPartsState, type PartsPlace, type PartsState } from '../../core/intake/parts/state.ts';
import { importerVersion } from '../../core/intake/run.ts';
import { build } from '../../client/version.ts';
import type { StoredEvent } from '../../core/intake/reconcile.ts';
import type { ImportedRun } from '../../core/intake/run.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { isObject } from '../../core/json/object.ts';

export interface Note {
  /** Bytes that were read, and their SHA-256 in hex. */
  readonly bytes: number;
  readonly sha256: string;
  readonly runId: string;
  readonly format: string;
  /** Events of the run in the service. */
  readonly total: number;
  /** Events of the file. */
  readonly events: number;
  /** The beginning of the SHA-256 of each event, in their order; with a place, of the events after it. */
  readonly hashes: string;
  /** Where a file that has grown is read on. */
  readonly place?: PartsPlace;
  /** Ids of the balances that the run has. */
  readonly balances: readonly string[];
}

export interface RecordedOptions {
  readonly directory: string;
  /** The service, and the options that change what is made of a file. */
  readonly target: string;
  readonly count: NonNullable<Sink['count']>;
  readonly newest: Sink['newest'];
}

interface Unchanged {
  readonly runId: string;
  readonly format: string;
  /** Those of the file, and its balance. */
  readonly events: number;
}

interface LargeFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** A file that was read in parts. */
interface FileInParts {
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly after: PartsState;
  readonly place: PartsPlace | undefined;
  /** Hashes of the events after the place. */
  readonly hashes: string;
  /** What the run had before; undefined: it is new. */
  readonly before: Note | undefined;
}

/** A file of this push with one run; the note lacks what this push adds to the run. */
interface Taken {
  readonly path: string;
  readonly note: Note;
}

/** Hex digits of a hash; eight bytes tell the events of one file apart. */
export const digits = 16;

export class RecordedFiles {
  readonly #options: RecordedOptions;
  /** By run; null: several files have it. */
  readonly #taken = new Map<string, Taken | null>();
  readonly #accepted = new Map<string, number>();
  /** Runs of which an event was refused, or recorded by an earlier request. */
  readonly #unsure = new Set<string>();

  constructor(options: RecordedOptions) {
    this.#options = options;
  }

  /** Returns what became of a file that has not changed since, and that the service has; undefined for any other. */
  async unchanged({ path, bytes }: LargeFile, signal: AbortSignal): Promise<Unchanged | undefined> {
    if (bytes.length < limits.pushNotedBytes) return undefined;
    const note = this.noteOf(path);
    if (note?.bytes !== bytes.length || hash('sha256', bytes, 'hex') !== note.sha256) return undefined;
    const balance = await this.balanceOf(note, signal);
    return balance === undefined ? undefined : { ...note, events: note.events + 1 };
  }

  noteOf(path: string): Note | undefined {
    return readNote(this.#pathOf(path));
  }

  /**
   * Returns the balance that the log has of the noted bytes; undefined if it has none, or another number of events of the run
   * than after the push that the note is of. Subagents have balances in the run of their session, so a few are looked at.
   */
  async balanceOf(
    { runId, total, sha256 }: Pick<Note, 'runId' | 'total' | 'sha256'>,
    signal: AbortSignal,
  ): Promise<Balance | undefined> {
    const { count, newest } = this.#options;
    const [events, balances = []] = await Promise.all([
      count(runId, signal),
      newest?.(runId, { eventType: balanceType, limit: limits.pushNewestBalances, signal }),
    ]);
    if (events !== total) return undefined;
    return balances
      .map(({ metadata }) => readBalance(metadata))
      .find((balance) => balance?.source.sha256 === sha256);
  }

  /** Returns the events that the service has of a file's run; undefined if it has to be asked for them. */
  async storedOf(
    { path, bytes }: LargeFile,
    run: ImportedRun,
    signal: AbortSignal,
  ): Promise<readonly StoredEvent[] | undefined> {
    if (bytes.length < limits.pushNotedBytes || this.#taken.has(run.runId)) return undefined;
    const note = this.noteOf(path);
    if (note === undefined || note.place !== undefined) return undefined;
    if (note.runId !== run.runId || note.bytes > bytes.length) return undefined;
    if (hash('sha256', bytes.subarray(0, note.bytes), 'hex') !== note.sha256) return undefined;
    const stored = storedIn(run, note);
    if (stored === undefined || (await this.balanceOf(note, signal)) === undefined) return undefined;
    const last = stored.findLast(({ eventType }) => eventType !== balanceType);
    if (last === undefined) return undefined;
    const { runId } = note;
    const found = await this.#options.newest?.(runId, { eventType: last.eventType, limit: 1, signal });
    return found?.[0]?.clientEventId === last.clientEventId ? stored : undefined;
  }

  /** Takes a file whose events follow. `stored`: what the service has of its run. */
  took({ path, bytes }: LargeFile, run: ImportedRun, stored: readonly StoredEvent[]): void {
    if (bytes.length < limits.pushNotedBytes) return;
    const own = new Set(run.events.map(({ clientEventId }) => clientEventId));
    const balances = stored.flatMap(({ eventType, clientEventId }) =>
      eventType === balanceType && clientEventId !== null ? [clientEventId] : [],
    );
    const others = stored.filter(
      ({ eventType, clientEventId }) => eventType !== balanceType && !own.has(clientEventId ?? undefined),
    );
    const isKnown = this.#taken.has(run.runId) || others.length > 0;
    const note = {
      bytes: bytes.length,
      sha256: hash('sha256', bytes, 'hex'),
      runId: run.runId,
      format: run.format,
      total: stored.length,
      events: run.events.length,
      hashes: run.events.map(hashOf).join(''),
      balances,
    };
    this.#taken.set(run.runId, isKnown ? null : { path, note });
  }

  /** The same for a file that was read in parts. */
  tookParts({ path, bytes, sha256, after, place, hashes, before }: FileInParts): void {
    const { runId, format } = after;
    const note = {
      bytes,
      sha256,
      runId,
      format,
      total: before?.total ?? 0,
      events: after.counts.events,
      hashes,
      balances: before?.balances ?? [],
      ...(place === undefined ? {} : { place }),
    };
    this.#taken.set(runId, this.#taken.has(runId) ? null : { path, note });
  }

  /** Counts the verdicts of a batch. */
  judged({ events }: Pick<Batch, 'events'>, { results, duplicates }: DeliveryResult): void {
    for (const [at, event] of events.entries()) {
      const runId = isObject(event) ? event['runId'] : undefined;
      if (typeof runId !== 'string') continue;
      if (results[at]?.status !== 'accepted' || duplicates > 0) this.#unsure.add(runId);
      this.#accepted.set(runId, (this.#accepted.get(runId) ?? 0) + 1);
      if (isObject(event) && event['eventType'] === 'event.completed') this.#unsure.add(runId);
    }
  }

  /** Writes a note for each large file. `balanceOf`: the id of the balance that its run has now. Throws the system's error. */
  save(balanceOf: (runId: string, sha256: string) => string): void {
    for (const [runId, taken] of this.#taken) {
      if (taken === null || this.#unsure.has(runId)) continue;
      const note: Note = {
        ...taken.note,
        total: taken.note.total + (this.#accepted.get(runId) ?? 0),
        balances: [...new Set([...taken.note.balances, balanceOf(runId, taken.note.sha256)])],
      };
      const path = this.#pathOf(taken.path);
      makeFolder(dirname(path), 0o700);
      const draft = `${path}.${process.pid}`;
      const text = JSON.stringify(note);
      writeFileSync(draft, `${sumOf(text)}\n${text}`, { mode: 0o600 });
      renameSync(draft, path);
    }
  }

  #pathOf(path: string): string {
    const { directory, target } = this.#options;
    return join(directory, 'recorded', `${hash('sha256', `${target}\n${path}`, 'hex')}.json`);
  }
}

const hashes = new WeakMap<EventInput, string>();

/** Cost: once over the event, the first time. */
export function hashOf(event: EventInput): string {
  const known = hashes.get(event) ?? hash('sha256', JSON.stringify(event), 'hex').slice(0, digits);
  hashes.set(event, known);
  return known;
}

/** Returns the events of a run that were made of the file before; undefined if not all of them are made of it now. */
function storedIn(run: ImportedRun, { hashes: noted, balances }: Note): readonly StoredEvent[] | undefined {
  const stored: StoredEvent[] = [];
  let at = 0;
  for (const event of run.events) {
    if (at === noted.length) break;
    if (hashOf(event) !== noted.slice(at, at + digits)) continue;
    at += digits;
    stored.push(asStored(event));
  }
  const isWhole = at === noted.length;
  return isWhole ? [...stored, ...balances.map((id) => balanceAs(run, id))] : undefined;
}

const balanceAs = ({ events }: ImportedRun, clientEventId: string): StoredEvent => ({
  eventType: balanceType,
  actor: { name: 'gov' },
  resource: null,
  action: 'balance',
  timestamp: events[0]?.timestamp ?? '',
  metadata: {},
  causedBy: null,
  clientEventId,
});

/** An event of an importer, as the service lists it. */
export const asStored = (event: EventInput): StoredEvent => ({
  eventType: event.eventType,
  actor: event.actor as StoredEvent['actor'], // an importer writes parties as objects
  resource: (event.resource as StoredEvent['resource'] | undefined) ?? null,
  action: event.action,
  timestamp: event.timestamp,
  metadata: event.metadata ?? {},
  causedBy: event.causedBy ?? null,
  clientEventId: event.clientEventId ?? null,
});

/** Of the text of a note, and of what reads recordings: another build may read them otherwise. */
const sumOf = (text: string): string => hash('sha256', `${build} ${importerVersion}\n${text}`, 'hex');

function readNote(path: string): Note | undefined {
  try {
    const text = readFileSync(path, 'utf8');
    const end = text.indexOf('\n');
    const note = text.slice(end + 1);
    return text.slice(0, end) === sumOf(note) ? noteIn(JSON.parse(note)) : undefined;
  } catch {
    // missing or damaged: the service is asked
    return undefined;
  }
}

function noteIn(value: unknown): Note | undefined {
  if (!isObject(value)) return undefined;
  const { bytes, sha256, runId, format, total, events, hashes, place } = value;
  const balances: unknown = value['balances'];
  if (typeof bytes !== 'number' || typeof total !== 'number' || typeof events !== 'number') return undefined;
  if (typeof sha256 !== 'string' || typeof runId !== 'string' || typeof format !== 'string') return undefined;
  if (typeof hashes !== 'string' || !isTexts(balances)) return undefined;
  const note = { bytes, sha256, runId, format, total, events, hashes, balances };
  if (place === undefined) return note;
  const state = isObject(place) ? readPartsState(place['state']) : undefined;
  const names = isObject(place) ? place['names'] : undefined;
  return state === undefined || typeof names !== 'string' ? undefined : { ...note, place: { state, names } };
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
