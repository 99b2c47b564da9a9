/**
 * Reads forwarded objects where they are stored: in a bucket of an S3-compatible store, or in a folder with a copy of it.
 * Names and bytes come from that store and may be anything. Proven by `test/host/forwards/verify.test.ts`.
 */
import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { GovError } from '../../contract/problems.ts';
import type { Bucket } from './bucket.ts';

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

/** `prefix` without slashes at its ends. */
export function bucketArchive(bucket: Bucket, prefix: string): Archive {
  const full = (path: string): string => [prefix, path].filter((each) => each !== '').join('/');
  const get = async (
    key: string,
    query: Readonly<Record<string, string>>,
    most: number,
  ): Promise<Buffer | null> => {
    for (const pauseMs of [...pausesMs, null]) {
      const got = await bucket.get(key, { query, most }).catch((cause: unknown) => {
        if (pauseMs === null) throw cause;
        return null;
      });
      if (got !== null && got.status < 500 && got.status !== 429) return bodyOf(got, key, most);
      if (pauseMs === null)
        return bodyOf(got ?? { status: 0, body: Buffer.alloc(0), isWhole: true }, key, most);
      await wait(pauseMs);
    }
    throw new Error('expected an attempt, got none');
  };
  const pages = async function* (folder: string): AsyncGenerator<string> {
    const below = full(folder) === '' ? '' : `${full(folder)}/`;
    for (let token: string | undefined; ;) {
      const more = token === undefined ? {} : { 'continuation-token': token };
      const page = await get('', { 'list-type': '2', prefix: below, ...more }, listBytes);
      if (page === null) throw new GovError('NOT_FOUND', 'expected a bucket, got none of this name');
      const text = page.toString('utf8');
      yield text;
      token = /<NextContinuationToken>([^<]*)</.exec(text)?.[1];
      if (token === undefined) return;
    }
  };
  return {
    // Not every store groups keys by a delimiter: after each page the rest of its last folder is skipped.
    folders: async (folder) => {
      const below = full(folder) === '' ? '' : `${full(folder)}/`;
      const found = new Set<string>();
      for (let after: string | undefined; ;) {
        const query = {
          'list-type': '2',
          prefix: below,
          ...(after === undefined ? {} : { 'start-after': after }),
        };
        const page = (await get('', query, listBytes))?.toString('utf8');
        if (page === undefined) throw new GovError('NOT_FOUND', 'expected a bucket, got none of this name');
        const names = [...page.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) =>
          key.slice(below.length).split('/'),
        );
        for (const [name = '', ...rest] of names) if (rest.length > 0) found.add(name);
        const last = names.at(-1)?.[0];
        if (!page.includes('<IsTruncated>true') || last === undefined) return [...found];
        after = `${below}${last}/~`;
      }
    },
    names: async function* (folder) {
      for await (const page of pages(folder))
        for (const [, key = ''] of page.matchAll(/<Key>([^<]*)<\/Key>/g))
          yield key.slice(key.lastIndexOf('/') + 1);
    },
    read: (path, most) => get(full(path), {}, most),
    close: () => bucket.close(),
  };
}

/** A page of a list has at most 1,000 keys of at most 1,024 bytes, with their owners and hashes. */
const listBytes = 8_000_000;

interface Got {
  readonly status: number;
  readonly body: Buffer;
  /** Whether the body ended within the bound. */
  readonly isWhole: boolean;
}

function bodyOf({ status, body, isWhole }: Got, key: string, most: number): Buffer | null {
  if (status === 404) return null;
  if (status === 200) {
    if (!isWhole) throw tooLarge(key, most);
    return body;
  }
  const line = body.toString('utf8', 0, 400).replaceAll(/\s+/g, ' ').trim();
  if (status === 401 || status === 403)
    throw new GovError('FORBIDDEN', `the object store answered ${status}: ${line}`);
  throw new Error(`the object store answered ${status}: ${line}`);
}
