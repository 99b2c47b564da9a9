/**
 * The mark beside the store of a witness: an empty file in `mark/` whose name is the number of leaves that it cosigned,
 * of all logs together. It is raised once a checkpoint is durable and before its cosignature leaves, so a kill between the
 * two leaves it behind the store, which is well; a store behind its mark is an older copy. It is a name and no content
 * since whoever copies an older directory over the newer one leaves the names that the older one does not have.
 * Proven by `test/host/witness/place.test.ts`.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import { writePrivate } from '../data/files.ts';

export interface WitnessMark {
  /** Leaves that were cosigned, as it says. */
  readonly leaves: bigint;
  /**
   * Says from now on that there are so many; fewer than it says change nothing. Cost: one rename, which no kill of the
   * process takes back. It is not synced: a power failure may leave it behind, which only lets more copies pass.
   */
  raise(leaves: bigint): void;
}

/** Opens the mark in `directory`; where there is none, makes one that says 0. */
export function openMark(directory: string): WitnessMark {
  makeMarkDirectory(directory);
  const said = readdirSync(directory).filter((name) => /^\d+$/.test(name));
  let leaves = said.map(BigInt).reduce((most, each) => (each > most ? each : most), 0n);
  const at = (name: bigint): string => join(directory, `${name}`);
  if (said.length === 0) writePrivate(at(leaves), '');
  return {
    get leaves() {
      return leaves;
    },
    raise(more) {
      if (more <= leaves) return;
      if (existsSync(at(leaves))) {
        renameSync(at(leaves), at(more));
      } else {
        makeMarkDirectory(directory); // somebody removed it
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
  mkdirSync(directory, { recursive: true, mode: 0o700 });
}

/** CONFLICT where the store at `path` has cosigned fewer leaves than its mark says: nothing makes such a one the newest. */
export function refuseForgotten(path: string, marked: bigint, leaves: bigint): void {
  if (leaves >= marked) return;
  const detail =
    `expected ${path} to know all ${marked} leaves that this witness cosigned, but it knows ${leaves}: it is an older ` +
    'copy, and would cosign a second history of the same log. Put the newest one back; where none is left, make a new ' +
    'witness under a new name with gov witness init';
  throw new GovError('CONFLICT', detail);
}
