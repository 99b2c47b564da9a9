/**
 * Verifies what a target of kind s3 stored: for each project the chain of manifests, and each object that they name. Reads
 * some objects ahead and keeps none, so an archive may be of any size. Proven by `test/host/forwards/verify.test.ts`.
 */
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { limits } from '../../contract/limits.ts';
import { GovError } from '../../contract/problems.ts';
import { ManifestChain, nameOf, readManifest, type ChainHead } from '../../core/forwards/chain.ts';
import type { ForwardManifest } from '../../core/forwards/manifest.ts';
import { sha256Text } from '../../core/hash.ts';
import type { Archive } from './archive.ts';

const unzip = promisify(gunzip);

/** Where `gov forward test` writes: no chain. */
const testFolder = 'gov-forward-test';
const atOnce = 8;
const mostProblems = 20;

interface ChainReport {
  readonly projectId: string;
  /** Of the log; null without a manifest that could be read. */
  readonly origin: string | null;
  readonly manifests: number;
  readonly objects: number;
  readonly records: number;
  readonly bytes: number;
  /** Leaves [from, to). */
  readonly leaves: ForwardManifest['leaves'] | null;
  /** Hash of the last manifest of the chain. */
  readonly head: string | null;
  /** The first 20, in words. */
  readonly problems: readonly string[];
}

export interface ForwardReport {
  readonly ok: boolean;
  readonly chains: readonly ChainReport[];
  readonly problems: readonly string[];
}

export interface VerifyOptions {
  /** Origins of logs, each of which has to be there, and no other; empty: any. */
  readonly origins: readonly string[];
  /** Hashes of manifests that have to be in a chain, such as the head of an earlier verification. */
  readonly contains: readonly string[];
  readonly onProgress: (leaves: number) => void;
}

/** Errors: NOT_FOUND where no folder has manifests; those of the archive. */
export async function verifyForwarded(archive: Archive, options: VerifyOptions): Promise<ForwardReport> {
  const found = await archive.folders('');
  // the folder of one project, or one with a folder for each project
  const folders = found.includes('manifests') ? [''] : found.filter((each) => each !== testFolder);
  const wanted = new Set(options.contains);
  const chains: ChainReport[] = [];
  let done = 0;
  for (const folder of folders) {
    const report = await verifyChain(archive, folder, ({ hash, manifest: { leaves } }) => {
      wanted.delete(hash);
      done += leaves.to - leaves.from;
      options.onProgress(done);
    });
    if (report !== null) chains.push(report);
  }
  if (chains.length === 0)
    throw new GovError(
      'NOT_FOUND',
      'expected PROJECT/manifests or manifests with a manifest in this place, got none; give the prefix of the target',
    );
  const { origins } = options;
  const problems = [
    ...[...wanted].map((hash) => `no chain has the manifest ${hash}`),
    ...origins
      .filter((origin) => !chains.some((chain) => chain.origin === origin))
      .map((origin) => `no chain is of the log ${origin}`),
    ...chains
      .filter(({ origin }) => origins.length > 0 && (origin === null || !origins.includes(origin)))
      .map(({ origin, projectId }) => `${projectId}: expected one of the given logs, got ${origin}`),
  ];
  const ok = problems.length === 0 && chains.every((chain) => chain.problems.length === 0);
  return { ok, chains, problems };
}

/** What was read for one manifest. The chain judges `text`. */
interface LoadedManifest {
  readonly name: string;
  readonly text: string;
  readonly bytes: number;
  readonly problem: string | null;
}

async function verifyChain(
  archive: Archive,
  folder: string,
  onLink: (link: ChainHead) => void,
): Promise<ChainReport | null> {
  const at = (path: string): string => (folder === '' ? path : `${folder}/${path}`);
  const chain = new ManifestChain();
  const problems: string[] = [];
  const sum = { manifests: 0, objects: 0, records: 0, bytes: 0 };
  let from: number | null = null;
  for await (const { name, text, bytes, problem } of ahead(manifestNames(archive, at('manifests')), (each) =>
    load(archive, at, each),
  )) {
    try {
      const expected = manifestName(sum.manifests);
      if (name !== expected)
        throw new GovError('VALIDATION_ERROR', `expected ${expected} before it, got none`);
      const link = chain.add(text);
      const { manifest } = link;
      if (folder !== '' && manifest.projectId !== folder)
        throw new GovError(
          'VALIDATION_ERROR',
          `expected the project of its folder, got ${manifest.projectId}`,
        );
      from ??= manifest.leaves.from;
      sum.manifests++;
      sum.bytes += bytes;
      sum.objects += manifest.object === null ? 0 : 1;
      sum.records += manifest.object?.records ?? 0;
      onLink(link);
    } catch (error) {
      if (!(error instanceof GovError)) throw error;
      problems.push(`${name}: ${error.message}`);
      break; // what follows a broken link hangs on nothing
    }
    if (problem !== null && problems.push(`${name}: ${problem}`) === mostProblems) break;
  }
  if (sum.manifests === 0 && problems.length === 0) return null;
  const head = chain.head;
  const { projectId = folder, origin = null } = head?.manifest ?? {};
  const leaves = head === null || from === null ? null : { from, to: head.manifest.leaves.to };
  return { projectId, origin, ...sum, leaves, head: head?.hash ?? null, problems };
}

const manifestName = (sequence: number): string => `${String(sequence).padStart(10, '0')}.json`;

async function* manifestNames(archive: Archive, folder: string): AsyncGenerator<string> {
  for await (const name of archive.names(folder)) if (name.endsWith('.json')) yield name;
}

/** Reads a manifest and checks its object. The chain refuses a text that is no manifest. */
async function load(archive: Archive, at: (path: string) => string, name: string): Promise<LoadedManifest> {
  const loaded = (text: string, bytes: number, problem: string | null): LoadedManifest => ({
    name,
    text,
    bytes,
    problem,
  });
  let text = '';
  try {
    const bytes = await archive.read(at(`manifests/${name}`), limits.forwardManifestBytes);
    text = bytes?.toString('utf8') ?? '';
    const { object } = readManifest(text);
    if (object === null) return loaded(text, 0, null);
    const file = `records/${nameOf(object)}`;
    const stored = await archive.read(at(file), limits.forwardObjectBytes);
    const fault = stored === null ? 'expected the object, got none' : await objectFault(stored, object);
    return loaded(text, object.bytes, fault === null ? null : `${file}: ${fault}`);
  } catch (error) {
    if (error instanceof GovError && error.code !== 'FORBIDDEN') return loaded(text, 0, error.message);
    throw error;
  }
}

async function objectFault(
  stored: Buffer,
  { bytes, sha256, records }: NonNullable<ForwardManifest['object']>,
): Promise<string | null> {
  if (stored.length !== bytes) return `expected ${bytes} bytes, got ${stored.length}`;
  const hash = sha256Text(stored);
  if (hash !== sha256) return `expected ${sha256}, got ${hash}`;
  let lines: Buffer;
  try {
    lines = await unzip(stored, { maxOutputLength: limits.forwardLinesBytes });
  } catch (error) {
    return `expected gzipped lines, got ${error instanceof Error ? error.message : String(error)}`;
  }
  let found = 0;
  for (let end = lines.indexOf(10); end !== -1; end = lines.indexOf(10, end + 1)) found++;
  return found === records ? null : `expected ${records} records, got ${found}`;
}

/** Loads some items before they are asked for, and yields the results in the order of the items. */
async function* ahead<Item, Result>(
  items: AsyncIterable<Item>,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result, void, undefined> {
  const begun: Promise<Result>[] = [];
  for await (const item of items) {
    const started = work(item);
    started.catch(() => {}); // awaited below; until then a rejection is nobody's
    begun.push(started);
    if (begun.length === atOnce) yield await (begun.shift() as Promise<Result>);
  }
  for (const started of begun) yield await started;
}
