/**
 * A copy of the signed configuration in force, as a file (0600) next to the store. People read it and carry it
 * to other planes. The log and the store decide what is in force, not this file. The plane writes the copy
 * under a temporary name before the append and renames it after. After a crash in between, the hash of the file
 * shows whether the append happened. Proven by `test/plane/config/apply.test.ts`.
 */
import { readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SignedPlaneConfig } from '../../src/contract/plane-config.ts';
import { hashOfText } from '../../src/core/planes/config.ts';
import { parseJson, type JsonBounds } from '../../src/core/json/parse.ts';
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import { isOutOfFiles, problemOf } from '../../src/store/file/faults.ts';
import { syncDirectory } from '../../src/files/durable.ts';
import { replacePrivate } from '../../src/host/files/private.ts';

const bounds: JsonBounds = {
  depth: limits.planeConfigDepth,
  values: limits.planeConfigValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.stringBytes,
};

export class ConfigCopy {
  readonly #dataDir: string;
  /** Stamp and hash of the file when it was last hashed. */
  #known: { readonly stamp: string; readonly hash: string } | null = null;

  constructor(dataDir: string) {
    this.#dataDir = dataDir;
  }

  get path(): string {
    return join(this.#dataDir, 'config-bundle.json');
  }

  get #coming(): string {
    return join(this.#dataDir, 'config-bundle.coming.json');
  }

  /** Call it before the append. STORAGE_FULL, STORAGE_FAULT. */
  prepare(text: Uint8Array): void {
    try {
      replacePrivate(this.#coming, Buffer.from(text).toString());
    } catch (cause) {
      if (isOutOfFiles(cause)) throw problemOf('files', cause);
      const isFull = (cause as { code?: unknown }).code === 'ENOSPC';
      const detail =
        'expected to write a copy into the data directory, which is not writable; the configuration in force stays';
      throw new GovError(isFull ? 'STORAGE_FULL' : 'STORAGE_FAULT', detail, { cause });
    }
  }

  /** Call it after the append returned. */
  settle(): void {
    renameSync(this.#coming, this.path);
    syncDirectory(this.#dataDir);
  }

  /** Call it after the store rejected the append. */
  drop(): void {
    rmSync(this.#coming, { force: true });
  }

  /** Runs at startup. Renames the temporary file if its append happened before a crash, else deletes it. */
  recover(hash: string | null): void {
    const text = textAt(this.#coming);
    if (text === null) return;
    if (hash !== null && hashOfText(text) === hash) this.settle();
    else this.drop();
  }

  /** Whether the file has the text with this hash. Cost: one `stat` where the file did not change. */
  holds(hash: string): boolean {
    const found = statSync(this.path, { throwIfNoEntry: false, bigint: true });
    if (found === undefined) return false;
    const stamp = `${found.ino}.${found.mtimeNs}.${found.size}`;
    if (this.#known?.stamp !== stamp) {
      const text = textAt(this.path);
      if (text === null) return false;
      this.#known = { stamp, hash: hashOfText(text) };
    }
    return this.#known.hash === hash;
  }

  /** The text with this hash. Null where the file is missing or has another text. */
  read(hash: string): Buffer | null {
    return this.holds(hash) ? textAt(this.path) : null;
  }

  signed(hash: string): SignedPlaneConfig | null {
    const text = this.read(hash);
    // the text fitted the schema when the plane took it, and the hash is the same
    return text === null ? null : (parseJson(text, bounds) as unknown as SignedPlaneConfig);
  }
}

/**
 * Returns null where the file cannot be read, for any reason. Health reports it, and nothing depends on the
 * file.
 */
function textAt(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}
