/**
 * The records of a log as a file, `*.goventries`: the whole log below a signed checkpoint, so that anybody derives its index.
 * Lines of text: first `{"checkpoint":…,"mediaType":"application/vnd.gov.entries.v1"}`, then each record as it stands in the
 * log. Records are one line each (RFC 8785). A file of the newer records alone, for an index witness that has derived the
 * others, also has `from`, the index of its first record, `since`, how many records the witness has cosigned, and
 * `consistency`, the RFC 9162 proof from that size to the checkpoint. A witness keeps its derivation at the size of an index
 * leaf, so the file begins `entriesOverlap` records before `since`. Proven by `test/core/evidence/entries-file.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { IndexDeriver, type FalseIndex, type Restart } from '../completeness/derive.ts';
import { decodeBase64, encodeBase64 } from '../json/base64.ts';
import { canonicalize, parseJson, type Json } from '../json/parse.ts';
import { count, list, object, refuse, text, type Location } from '../json/shape.ts';
import { textLines } from '../json/text-lines.ts';
import { hashBytes } from '../merkle/tree.ts';
import { openTrustedCheckpoint, type Trust } from '../note/checkpoint.ts';
import type { DerivedLog } from '../proofs/strength.ts';

const entriesMediaType = 'application/vnd.gov.entries.v1';

/** What the first line says. */
export interface EntriesHead {
  /** The signed note. */
  readonly checkpoint: string;
  /** The index of the first record; 0 in a file of the whole log. */
  readonly from: number;
  /** A tree that its reader has cosigned; 0 in a file of the whole log. */
  readonly since: number;
  /** From the tree of `since` leaves to that of the checkpoint; empty in a file of the whole log. */
  readonly consistency: readonly Buffer[];
}

/** The first line of the file. */
export function entriesHead({ checkpoint, from, since, consistency }: EntriesHead): string {
  const part = from === 0 ? {} : { from, since, consistency: consistency.map(encodeBase64) };
  return `${canonicalize({ checkpoint, mediaType: entriesMediaType, ...part })}\n`;
}

const file: Location = { file: 'entries' };

/** Reads the first line. Throws VALIDATION_ERROR. Attacker controlled. */
function readEntriesHead(line: string): EntriesHead {
  const head = object(parseJson(Buffer.from(line)), file, {
    required: ['checkpoint', 'mediaType'],
    optional: ['consistency', 'from', 'since'],
  });
  if (head['mediaType'] !== entriesMediaType)
    refuse({ up: file, name: 'mediaType' }, entriesMediaType, head['mediaType']);
  const checkpoint = text(head, 'checkpoint', file);
  if (head['from'] === undefined && head['since'] === undefined && head['consistency'] === undefined)
    return wholeLog(checkpoint);
  const consistency = list(head, 'consistency', file, { max: limits.witnessProofLines, read: nodeIn });
  const [from, since] = [count(head, 'from', file), count(head, 'since', file)];
  if (from === 0 || from > since) refuse({ up: file, name: 'from' }, `an integer from 1 to ${since}`, from);
  return { checkpoint, from, since, consistency };
}

/** The head of a file of the whole log. */
export const wholeLog = (checkpoint: string): EntriesHead => ({
  checkpoint,
  from: 0,
  since: 0,
  consistency: [],
});

function nodeIn(value: Json, at: Location): Buffer {
  const hash = typeof value === 'string' ? decodeBase64(value) : null;
  return hash?.length === hashBytes ? hash : refuse(at, 'a hash of 32 bytes in base64', value);
}

/** A log that was derived from a file. */
interface DerivedFile extends DerivedLog {
  readonly fault: FalseIndex | null;
}

/**
 * Derives the index of the log in a file. `read` returns its bytes, and may be called again. Throws VALIDATION_ERROR, and
 * NoteError, unless the records are those of a checkpoint that a trusted key signed. Attacker controlled. Cost: 12 µs a
 * record.
 */
export async function deriveEntries(
  read: () => AsyncIterable<Uint8Array>,
  trust: Trust,
): Promise<DerivedFile> {
  let restart: Restart | undefined;
  for (let attempt = 0; attempt <= limits.indexRootsKept; attempt++) {
    const deriver = new IndexDeriver(restart === undefined ? {} : { restart });
    const indexes = await take(deriver, read(), trust);
    if (deriver.restart === null) return derived(deriver, indexes);
    restart = deriver.restart;
  }
  throw new GovError('VALIDATION_ERROR', 'entries: the sizes of the index leaves go back too often');
}

/** Yields the head of a file first, then its records in lists. Throws VALIDATION_ERROR. Attacker controlled. */
export async function* readEntries(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<EntriesHead | readonly string[], void, undefined> {
  let isOpen = false;
  for await (const lines of textLines(bytes, limits.recordBytes)) {
    const records = isOpen ? lines : lines.slice(1);
    if (!isOpen) yield readEntriesHead(lines[0] ?? '');
    isOpen = true;
    yield records;
  }
}

export const isRecords = (part: EntriesHead | readonly string[]): part is readonly string[] =>
  Array.isArray(part);

function wholeNote({ checkpoint, from }: EntriesHead): string {
  if (from === 0) return checkpoint;
  throw new GovError(
    'VALIDATION_ERROR',
    `entries: expected every record of the log, got those from ${from} on; make a file with gov log entries without --since`,
  );
}

/** Returns the index leaves. */
async function take(
  deriver: IndexDeriver,
  bytes: AsyncIterable<Uint8Array>,
  trust: Trust,
): Promise<ReadonlyMap<number, string>> {
  const indexes = new Map<number, string>();
  let note: string | null = null;
  for await (const part of readEntries(bytes)) {
    if (!isRecords(part)) note = wholeNote(part);
    else
      for (const line of part) {
        if (line.endsWith('"type":"gov.index/1"}')) indexes.set(deriver.size, line);
        deriver.add(line);
      }
  }
  deriver.settle();
  const { size, root } = openTrustedCheckpoint(note ?? '', trust).checkpoint;
  if (deriver.size === size && deriver.root().equals(root)) return indexes;
  throw new GovError(
    'VALIDATION_ERROR',
    `entries: expected the ${size} records of the checkpoint, got ${deriver.size} records with another root`,
  );
}

function derived(deriver: IndexDeriver, indexes: ReadonlyMap<number, string>): DerivedFile {
  const { fault, unknown, size: records } = deriver;
  return {
    records,
    fault,
    judge: (index, record) => {
      if (unknown !== null || indexes.get(index) !== record) return 'unknown';
      if (fault === null) return 'right';
      return index >= fault.index ? 'false' : 'unknown';
    },
  };
}
