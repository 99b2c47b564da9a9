/** Describes why a write failed. Tested by `test/cli/pipes.test.ts` and `test/cli/download/deliver.test.ts`. */

/** Returns the code of a system error; empty for other errors. */
export const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : '';

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EFBIG: 'the file would be too large for this system or user',
  ENOENT: 'the folder does not exist',
  ENOTDIR: 'a file blocks the path',
  EEXIST: 'a file blocks the path',
  EISDIR: 'a folder is there',
  ENAMETOOLONG: 'the name is too long',
  ELOOP: 'its links lead in a circle',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
};

/** Codes of a path that no user can make. ENOENT is not one: the missing file may be one of gov itself. */
const impossible: ReadonlySet<string> = new Set(['ENOTDIR', 'EISDIR', 'EEXIST', 'ENAMETOOLONG', 'ELOOP']);
export const isImpossible = (cause: unknown): boolean => impossible.has(codeOf(cause));

/** Returns words for the usual reasons, else the system's message. */
export const whyUnwritable = (cause: unknown): string =>
  reasons[codeOf(cause)] ?? (cause instanceof Error ? cause.message : String(cause));
