/**
 * Whether the store of a witness is the one file that it was made as: a copy of it is another file, and an older copy
 * forgot what was cosigned since. A copy that was written into the same file is found by its mark (mark.ts). A
 * snapshot of the whole file system or machine that is put back is found out by nobody here.
 * Proven by `test/host/witness/place.test.ts`.
 */
import { statSync } from 'node:fs';
import { GovError } from '../../contract/problems.ts';

/** Tells a file from its copies: `<inode>.<time of its birth in ns>`, the latter 0 where the file system keeps none. */
export function placeOf(path: string): string {
  // an inode is given again once its file is gone, so a time of birth counts wherever there is one
  const { ino, birthtimeNs } = statSync(path, { bigint: true });
  return `${ino}.${birthtimeNs}`;
}

function isSame(one: string, other: string): boolean {
  const [[ino, born], [otherIno, otherBorn]] = [one.split('.'), other.split('.')];
  return ino === otherIno && (born === otherBorn || born === '0' || otherBorn === '0');
}

const again = 'make a new witness under a new name with gov witness init';

/** CONFLICT where the store at `path` is gone or empty, or has further names (hard links), as which another could serve it. */
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
 * CONFLICT where the store at `path` is not the file that it was made as, unless it was `moved` on purpose; `kept`: its
 * place, null where it has none, which was not made as the store of a witness.
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
