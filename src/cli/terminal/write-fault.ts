/** Why something could not be written, in words. `test/cli/pipes.test.ts` and `test/cli/download/deliver.test.ts`. */

/** The code of an error of the system; empty where it has none. */
export const codeOf = (cause: unknown): string =>
  cause instanceof Error && 'code' in cause ? String(cause.code) : '';

const reasons: Readonly<Record<string, string>> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is spent',
  EFBIG: 'the file would be too large for this system or user',
  ENOENT: 'there is no such folder',
  ENOTDIR: 'a file is in its way',
  EEXIST: 'a file is in its way',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
};

/** In words where it is one of the usual reasons, else what the system says. */
export const whyUnwritable = (cause: unknown): string =>
  reasons[codeOf(cause)] ?? (cause instanceof Error ? cause.message : String(cause));
