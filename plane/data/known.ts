/**
 * Reads signed checkpoints of a plane's logs that were kept outside its data directory. A source is a
 * checkpoint, JSON that contains one, or a kept `heads.db`. A usage report at the service contains
 * checkpoints of both logs. Proven by `test/plane/data/backup.test.ts`.
 */
import { GovError } from '../../src/contract/problems.ts';
import { openCheckpoint } from '../../src/core/note/checkpoint.ts';
import { parseVerifierKey, verifierKeyText, type VerifierKey } from '../../src/core/note/signed.ts';
import { headsIn } from '../../src/store/file/copies.ts';
import type { NamedHead } from '../../src/store/file/heads.ts';

/** The bytes of a source, and its path where the source is a file. The file may be a `heads.db`. */
export interface KnownSource {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly path?: string | undefined;
}

export interface OfferedHead {
  readonly from: string;
  readonly head: NamedHead;
}

interface Logs {
  readonly origins: readonly string[];
  /** Keys of the audit log. The same keys sign the metering log, with its own origin as key name. */
  readonly keys: readonly VerifierKey[];
}

/**
 * Returns at least one head of these logs from a source. VALIDATION_ERROR where the source has none,
 * INVALID_SIGNATURE where other keys signed one. An attacker may control a checkpoint, but not the operator's
 * `heads.db`.
 */
export function headsOf({ name, bytes, path }: KnownSource, logs: Logs): OfferedHead[] {
  if (path !== undefined && Buffer.from(bytes.subarray(0, 15)).toString('latin1') === 'SQLite format 3') {
    const heads = headsIn(path)?.filter(({ origin }) => logs.origins.includes(origin)) ?? [];
    if (heads.length > 0) return heads.map((head) => ({ from: name, head }));
    throw new GovError(
      'VALIDATION_ERROR',
      `${name}: expected a heads.db of this plane, got another database`,
    );
  }
  const notes = [...notesIn(Buffer.from(bytes).toString(), logs.origins)];
  if (notes.length > 0) return notes.map((note) => ({ from: name, head: headOf(note, logs) }));
  const expected = `expected a signed checkpoint of ${logs.origins.join(' or ')}, or a heads.db`;
  throw new GovError('VALIDATION_ERROR', `${name}: ${expected}, got something else`);
}

/**
 * Returns texts that begin as a checkpoint of these logs: the whole text, or any string in JSON or JSON
 * lines.
 */
function notesIn(text: string, origins: readonly string[]): ReadonlySet<string> {
  const isNote = (value: string): boolean => origins.some((origin) => value.startsWith(`${origin}\n`));
  if (isNote(text)) return new Set([text]);
  const notes = new Set<string>();
  const keep = (_name: string, value: unknown): unknown => {
    if (typeof value === 'string' && isNote(value)) notes.add(value);
    return value;
  };
  const read = (json: string): boolean => {
    try {
      JSON.parse(json, keep);
      return true;
    } catch {
      // This is not JSON, so it contains no checkpoint.
      return false;
    }
  };
  if (!read(text)) for (const line of text.split('\n')) read(line);
  return notes;
}

function headOf(note: string, { origins, keys }: Logs): NamedHead {
  const origin = origins.find((each) => note.startsWith(`${each}\n`)) ?? '';
  const named = keys.map(({ algorithm, publicKey }) =>
    parseVerifierKey(verifierKeyText(origin, algorithm, publicKey)),
  );
  const { size, root } = openCheckpoint(note, named, origin).checkpoint;
  return { origin, size, root: Buffer.from(root) };
}
