/**
 * `init` of a directory that exists changes nothing, and says so where a flag asks for something else: else the caller would
 * believe the flag. Proven by `test/plane/data/init.test.ts` and `test/host/service/init.test.ts`.
 */
import { GovError } from '../../contract/problems.ts';

export interface FixedSetting {
  readonly flag: string;
  /** Absent: the caller left the flag out. */
  readonly asked: string | undefined;
  /** The value of the file. */
  readonly is: string | null;
  /** What to do. Absent: to edit `member` of the file. */
  readonly remedy?: string;
  readonly member?: string;
}

/** CONFLICT for the first flag with another value than the file `path`. */
export function refuseOther(path: string, all: readonly FixedSetting[]): void {
  for (const { flag, asked, is, remedy, member } of all) {
    if (asked === undefined || asked === (is ?? 'none')) continue;
    throw new GovError(
      'CONFLICT',
      `expected ${flag} ${is ?? 'none'}, which ${path} has, got ${asked}; nothing was changed. ` +
        (remedy ?? `Set ${member ?? flag} in that file, then start the process again`),
    );
  }
}
