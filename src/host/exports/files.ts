/**
 * Export artifacts as files: `<directory>/<projectId>/<exportId>.<name>`, readable by their owner only. The
 * writer uses a name that ends in `.part`, makes the file durable, and renames it. A crash leaves the part,
 * which the next attempt removes. Proven by `test/host/exports/artifacts.test.ts`.
 */
import { open, readdir, rename, rm, statfs, type FileHandle } from 'node:fs/promises';
import { constants, existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf } from '../../files/write-fault.ts';
import { makeFolder } from '../../files/make-folder.ts';
import { GovError } from '../../contract/problems.ts';
import {
  artifactLost,
  chunkBytes,
  type ArtifactOf,
  type Artifacts,
  type ArtifactWriter,
  type ByteRange,
} from '../../service/hosting/artifacts.ts';
import { isOutOfFiles, problemOf } from '../../store/file/faults.ts';
import { syncDirectory } from '../../files/durable.ts';

export function fileArtifacts(directory: string, randomBytes: (size: number) => Uint8Array): Artifacts {
  const folderOf = ({ projectId }: ArtifactOf): string => join(directory, projectId);
  const remove = async (of: ArtifactOf): Promise<void> => {
    const folder = folderOf(of);
    for (const name of await readdir(folder).catch(noneWhereAbsent)) {
      if (name.startsWith(`${of.exportId}.`)) await rm(join(folder, name), { force: true });
    }
  };
  return {
    // the directory does not exist before the first artifact
    freeBytes: async () => {
      const { bavail, bsize } = await statfs(existsSync(directory) ? directory : dirname(directory));
      return bavail * bsize;
    },
    remove,
    create: async (of) => {
      await remove(of);
      const folder = folderOf(of);
      const name = Buffer.from(randomBytes(8)).toString('hex');
      return writing(async () => {
        makeFolder(folder, 0o700);
        return new FileWriter(join(folder, `${of.exportId}.${name}`), name);
      });
    },
    read: (of, made, range) =>
      readFile(
        of,
        { path: join(folderOf(of), `${of.exportId}.${made.artifact}`), size: made.sizeBytes },
        range,
      ),
  };
}

class FileWriter implements ArtifactWriter {
  readonly #path: string;
  readonly #part: string;
  readonly #name: string;
  #file: FileHandle | null = null;

  constructor(path: string, name: string) {
    this.#path = path;
    this.#part = `${path}.part`;
    this.#name = name;
  }

  write(bytes: Uint8Array): Promise<void> {
    return writing(async () => {
      this.#file ??= await open(this.#part, 'wx', 0o600);
      // a nearly full disk may write only a part
      for (let at = 0; at < bytes.length;) at += (await this.#file.write(bytes, at)).bytesWritten;
      // otherwise a later sync of the log would wait for these bytes too
      await this.#file.datasync();
    });
  }

  finish(): Promise<string> {
    return writing(async () => {
      this.#file ??= await open(this.#part, 'wx', 0o600);
      await this.#file.sync();
      await this.#file.close();
      this.#file = null;
      await rename(this.#part, this.#path);
      syncDirectory(dirname(this.#path));
      syncDirectory(dirname(dirname(this.#path)));
      return this.#name;
    });
  }

  async abort(): Promise<void> {
    await this.#file?.close().catch(() => {});
    this.#file = null;
    await rm(this.#part, { force: true });
    await rm(this.#path, { force: true });
  }
}

async function* readFile(
  of: ArtifactOf,
  { path, size }: { readonly path: string; readonly size: number },
  { from, to }: ByteRange,
): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await openOwn(of, path);
  try {
    const found = await file.stat();
    if (!found.isFile() || found.size !== size) throw artifactLost(of);
    for (let at = from; at < to;) {
      const wanted = Math.min(chunkBytes, to - at);
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, at);
      if (bytesRead === 0) throw artifactLost(of);
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  } finally {
    await file.close();
  }
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Follows no link and does not block on a pipe, because an attacker may write into the folder. */
const openOwn = (of: ArtifactOf, path: string): Promise<FileHandle> =>
  open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((cause: unknown) => {
    throw isOutOfFiles(cause) ? problemOf('files', cause, 'read') : artifactLost(of, cause);
  });

const fullCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** STORAGE_FULL where the disk is full, STORAGE_FAULT where it is not writable. */
async function writing<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof GovError) throw cause;
    if (isOutOfFiles(cause)) throw problemOf('files', cause);
    const isFull = fullCodes.has(codeOf(cause));
    const detail = isFull
      ? 'the disk has no room for the artifact; free space, then create the export again'
      : 'expected to write the artifact, but the disk refused';
    throw new GovError(isFull ? 'STORAGE_FULL' : 'STORAGE_FAULT', detail, { cause });
  }
}

function noneWhereAbsent(error: unknown): string[] {
  if (codeOf(error) === 'ENOENT') return [];
  throw error;
}
