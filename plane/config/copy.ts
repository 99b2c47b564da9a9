/**
 * The signed text of the configuration in force, kept as a file (0600) beside the store, for people to look at and to
 * carry to another plane. What is in force does not depend on it: that is in the log and the store. It is written
 * before the append, under another name, and gets its own after it, so a crash between the two leaves a file whose hash
 * says whether it came to count. Proven by `test/plane/config/apply.test.ts`.
 */
import { readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { SignedPlaneConfig } from '../../src/contract/plane-config.ts';
import { hashOfText } from '../../src/core/plane/config.ts';
import { parseJson, type JsonBounds } from '../../src/core/json/parse.ts';
import { limits } from '../../src/contract/limits.ts';
import { GovError } from '../../src/contract/problems.ts';
import { replacePrivate, syncDirectory } from '../../src/host/data/files.ts';

const bounds: JsonBounds = {
  depth: limits.planeConfigDepth,
  values: limits.planeConfigValues,
  nameChars: limits.memberNameChars,
  stringBytes: limits.stringBytes,
};

export class ConfigCopy {
  readonly #dataDir: string;
  /** Of the file when it was hashed last. */
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

  /** Before the append. STORAGE_FULL, STORAGE_FAULT. */
  prepare(text: Uint8Array): void {
    try {
      replacePrivate(this.#coming, Buffer.from(text).toString());
    } catch (cause) {
      const isFull = (cause as { code?: unknown }).code === 'ENOSPC';
      const detail =
        'expected to keep a copy in the data directory, which cannot be written; what was in force stays';
      throw new GovError(isFull ? 'STORAGE_FULL' : 'STORAGE_FAULT', detail, { cause });
    }
  }

  /** The append returned. */
  settle(): void {
    renameSync(this.#coming, this.path);
    syncDirectory(this.#dataDir);
  }

  /** The append was refused. */
  drop(): void {
    rmSync(this.#coming, { force: true });
  }

  /** At the start: a text that came to count before a crash gets its name, another one goes. */
  recover(hash: string | null): void {
    const text = textAt(this.#coming);
    if (text === null) return;
    if (hash !== null && hashOfText(text) === hash) this.settle();
    else this.drop();
  }

  /** Whether the file holds the text with this hash. Cost: nothing where the file is as it was. */
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

  /** The text with this hash; null where the file is missing or holds something else. */
  read(hash: string): Buffer | null {
    return this.holds(hash) ? textAt(this.path) : null;
  }

  signed(hash: string): SignedPlaneConfig | null {
    const text = this.read(hash);
    // it fitted when it was taken, and has the hash that it had then
    return text === null ? null : (parseJson(text, bounds) as unknown as SignedPlaneConfig);
  }
}

/** Null where it cannot be read, for whatever reason: health says so, and nothing depends on it. */
function textAt(path: string): Buffer | null {
  try {
    return readFileSync(path);
  } catch {
    return null;
  }
}
