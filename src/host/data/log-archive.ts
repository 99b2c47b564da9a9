/**
 * The archive of a log: the leaves that pruning removes from the store, unchanged. Gzip over lines of canonical JSON:
 *
 *   1      { mediaType, origin, projectId, from, to, before, root, checkpoint, consistency }
 *          leaves [from, to); `before`: the peaks of the tree of the first `from` leaves, largest subtree first;
 *          `root`: of the first `to` leaves; `checkpoint`: a signed note of at least `to` leaves, with the path to it
 *   2 …    { index, record, disclosures, erased }, in order, none missing
 *
 * A verifier needs only the archive and the keys of the log: records → leaf hashes → root → signed checkpoint, and
 * bodies → digests of records. The writer renames a finished draft, so a crash leaves a draft and never a part of an
 * archive. Proven by `test/host/data/prune.test.ts`.
 */
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, openSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { disclosuresMatch } from '../../core/events/bodies.ts';
import { openCheckpoint } from '../../core/note/checkpoint.ts';
import { hashText, parseHash } from '../../core/hash.ts';
import { canonicalize, canonicalText, type Json, readJson } from '../../core/json/parse.ts';
import { Frontier, leafHash, verifyConsistency } from '../../core/merkle/tree.ts';
import { parseVerifierKey } from '../../core/note/key.ts';
import { syncFile } from '../../store/file/paths.ts';
import { syncDirectory } from '../../files/durable.ts';
import { fitting, removeDrafts } from '../files/private.ts';

export const archiveMediaType = 'application/vnd.gov.archive.v1+ndjson';

/** A type, not an interface: it is JSON. */
export type ArchiveHead = {
  readonly mediaType: typeof archiveMediaType;
  readonly origin: string;
  readonly projectId: string;
  readonly from: number;
  readonly to: number;
  readonly before: readonly string[];
  readonly root: string;
  readonly checkpoint: string;
  readonly consistency: readonly string[];
};

export type ArchivedLeaf = {
  readonly index: number;
  readonly record: string;
  readonly disclosures: string | null;
  readonly erased: string | null;
};

/** The content of a file after all checks. */
export interface ArchiveSummary {
  readonly head: ArchiveHead;
  readonly leaves: number;
  /** Hash of the file. */
  readonly hash: string;
  readonly bytes: number;
}

/**
 * Writes a new file of mode 0600. CONFLICT where one exists, STORAGE_FULL. First removes the draft of a killed
 * process. A crash leaves a draft, which the next call removes.
 */
export async function writeArchive(
  path: string,
  head: ArchiveHead,
  leaves: AsyncIterable<ArchivedLeaf>,
): Promise<void> {
  if (existsSync(dirname(path))) removeDrafts(dirname(path), basename(path));
  if (existsSync(path)) {
    throw new GovError('CONFLICT', `expected ${path} to be new, but there is a file; give another --archive`);
  }
  const draft = `${path}.${process.pid}.tmp`;
  const lines = async function* (): AsyncGenerator<string> {
    yield `${canonicalText(head)}\n`;
    for await (const leaf of leaves) yield `${canonicalize({ ...leaf })}\n`;
  };
  try {
    await fitting({ what: 'the archive', path }, async () => {
      const file = createWriteStream('', { fd: openSync(draft, 'wx', 0o600) });
      await pipeline(Readable.from(lines()), createGzip(), file);
      syncFile(draft);
      renameSync(draft, path);
      syncDirectory(dirname(path));
    });
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

const broken = (path: string, expected: string, got: string): GovError =>
  new GovError('VALIDATION_ERROR', `archive ${path}: expected ${expected}, got ${got}`);

/**
 * Checks a whole file with the keys of the log. An attacker may control the file. VALIDATION_ERROR names what
 * does not match. Cost: reads the file once.
 */
export async function verifyArchive(path: string, verifierKeys: readonly string[]): Promise<ArchiveSummary> {
  const sum = createHash('sha256');
  let bytes = 0;
  const file = createReadStream(path);
  file.on('data', (chunk) => {
    sum.update(chunk);
    bytes += chunk.length;
  });
  let head: ArchiveHead | null = null as ArchiveHead | null;
  let frontier = new Frontier();
  try {
    await pipeline(file, createGunzip(), async (unpacked: AsyncIterable<Buffer>) => {
      for await (const line of linesOf(path, unpacked)) {
        if (head === null) {
          head = readHead(path, line);
          frontier = edgeOf(path, head);
        } else frontier.append(checkedLeaf(path, line, frontier.size));
      }
    });
  } catch (error) {
    if (error instanceof GovError) throw error;
    throw broken(path, 'gzip that is whole', error instanceof Error ? error.message : String(error));
  }
  if (head === null) throw broken(path, 'a first line', 'nothing');
  if (frontier.size !== head.to) throw broken(path, `leaves up to ${head.to}`, `up to ${frontier.size}`);
  const root = frontier.root();
  if (hashText(root) !== head.root) throw broken(path, `root ${head.root}`, hashText(root));
  checkSigned(path, { head, root, verifierKeys });
  return { head, leaves: head.to - head.from, hash: `sha256:${sum.digest('hex')}`, bytes };
}

/** A record and its body, both escaped once more. */
const lineBytes = 4 * limits.bodyBytes;

async function* linesOf(path: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    let from = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, from)) {
      yield Buffer.concat([rest, chunk.subarray(from, end)]).toString('utf8');
      rest = Buffer.alloc(0);
      from = end + 1;
    }
    rest = Buffer.concat([rest, chunk.subarray(from)]);
    if (rest.length > lineBytes) throw broken(path, `lines of at most ${lineBytes} bytes`, 'a longer one');
  }
  if (rest.length > 0) throw broken(path, 'a line break at the end', 'none');
}

const newline = 0x0a;

const hashBytesOf = (text: unknown): Buffer =>
  (typeof text === 'string' ? parseHash(text) : null) ?? Buffer.alloc(0);

function edgeOf(path: string, { from, before }: ArchiveHead): Frontier {
  try {
    return Frontier.from(from, before.map(hashBytesOf));
  } catch (error) {
    if (error instanceof RangeError)
      throw broken(path, `the peaks of a tree of ${from} leaves`, error.message);
    throw error;
  }
}

function readHead(path: string, line: string): ArchiveHead {
  const head = parsed(path, line) as unknown as ArchiveHead;
  const isOne =
    head.mediaType === archiveMediaType &&
    Number.isSafeInteger(head.from) &&
    Number.isSafeInteger(head.to) &&
    [head.before, head.consistency].every((list) => Array.isArray(list)) &&
    [head.origin, head.root, head.checkpoint].every((text) => typeof text === 'string');
  if (!isOne) throw broken(path, `a first line of ${archiveMediaType}`, line.slice(0, 64));
  return head;
}

/** Checks a line and returns the hash of its leaf. */
function checkedLeaf(path: string, line: string, index: number): Buffer {
  const leaf = parsed(path, line) as unknown as ArchivedLeaf;
  if (leaf.index !== index || typeof leaf.record !== 'string') {
    throw broken(path, `leaf ${index}`, line.slice(0, 64));
  }
  if (leaf.disclosures !== null && !disclosuresMatch(leaf.record, leaf.disclosures)) {
    throw broken(path, `the body that leaf ${index} committed to`, 'another one');
  }
  return leafHash(leaf.record);
}

function parsed(path: string, line: string): Json {
  try {
    return readJson(line);
  } catch {
    throw broken(path, 'a line of JSON', line.slice(0, 64));
  }
}

function checkSigned(
  path: string,
  { head, root, verifierKeys }: { head: ArchiveHead; root: Buffer; verifierKeys: readonly string[] },
): void {
  const { checkpoint } = openCheckpoint(head.checkpoint, verifierKeys.map(parseVerifierKey), head.origin);
  const consistent = verifyConsistency({
    first: head.to,
    second: checkpoint.size,
    firstRoot: root,
    secondRoot: checkpoint.root,
    path: head.consistency.map(hashBytesOf),
  });
  if (!consistent) throw broken(path, 'leaves that the signed checkpoint covers', 'others');
}
