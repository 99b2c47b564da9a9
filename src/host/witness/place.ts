/**
 * The check that a witness store is its original file. A copy is another file, and an older copy lacks later
 * cosignatures. The mark (mark.ts) detects a copy that was written into the same file. Nothing here detects a
 * restored snapshot of a whole file system or machine. Proven by `test/host/witness/place.test.ts`.
 */
import { statSync } from 'node:fs';
import { GovError } from '../../contract/problems.ts';

/** Identifies a file: `<inode>.<birth time in ns>`. The time is 0 where the file system has none. */
export function placeOf(path: string): string {
  // an inode is reused after its file is gone, so the birth time counts where it exists
  const { ino, birthtimeNs } = statSync(path, { bigint: true });
  return `${ino}.${birthtimeNs}`;
}

function isSame(one: string, other: string): boolean {
  const [[ino, born], [otherIno, otherBorn]] = [one.split('.'), other.split('.')];
  return ino === otherIno && (born === otherBorn || born === '0' || otherBorn === '0');
}

const again = 'make a new witness under a new name with gov witness init';

/**
 * CONFLICT where the store at `path` is missing, empty, or has hard links, by which another witness could serve
 * it.
 */
export function refuseLostOrLinked(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.size === 0) throw lost(path);
  if (found.nlink === 1) return;
  const detail =
    `expected ${path} to be the only name of its file, got ${found.nlink} names (hard links): two witnesses on one ` +
    `store spoil it, and each would cosign a history of its own. Remove the others: find them with find -samefile ${path}`;
  throw new GovError('CONFLICT', detail);
}

const lost = (path: string): GovError =>
  new GovError(
    'CONFLICT',
    `expected ${path} as gov witness init made it, but it was lost, and with it what was cosigned: an empty one would ` +
      `cosign a second history of the same log. Put the newest one back; where none is left, ${again}`,
  );

/**
 * CONFLICT where the store at `path` is not its original file, unless the operator `moved` it. `kept`: its
 * stored identity, null where the file was not created as a witness store.
 */
export function refuseCopy(path: string, kept: string | null, moved: boolean): void {
  if (kept === null) throw lost(path);
  if (moved || isSame(kept, placeOf(path))) return;
  const detail =
    `expected ${path} to be the file that this witness was made with, but it is a copy of it: an older copy would ` +
    'cosign a second history of the same log. Where this is the newest one, which was moved, and no other is served: ' +
    `gov witness serve --moved; else put the newest one back, or, where none is left, ${again}`;
  throw new GovError('CONFLICT', detail);
}
