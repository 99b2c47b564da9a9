/**
 * Writes files of deliveries below one folder of the operator, whole or not at all, and never outside of it: names are
 * plain, and no folder on the way is a symbolic link. A file that exists is never replaced. A crash leaves a hidden
 * file `.NAME.….part`, which a later delivery of that name removes. Proven by `test/host/outbound/folder.test.ts`.
 */
import { constants, createReadStream } from 'node:fs';
import { link, lstat, mkdir, open, readdir, realpath, rename, rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import { isFileName } from '../../service/reports/deliveries/file-name.ts';
import type { Outbound, OutboundAnswer } from '../../service/hosting/outbound.ts';
import { syncDirectory } from '../../files/durable.ts';

/** Older parts are of a crash: no delivery takes this long. */
const partMs = 3_600_000;

/** `root`: an absolute path. */
export function fileSender(root: string): NonNullable<Outbound['file']> {
  return async (name, bytes) => {
    const startedAt = performance.now();
    const failed = await stored(root, name, bytes).catch((error: unknown) => failureOf(error));
    const answer = failed ?? { failed: null, isFinal: false };
    const durationMs = Math.round(performance.now() - startedAt);
    return { ok: failed === null, statusCode: null, retryAfterMs: null, durationMs, ...answer };
  };
}

type Failure = Pick<OutboundAnswer, 'failed' | 'isFinal'>;

/** Null once the file is durable under its name. */
async function stored(root: string, name: string, bytes: AsyncIterable<Uint8Array>): Promise<Failure | null> {
  if (!isFileName(name)) return refused('a plain name below the delivery folder');
  const parts = name.split('/');
  const folder = await folderOf(await realpath(root), parts.slice(0, -1));
  if (folder === null) return refused('folders, got a file or a symbolic link on the way');
  const path = join(folder, parts.at(-1) ?? '');
  await removeParts(path);
  const part = join(folder, `.${parts.at(-1) ?? ''}.${randomBytes(8).toString('hex')}.part`);
  try {
    await write(part, bytes);
    return await publish(part, path);
  } finally {
    await rm(part, { force: true });
  }
}

const refused = (expected: string): Failure => ({ failed: `expected ${expected}`, isFinal: true });

/** Creates the folders that are missing. Null where one of them is something else. */
async function folderOf(root: string, parts: readonly string[]): Promise<string | null> {
  let folder = root;
  for (const part of parts) {
    folder = join(folder, part);
    await mkdir(folder, { mode: 0o700 }).catch(ignore('EEXIST'));
    if (!(await lstat(folder)).isDirectory()) return null;
  }
  // the last look before the file is opened: somebody may have replaced a folder meanwhile
  return (await realpath(folder)) === folder ? folder : null;
}

async function write(part: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW } = constants;
  const file = await open(part, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600);
  try {
    for await (const chunk of bytes) {
      // a nearly full disk may write only a part
      for (let at = 0; at < chunk.length;) at += (await file.write(chunk, at)).bytesWritten;
    }
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Gives the part its name. A link fails where the name is taken; a rename would replace that file. */
async function publish(part: string, path: string): Promise<Failure | null> {
  try {
    await link(part, path);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EEXIST') return (await isSame(part, path)) ? null : taken;
    // a file system without links
    if (!['EPERM', 'ENOTSUP', 'ENOSYS', 'EMLINK'].includes(code)) throw error;
    if ((await lstat(path).catch(ignore('ENOENT'))) !== undefined)
      return (await isSame(part, path)) ? null : taken;
    await rename(part, path);
  }
  syncDirectory(dirname(path));
  return null;
}

const taken: Failure = {
  failed: 'another file has that name; give each delivery its own, such as {executionId}',
  isFinal: true,
};

/** Whether the file of an earlier attempt is there, whose success a crash did not let anybody record. */
async function isSame(part: string, path: string): Promise<boolean> {
  const found = await lstat(path);
  if (!found.isFile() || found.size !== (await lstat(part)).size) return false;
  const chunks = createReadStream(part)[Symbol.asyncIterator]();
  let rest = Buffer.alloc(0);
  for await (const piece of createReadStream(path) as AsyncIterable<Buffer>) {
    while (rest.length < piece.length) {
      const { value, done } = (await chunks.next()) as IteratorResult<Buffer>;
      if (done === true) return false;
      rest = Buffer.concat([rest, value]);
    }
    if (!rest.subarray(0, piece.length).equals(piece)) return false;
    rest = rest.subarray(piece.length);
  }
  return true;
}

async function removeParts(path: string): Promise<void> {
  const folder = dirname(path);
  const prefix = `.${path.slice(folder.length + 1)}.`;
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{16}\.part$/.test(name.slice(prefix.length))) continue;
    const found = await lstat(join(folder, name)).catch(ignore('ENOENT'));
    if (found !== undefined && Date.now() - found.mtimeMs > partMs)
      await rm(join(folder, name), { force: true });
  }
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : '';

const ignore =
  (code: string) =>
  (error: unknown): undefined => {
    if (codeOf(error) !== code) throw error;
  };

const troubles: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk of the delivery folder is full',
  EDQUOT: 'the quota of the delivery folder is used up',
  ENOENT: 'the delivery folder is missing',
  EACCES: 'the plane may not write to the delivery folder',
  EROFS: 'the delivery folder is read-only',
  ENAMETOOLONG: 'the name is too long for the file system',
};

/** An error of the file system passes: the operator can repair it. Errors of the source of the bytes are thrown on. */
function failureOf(error: unknown): Failure {
  const code = codeOf(error);
  if (code === '') throw error;
  return { failed: troubles[code] ?? `the file could not be written (${code})`, isFinal: false };
}
