/**
 * The records of a log as a file, `*.goventries`: the whole log below a signed checkpoint, so that anybody derives its index.
 * Lines of text: first `{"checkpoint":…,"mediaType":"application/vnd.gov.entries.v1"}`, then each record as it stands in the
 * log. Records are one line each (RFC 8785). Proven by `test/core/evidence/entries-file.test.ts`.
 */
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { IndexDeriver, type FalseIndex, type Restart } from '../completeness/derive.ts';
import { canonicalize, parseJson } from '../json/parse.ts';
import { object, refuse, text, type Location } from '../json/shape.ts';
import { textLines } from '../json/text-lines.ts';
import { openTrustedCheckpoint, type Trust } from '../note/checkpoint.ts';
import type { DerivedLog } from '../proofs/strength.ts';

const entriesMediaType = 'application/vnd.gov.entries.v1';

/** The first line of the file for a signed note. */
export const entriesHead = (checkpoint: string): string =>
  `${canonicalize({ checkpoint, mediaType: entriesMediaType })}\n`;

const file: Location = { file: 'entries' };

/** The signed note in the first line. Throws VALIDATION_ERROR. Attacker controlled. */
function readEntriesHead(line: string): string {
  const head = object(parseJson(Buffer.from(line)), file, { required: ['checkpoint', 'mediaType'] });
  if (head['mediaType'] !== entriesMediaType)
    refuse({ up: file, name: 'mediaType' }, entriesMediaType, head['mediaType']);
  return text(head, 'checkpoint', file);
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

/** Yields the signed note of a file first, then its records in lists. Throws VALIDATION_ERROR. Attacker controlled. */
export async function* readEntries(
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<string | readonly string[], void, undefined> {
  let isOpen = false;
  for await (const lines of textLines(bytes, limits.recordBytes)) {
    const records = isOpen ? lines : lines.slice(1);
    if (!isOpen) yield readEntriesHead(lines[0] ?? '');
    isOpen = true;
    yield records;
  }
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
    if (typeof part === 'string') note = part;
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
