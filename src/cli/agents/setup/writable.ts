/** Who can write a file: its folders count too. Tested by `test/cli/agents/gemini.test.ts`. */
import { statSync } from 'node:fs';
import { dirname } from 'node:path';

/** The file or the first folder above it that others than root can write; null: root alone can write all of them. */
export function writableByOthers(path: string): string | null {
  for (let at = path; ; at = dirname(at)) {
    const { uid, mode } = statSync(at, { throwIfNoEntry: false }) ?? { uid: 0, mode: 0 };
    if (uid !== 0 || (mode & 0o022) !== 0) return at;
    if (dirname(at) === at) return null;
  }
}
