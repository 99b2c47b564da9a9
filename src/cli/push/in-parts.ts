/**
 * Long recordings of lines, as records: read part by part, in the memory of a part and at most `keptBytes` more, whatever
 * their size. A file is read for its balance, which comes before its first event, and once more for its events. One that has
 * grown is read on from the place in its note (`recorded.ts`), after the bytes before were hashed.
 *
 * What this does not read, `imports.ts` reads as a whole: files of other formats, forks, subagents, lines that are no JSON,
 * runs of which the service has other events. Tested by `test/cli/push/in-parts.test.ts`.
 */
import { createHash, hash, type Hash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { limits } from '../../contract/limits.ts';
import type { EventInput } from '../../contract/events.ts';
import type { Balance } from '../../core/balance/statement.ts';
import { balanceOfParts } from '../../core/intake/parts/balance.ts';
import {
  mayBeInParts,
  PartsReader,
  runOfPart,
  WholeNeeded,
  type FilePart,
  type LinesFile,
  type PartsOptions,
} from '../../core/intake/parts/reader.ts';
import type { PartsPlace, PartsState } from '../../core/intake/parts/state.ts';
import type { StoredEvent } from '../../core/intake/reconcile.ts';
import { balanceEvents } from './balance.ts';
import { openFound } from './folder.ts';
import { alikeOf } from './forks.ts';
import type { PushContext } from './context.ts';
import { inputError, recordOf, type InputRecord } from './record.ts';
import { digits, hashOf, type Note } from './recorded.ts';
import type { InputSource } from './source.ts';

/** Bytes of a reading of which the events stay in memory for the second one. */
const keptBytes = 8 * 1024 * 1024;

/** Makes the events of the file as a whole, where a further file has the same run. */
type EventsOf = (bytes: Buffer) => Promise<readonly StoredEvent[]>;

interface Request {
  readonly source: InputSource & { readonly path: string };
  readonly file: LinesOnDisk;
  readonly reading: PushContext;
  /** What the last push noted of the file. */
  readonly note: Note | undefined;
  /** Of the file and of its beginnings that the note names. */
  readonly digests: Digests;
}

interface Digests {
  /** SHA-256 of the file in hex. */
  readonly sha256: string;
  /** After so many bytes. */
  readonly at: ReadonlyMap<number, Hash>;
}

/** Yields the records of a file; returns false, without any of them, if it has to be read as a whole. */
export async function* readInParts(
  source: InputSource,
  reading: PushContext,
  eventsOf: EventsOf,
): AsyncGenerator<InputRecord, boolean> {
  const { path } = source;
  const file = path === null ? undefined : LinesOnDisk.open(path, source);
  if (path === null || file === undefined) return false;
  try {
    if (!mayBeInParts(file.read(0, blockBytes), reading.options)) return false;
    const note = reading.signal === undefined ? undefined : reading.recorded?.noteOf(path);
    const digests = file.digests([0, note?.bytes, note?.place?.state.bytes]);
    const request = { source: { ...source, path }, file, reading, note, digests };
    const same = await unchanged(request);
    if (same !== undefined) {
      reading.told({ kind: 'unchanged', source: source.name, format: same.format, runId: same.runId });
      yield { line: 1, known: same.events + 1 };
      return true;
    }
    const survey = await surveyOf(request);
    if (survey === undefined) return false;
    const { size } = file;
    const again = async () => eventsOf(readFileSync(path).subarray(0, size));
    const { runId } = survey.after;
    if (survey.isAsked) reading.known.long.set(runId, again);
    // the other events of the run are those of the file
    if (survey.grown !== undefined) reading.known.asked.set(runId, Promise.resolve([]));
    yield* recordsOf(survey, request);
    return true;
  } finally {
    file.close();
  }
}

/** Returns the note of a file that has not changed since, and that the service has. */
async function unchanged({ file, reading, note, digests }: Request): Promise<Note | undefined> {
  const { recorded, signal } = reading;
  if (recorded === undefined || note?.bytes !== file.size || signal === undefined) return undefined;
  const isLogged = digests.sha256 === note.sha256 && (await recorded.balanceOf(note, signal)) !== undefined;
  return isLogged ? note : undefined;
}

/** What a file holds, before its first event is sent. */
interface Survey {
  readonly options: PartsOptions;
  readonly parts: readonly SurveyedPart[];
  readonly after: PartsState;
  readonly balance: Balance;
  readonly place: PartsPlace | undefined;
  /** Hashes of the events after the place. */
  readonly hashes: string;
  /** The note from which the file was read on. */
  readonly grown: Note | undefined;
  /** Whether the service was asked for the run. */
  readonly isAsked: boolean;
}

interface SurveyedPart extends Pick<FilePart, 'from' | 'before' | 'isEnd'> {
  readonly bytes: number;
  readonly sha256: string;
  /** Undefined: it is read again. */
  readonly events: readonly EventInput[] | undefined;
  /** Places of events that the service has. */
  readonly known: ReadonlySet<number>;
}

/** Undefined: the file has to be read as a whole. */
async function surveyOf(request: Request): Promise<Survey | undefined> {
  const { source, file, reading, note, digests } = request;
  const wasWhole = note !== undefined && note.place === undefined;
  if (wasWhole && hexOf(digests, note.bytes) === note.sha256) return undefined;
  const head = file.read(0, limits.pushHeadBytes);
  if (source.path.endsWith('.jsonl') && alikeOf(source.path, head).length > 0) return undefined;
  const options: PartsOptions = {
    ...reading.options,
    sourceName: source.knownAs ?? basename(source.path),
    importedAt: reading.importedAt(digests.sha256),
  };
  try {
    return await survey({ ...request, options, grown: await grownFrom(request, options) });
  } catch (failure) {
    if (failure instanceof WholeNeeded) return undefined;
    throw failure;
  }
}

/**
 * Returns the note of a file that has grown since, if the file begins with the noted bytes, the service has as many events as
 * then, and the place with the lines after it gives the balance that the log has of these bytes, to the last count.
 */
async function grownFrom(
  { file, reading, note, digests }: Request,
  options: PartsOptions,
): Promise<Note | undefined> {
  const { recorded, signal } = reading;
  if (recorded === undefined || note?.place === undefined || signal === undefined) return undefined;
  const { place, bytes, sha256, runId } = note;
  const isBeginning = place.state.bytes <= bytes && bytes < file.size && hexOf(digests, bytes) === sha256;
  const logged = isBeginning ? await recorded.balanceOf(note, signal) : undefined;
  if (logged === undefined) return undefined;
  let after = place.state;
  let hashes = '';
  for (const part of new PartsReader(file.to(bytes), options, { from: place }).parts()) {
    after = part.after;
    hashes += part.run.events.map(hashOf).join('');
  }
  const name = options.sourceName;
  const noted = balanceOfParts(after.balance, { name, sha256 });
  const isLogged = noted !== undefined && isSameBalance(noted, logged);
  return isLogged && hashes === note.hashes && after.runId === runId ? note : undefined;
}

/** The members of a balance that the bytes of a file decide. */
const compared = [
  'source',
  'found',
  'recorded',
  'inherited',
  'repeated',
  'excepted',
  'unseen',
  'remainder',
  'leftOut',
] as const;

const isSameBalance = (one: Balance, other: Balance): boolean =>
  compared.every((name) => isDeepStrictEqual(one[name], other[name]));

async function survey({
  source,
  file,
  reading,
  digests,
  options,
  grown,
}: Request & { readonly options: PartsOptions; readonly grown: Note | undefined }): Promise<
  Survey | undefined
> {
  const reader = new PartsReader(file, options, { from: grown?.place });
  const from = grown?.place?.state.bytes ?? 0;
  const digest = digests.at.get(from)?.copy() ?? createHash('sha256');
  const parts: SurveyedPart[] = [];
  const noted = grown?.hashes ?? '';
  let last: FilePart | undefined;
  let at = 0;
  let isAsked = false;
  for (const part of reader.parts()) {
    const { events, runId } = part.run;
    if (last === undefined) {
      const stored = await storedOf(runId, { reading, grown });
      if (stored === 'other') return undefined;
      isAsked = stored === 'none';
    }
    last = part;
    reading.signal?.throwIfAborted();
    digest.update(part.bytes);
    const known = new Set<number>();
    for (const [index, event] of at < noted.length ? events.entries() : []) {
      // an event between those that the service has is one that is understood only now
      if (at === noted.length || hashOf(event) !== noted.slice(at, at + digits)) continue;
      known.add(index);
      at += digits;
    }
    parts.push({
      from: part.from,
      bytes: part.bytes.length,
      sha256: hash('sha256', part.bytes, 'hex'),
      before: part.before,
      isEnd: part.isEnd,
      events: file.size - from <= keptBytes ? events : undefined,
      known,
    });
  }
  if (last === undefined || at < noted.length) return undefined;
  if (digest.digest('hex') !== digests.sha256) throw changed(source);
  const name = options.sourceName;
  const balance = balanceOfParts(last.after.balance, { name, sha256: digests.sha256 });
  if (balance === undefined) return undefined;
  if (reading.options.format === 'auto')
    reading.told({
      kind: 'format',
      source: source.name,
      format: last.found.format.name,
      why: last.found.why,
    });
  const hashes = last.isEnd ? last.run.events.map(hashOf).join('') : '';
  return { options, parts, after: last.after, balance, place: reader.place, hashes, grown, isAsked };
}

/** What the service has of a run besides what a note says: nothing, something, or it cannot be asked. */
async function storedOf(
  runId: string,
  { reading, grown }: { readonly reading: PushContext; readonly grown: Note | undefined },
): Promise<'none' | 'other' | 'unknown'> {
  const { stored, known } = reading;
  if (known.long.has(runId) || known.sent.has(runId)) return 'other';
  const before = known.asked.get(runId);
  if (grown !== undefined) return before === undefined ? 'none' : 'other';
  const asked = before ?? stored?.(runId) ?? Promise.resolve(undefined);
  known.asked.set(runId, asked);
  const events = await asked;
  if (events === undefined) return 'unknown';
  known.kept.events += before === undefined ? events.length : 0;
  return events.length === 0 ? 'none' : 'other';
}

/** Yields the events of a file, and then its balance. */
function* recordsOf(
  { options, parts, after, balance, place, hashes, grown, isAsked }: Survey,
  { source, file, reading, digests }: Request,
): Generator<InputRecord> {
  const { runId, format, items, changes, numbered, counts, facts } = after;
  reading.told({
    kind: 'run',
    source: source.name,
    run: {
      runId,
      format,
      items,
      changes: new Map(changes),
      numbered,
      inherited: [],
      events: { length: counts.events },
    },
  });
  if (isAsked)
    reading.recorded?.tookParts({
      path: source.path,
      bytes: file.size,
      sha256: digests.sha256,
      after,
      place,
      hashes,
      before: grown,
    });
  if (grown !== undefined) yield { line: 1, known: grown.events - grown.hashes.length / digits };
  for (const { known, ...part } of parts) {
    const events = part.events ?? eventsAgain(part, { file, source, options });
    for (const [index, event] of events.entries()) yield recordOf(known.has(index) ? null : event);
  }
  if (balance.leftOut.parts > 0) reading.told({ kind: 'left out', source: source.name, balance });
  const outcome = {
    runId,
    facts,
    lastTimestamp: after.lastTimestamp === '' ? undefined : after.lastTimestamp,
    observed: {},
    isKnown: (id: string) => grown?.balances.includes(id) === true,
  };
  yield* balanceEvents(balance, [outcome]).map(recordOf);
}

function eventsAgain(
  { from, bytes, sha256, ...part }: Omit<SurveyedPart, 'known'>,
  { file, source, options }: Pick<Request, 'file' | 'source'> & { readonly options: PartsOptions },
): readonly EventInput[] {
  const read = file.read(from, bytes);
  if (hash('sha256', read, 'hex') !== sha256) throw changed(source);
  return runOfPart(read, part, options).events;
}

const changed = ({ name }: InputSource): Error =>
  inputError(name, 'expected a file that only grows, got other bytes while it was read; push it again');

/** Bytes that are hashed at once. */
const blockBytes = 1024 * 1024;

/** The beginning of a file, to which more may be written meanwhile. */
class LinesOnDisk implements LinesFile {
  readonly size: number;
  readonly #file: number;

  constructor(file: number, size: number) {
    this.#file = file;
    this.size = size;
  }

  /** Undefined: it is no file of lines, cannot be opened, or is too short or too long. */
  static open(path: string, { isFound, until }: InputSource): LinesOnDisk | undefined {
    let file: number;
    try {
      file = isFound === true ? openFound(path) : openSync(path, 'r');
    } catch {
      return undefined; // reading it as a whole reports why
    }
    const stat = fstatSync(file);
    const size = Math.min(stat.size, until ?? Infinity);
    if (stat.isFile() && size >= limits.pushNotedBytes && size <= limits.importBytes)
      return new LinesOnDisk(file, size);
    closeSync(file);
    return undefined;
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Returns the beginning of the file as a file. */
  to(size: number): LinesFile {
    return { size, read: (from, bytes) => this.read(from, Math.min(bytes, size - from)) };
  }

  read(from: number, bytes: number): Buffer {
    const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(bytes, this.size - from)));
    let length = 0;
    while (length < buffer.length) {
      const read = readSync(this.#file, buffer, length, buffer.length - length, from + length);
      if (read === 0) break; // it was cut meanwhile: its hash differs
      length += read;
    }
    return buffer.subarray(0, length);
  }

  /** `marks`: lengths of beginnings of the file. Cost: once over the file. */
  digests(marks: readonly (number | undefined)[]): Digests {
    const digest = createHash('sha256');
    const at = new Map<number, Hash>();
    let from = 0;
    for (const mark of new Set(marks.filter((each) => each !== undefined).toSorted((a, b) => a - b))) {
      if (mark > this.size) break;
      this.#update(digest, from, mark);
      at.set(mark, digest.copy());
      from = mark;
    }
    this.#update(digest, from, this.size);
    return { sha256: digest.digest('hex'), at };
  }

  #update(digest: Hash, from: number, to: number): void {
    for (let at = from; at < to; at += blockBytes)
      digest.update(this.read(at, Math.min(blockBytes, to - at)));
  }
}

/** SHA-256 in hex of the first bytes of a file. */
const hexOf = ({ at }: Digests, bytes: number): string | undefined => at.get(bytes)?.copy().digest('hex');
