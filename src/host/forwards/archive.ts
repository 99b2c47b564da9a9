/**
 * Reads forwarded objects where they are stored: in a bucket of an S3-compatible store, or in a folder with a copy of it.
 * Names and bytes come from that store and may be anything. Proven by
 * `test/host/forwards/verify.test.ts` and `test/host/forwards/archive.test.ts`.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { GovError } from '../../contract/problems.ts';
import type { Bucket } from './bucket.ts';
import { errorText, readPage } from './store-xml.ts';
import { reasonOf } from './transport.ts';

export interface Archive {
  /** Folders below a folder, by name. `''` is the whole archive. */
  readonly folders: (folder: string) => Promise<readonly string[]>;
  /** Names of files in a folder, in the order of their bytes. */
  readonly names: (folder: string) => AsyncIterable<string>;
  /** Null where there is no such file. PAYLOAD_TOO_LARGE where it has more than `most` bytes. */
  readonly read: (path: string, most: number) => Promise<Buffer | null>;
  readonly close: () => void;
}

/** Errors: NOT_FOUND where there is no such folder. */
export function folderArchive(path: string): Archive {
  if (!existsSync(path)) throw new GovError('NOT_FOUND', `expected a folder at ${path}, got none`);
  const entries = async (folder: string, kind: 'isFile' | 'isDirectory'): Promise<string[]> => {
    const found = await readdir(join(path, folder), { withFileTypes: true }).catch(absent);
    return (found ?? [])
      .filter((entry) => entry[kind]())
      .map(({ name }) => name)
      .sort();
  };
  return {
    folders: (folder) => entries(folder, 'isDirectory'),
    names: async function* (folder) {
      yield* await entries(folder, 'isFile');
    },
    read: async (file, most) => {
      const size = (await stat(join(path, file)).catch(absent))?.size;
      if (size === undefined) return null;
      if (size > most) throw tooLarge(file, most);
      return readFile(join(path, file));
    },
    close: () => {},
  };
}

function absent(cause: unknown): null {
  if (cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR'))
    return null;
  throw cause;
}

const tooLarge = (path: string, most: number): GovError =>
  new GovError('PAYLOAD_TOO_LARGE', `expected at most ${most} bytes in ${path}, got more`);

/** Pauses before the second and third attempt: a long verification meets a busy store. */
const pausesMs = [500, 3000];

/** `prefix` without slashes at its ends. `signal` ends a request and a pause. */
export function bucketArchive(bucket: Bucket, prefix: string, signal?: AbortSignal): Archive {
  const full = (path: string): string => [prefix, path].filter((each) => each !== '').join('/');
  const get = async (
    key: string,
    query: Readonly<Record<string, string>>,
    most: number,
  ): Promise<Buffer | null> => {
    for (const pauseMs of [...pausesMs, null]) {
      const got = await bucket.get(key, { query, most, signal }).catch((cause: unknown) => {
        if (pauseMs !== null) return null;
        throw new Error(`could not read from ${bucket.address}: ${reasonOf(cause)}`, { cause });
      });
      if (got !== null && (pauseMs === null || (got.status < 500 && got.status !== 429)))
        return bodyOf(got, key, most);
      await wait(pauseMs ?? 0, undefined, { signal });
    }
    throw new Error('expected an attempt, got none');
  };
  /** Keys after one. `start-after` is in each store that has lists of version 2, and shows no state of the store. */
  const page = async (below: string, after: string) => {
    const more = after === '' ? {} : { 'start-after': after };
    const answer = await get('', { 'list-type': '2', prefix: below, ...more }, listBytes);
    if (answer === null) throw new GovError('NOT_FOUND', 'expected a bucket, got none of this name');
    const found = readPage(answer.toString('utf8'));
    if (found === null)
      throw new Error(`expected a list of objects from ${bucket.address}, got another text`);
    const last = found.keys.at(-1);
    // a store that ignores the parameter would be read forever
    if (last !== undefined && Buffer.compare(Buffer.from(last), Buffer.from(after)) <= 0)
      throw new Error(`expected keys after ${after} from ${bucket.address}, got ${last}`);
    return { ...found, last: found.isTruncated ? last : undefined };
  };
  const belowOf = (folder: string): string => (full(folder) === '' ? '' : `${full(folder)}/`);
  return {
    // Not every store groups keys by a delimiter: after each page the rest of its last folder is skipped.
    folders: async (folder) => {
      const below = belowOf(folder);
      const found = new Set<string>();
      for (let after: string | undefined = ''; after !== undefined;) {
        const { keys, last } = await page(below, after);
        for (const key of keys) {
          const end = key.indexOf('/', below.length);
          if (end !== -1) found.add(key.slice(below.length, end));
        }
        const end = last?.indexOf('/', below.length) ?? -1;
        // 0 is the character after the slash
        after = end === -1 ? last : `${last?.slice(0, end)}0`;
      }
      return [...found];
    },
    names: async function* (folder) {
      const below = belowOf(folder);
      for (let after: string | undefined = ''; after !== undefined;) {
        const { keys, last }: { keys: readonly string[]; last: string | undefined } = await page(
          below,
          after,
        );
        yield* keys.map((key) => key.slice(below.length)).filter((name) => !name.includes('/'));
        after = last;
      }
    },
    read: (path, most) => get(full(path), {}, most),
    close: () => bucket.close(),
  };
}

/** A page of a list has at most 1,000 keys of at most 1,024 bytes, with their owners and hashes. */
const listBytes = 8_000_000;

interface StoreAnswer {
  readonly status: number;
  readonly body: Buffer;
  /** Whether the body ended within the bound. */
  readonly isWhole: boolean;
}

function bodyOf({ status, body, isWhole }: StoreAnswer, key: string, most: number): Buffer | null {
  if (status === 404) return null;
  if (status === 200) {
    if (!isWhole) throw tooLarge(key, most);
    return body;
  }
  const said = `the object store answered ${status}: ${errorText(body.toString('utf8'))}`;
  if (status === 401 || status === 403) throw new GovError('FORBIDDEN', said);
  throw new Error(said);
}
