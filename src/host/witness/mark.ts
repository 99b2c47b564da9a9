/**
 * The mark of a witness store: an empty file in `mark/` whose name is the total number of cosigned leaves in
 * all logs. The witness raises it after a checkpoint is durable and before the cosignature leaves. A kill in
 * between leaves the mark behind the store, which is harmless. A store behind its mark is an older copy. The
 * number is the file name, not its content: a restore of an older directory over this one keeps the newer
 * names. Proven by `test/host/witness/place.test.ts`.
 */
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolder } from '../../files/make-folder.ts';
import { GovError } from '../../contract/problems.ts';
import { writePrivate } from '../files/private.ts';

export interface WitnessMark {
  /** Number of cosigned leaves in the mark. */
  readonly leaves: bigint;
  /**
   * Raises the mark, and ignores a smaller number. Cost: one rename, which survives a kill of the process. The
   * rename is not synced. A power failure may leave an older mark, so that more copies pass the check.
   */
  raise(leaves: bigint): void;
}

/** Opens the mark in `directory`, or creates one with 0. */
export function openMark(directory: string): WitnessMark {
  makeMarkDirectory(directory);
  const names = readdirSync(directory).filter((name) => /^\d+$/.test(name));
  let leaves = names.map(BigInt).reduce((most, each) => (each > most ? each : most), 0n);
  const at = (name: bigint): string => join(directory, `${name}`);
  if (names.length === 0) writePrivate(at(leaves), '');
  return {
    get leaves() {
      return leaves;
    },
    raise(more) {
      if (more <= leaves) return;
      if (existsSync(at(leaves))) {
        renameSync(at(leaves), at(more));
      } else {
        makeMarkDirectory(directory); // the directory was removed
        writePrivate(at(more), '');
      }
      leaves = more;
    },
  };
}

function makeMarkDirectory(directory: string): void {
  const found = statSync(directory, { throwIfNoEntry: false });
  if (found !== undefined && !found.isDirectory()) {
    throw new GovError(
      'STORAGE_FAULT',
      `expected a directory at ${directory}, got something else; remove it`,
    );
  }
  makeFolder(directory, 0o700);
}

/**
 * CONFLICT where the store at `path` has fewer cosigned leaves than its mark. Such a store never becomes the
 * newest again.
 */
export function refuseForgotten(path: string, marked: bigint, leaves: bigint): void {
  if (leaves >= marked) return;
  const detail =
    `expected ${path} to know all ${marked} leaves that this witness cosigned, but it knows ${leaves}: it is an older ` +
    'copy, and would cosign a second history of the same log. Put the newest one back; where none is left, make a new ' +
    'witness under a new name with gov witness init';
  throw new GovError('CONFLICT', detail);
}
