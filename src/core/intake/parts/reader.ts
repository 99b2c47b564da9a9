/**
 * Reads a long recording of lines part by part, in the memory of a part. All parts together are what the whole file gives:
 * the same events under the same ids, and the same balance. A part that cannot be read without the others, such as one with
 * a second result of an earlier call, is an error `WholeNeeded`: the caller reads the file as a whole.
 *
 * After each part there is a state, from which a file that has grown is read on. The last lines of a file, which those
 * that follow may change, are a part without a state (`isEnd`). Tested by `test/core/intake/parts/reader.test.ts`.
 */
import type { EventInput } from '../../../contract/events.ts';
import { isObject } from '../../json/object.ts';
import { plus } from '../../balance/statement.ts';
import { addBalances, balancePart } from './balance.ts';
import { factEvents } from '../facts.ts';
import type { Change } from '../fit.ts';
import { NameSet } from './names.ts';
import type { PartsPlace, PartsState } from './state.ts';
import { Places } from '../places.ts';
import { formatInParts, type DetectedFormat, type ImportOptions } from '../registry.ts';
import { isSource, textOf, type ImportedRun, type Source } from '../run.ts';
import { parsedLine } from '../source.ts';

/** A file of lines. It may grow, and what was read of it stays. */
export interface LinesFile {
  /** Bytes to read. */
  readonly size: number;
  /** Returns the bytes from a place, at most so many. */
  readonly read: (from: number, bytes: number) => Buffer;
}

export interface FilePart {
  readonly from: number;
  readonly bytes: Buffer;
  /** Before the part; undefined for the first one. */
  readonly before: PartsState | undefined;
  readonly run: ImportedRun;
  /** The recording up to the end of the part. */
  readonly after: PartsState;
  /** Its lines are the last ones: nothing can be read on from here. */
  readonly isEnd: boolean;
  readonly found: DetectedFormat;
}

/** The file has to be read as a whole. */
export class WholeNeeded extends Error {}

/** Bytes of a part, and the most that are read to find the end of one. */
const [partBytes, mostPartBytes] = [256 * 1024, 32 * 1024 * 1024];

export type PartsOptions = Omit<ImportOptions, 'refused' | 'saw' | 'skipped'>;

export class PartsReader {
  readonly #file: LinesFile;
  readonly #options: PartsOptions;
  readonly #partBytes: number;
  #names: NameSet;
  #state: PartsState | undefined;

  /** `from`: where an earlier reading of the same bytes ended. */
  constructor(
    file: LinesFile,
    options: PartsOptions,
    { from, bytes = partBytes }: { readonly from?: PartsPlace | undefined; readonly bytes?: number } = {},
  ) {
    this.#file = file;
    this.#options = options;
    this.#partBytes = bytes;
    this.#names = new NameSet(from?.names);
    this.#state = from?.state;
  }

  /** Where a grown file is read on; undefined before the first part with a state. Cost: once over the names. */
  get place(): PartsPlace | undefined {
    return this.#state === undefined ? undefined : { state: this.#state, names: String(this.#names) };
  }

  /** Yields the parts in order. Throws WholeNeeded. */
  *parts(): Generator<FilePart> {
    const { size } = this.#file;
    let from = this.#state?.bytes ?? 0;
    for (let wanted = this.#partBytes; from < size;) {
      const isLast = from + wanted >= size;
      const window = wholeLines(this.#file.read(from, wanted), isLast);
      const lines = linesOf(window, this.#state?.line ?? 1);
      const end = this.#endOf(lines);
      if (end === 0 && !isLast) {
        wanted *= 2;
        if (wanted > mostPartBytes) throw new WholeNeeded();
        continue;
      }
      wanted = this.#partBytes;
      const bytes = lines[end]?.start ?? window.length;
      if (end > 0) {
        const read = this.#read(lines.slice(0, end), {
          from,
          bytes: window.subarray(0, bytes),
          isEnd: false,
        });
        this.#names.endPart();
        this.#state = read.after;
        yield read;
        from += bytes;
      }
      if (!isLast) continue;
      if (end < lines.length)
        yield this.#read(
          lines.slice(end).map((each) => ({ ...each, start: each.start - bytes })),
          {
            from,
            bytes: window.subarray(bytes),
            isEnd: true,
          },
        );
      return;
    }
  }

  #endOf(lines: readonly FileLine[]): number {
    const values = lines.map(({ value }) => value);
    return formatInParts(values, this.#options)?.parts.end(values) ?? 0;
  }

  #read(
    lines: readonly FileLine[],
    { from, bytes, isEnd }: Pick<FilePart, 'from' | 'bytes' | 'isEnd'>,
  ): FilePart {
    const before = this.#state;
    const line = before?.line ?? 1;
    const values = lines.map(({ value }) => value);
    const { found, read } = readLines(lines, { options: this.#options, before, isEnd, names: this.#names });
    const balance = balancePart(bytes, { line, run: read.run });
    if (balance === undefined || !isApart(read.run.events, this.#names)) throw new WholeNeeded();
    const own: unknown = JSON.parse(JSON.stringify(read.state));
    const last = read.run.events.at(-1);
    if (!isObject(own)) throw new Error('expected a state that is an object');
    const after: PartsState = {
      bytes: from + bytes.length,
      line: line + newlinesIn(bytes),
      items: (before?.items ?? 0) + values.length,
      runId: read.run.runId,
      format: read.run.format,
      counts: read.counts,
      facts: plus(before?.facts ?? {}, factEvents(read.run.events)),
      lastTimestamp: last?.timestamp ?? before?.lastTimestamp ?? '',
      changes: addChanges(before?.changes ?? [], read.run.changes),
      numbered: [...(before?.numbered ?? []), ...read.run.numbered],
      balance: addBalances(before?.balance, balance),
      own,
    };
    return { from, bytes, before, run: read.run, after, isEnd, found };
  }
}

/** Whether a file may be read in parts, by its first line. */
export function mayBeInParts(head: Buffer, options: Pick<PartsOptions, 'format'>): boolean {
  try {
    const [first] = linesOf(head.subarray(0, head.indexOf(NEWLINE) + 1), 1);
    return first !== undefined && formatInParts([first.value], options) !== undefined;
  } catch (failure) {
    if (failure instanceof WholeNeeded) return false;
    throw failure;
  }
}

/** Reads the events of a part once more: `bytes` are those of the part. */
export function runOfPart(
  bytes: Buffer,
  { before, isEnd }: Pick<FilePart, 'before' | 'isEnd'>,
  options: PartsOptions,
): ImportedRun {
  const lines = linesOf(bytes, before?.line ?? 1);
  return readLines(lines, { options, before, isEnd, names: unchecked }).read.run;
}

const unchecked = { has: () => false, add: () => {} };

function readLines(
  lines: readonly FileLine[],
  {
    options,
    before,
    isEnd,
    names,
  }: {
    readonly options: PartsOptions;
    readonly before: PartsState | undefined;
    readonly isEnd: boolean;
    readonly names: { has(name: string): boolean; add(name: string): void };
  },
) {
  const values = lines.map(({ value }) => value);
  const found = formatInParts(values, options);
  if (found === undefined || (before !== undefined && before.format !== found.format.name))
    throw new WholeNeeded();
  const places = new Places({ value: values, line: before?.line ?? 1, lines: lines.map(({ line }) => line) });
  const context = {
    ...options,
    named: new Map<string, number>(),
    before: before?.counts,
    placeOf: (part: unknown) => places.of(part),
  };
  const read = found.parts.read(values, context, { state: before?.own, isLast: isEnd, names });
  if (read === undefined || read.run.mergeable.size > 0 || read.run.inherited.length > 0)
    throw new WholeNeeded();
  return { found, read };
}

/** Whether no earlier part has an event of these ids, a call of theirs, or a result of the same call. */
function isApart(events: readonly EventInput[], names: NameSet): boolean {
  for (const { eventType, clientEventId, metadata = {} } of events) {
    const call = textOf(metadata['sourceToolCallId']) ?? textOf(metadata['toolCallId']);
    const isOfCall = call !== undefined && (eventType === 'tool.call' || eventType === 'tool.result');
    const own = [`event ${clientEventId}`, ...(isOfCall ? [`${eventType} ${call}`] : [])];
    if (own.some((name) => names.has(name))) return false;
    for (const name of own) names.add(name);
  }
  return true;
}

interface FileLine {
  readonly value: Source;
  readonly line: number;
  /** Where it begins in its bytes. */
  readonly start: number;
}

const NEWLINE = 0x0a;

const wholeLines = (bytes: Buffer, isLast: boolean): Buffer =>
  isLast ? bytes : bytes.subarray(0, bytes.lastIndexOf(NEWLINE) + 1);

/** Returns the objects of lines. Throws WholeNeeded for a line that is none, and for bytes that are no UTF-8. */
function linesOf(bytes: Buffer, first: number): FileLine[] {
  const lines: FileLine[] = [];
  let line = first;
  for (let start = 0; start < bytes.length; line += 1) {
    const newline = bytes.indexOf(NEWLINE, start);
    const end = newline === -1 ? bytes.length : newline;
    const text = textIn(bytes.subarray(start, end));
    if (text.trim() !== '') {
      const read = parsedLine(text, line);
      if ('reason' in read || !isSource(read.value)) throw new WholeNeeded();
      lines.push({ value: read.value, line, start });
    }
    start = end + 1;
  }
  return lines;
}

function textIn(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new WholeNeeded();
  }
}
/** A byte order mark is no part of a line, so that the file is read as a whole. */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function newlinesIn(bytes: Buffer): number {
  let count = 0;
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) count += 1;
  return count;
}

function addChanges(
  before: PartsState['changes'],
  changes: ReadonlyMap<Change, number>,
): PartsState['changes'] {
  const sums = new Map(before);
  for (const [change, count] of changes) sums.set(change, (sums.get(change) ?? 0) + count);
  return [...sums];
}
