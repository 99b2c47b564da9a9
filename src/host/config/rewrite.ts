/**
 * Changes members of a configuration file, `plane.json` or `service.json`. A crash leaves the old file or the new one.
 * Members that only later releases know stay. Proven by `test/cli/context/plane-directory.test.ts`.
 */
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { GovError } from '../../contract/problems.ts';
import { editedText } from '../../core/text.ts';
import { syncDirectory } from '../../files/durable.ts';
import { writePrivate } from '../files/private.ts';

/** `undefined` removes a member. `check` reads the new file before it replaces the old one, and throws where it is wrong. */
export function rewriteMembers(
  path: string,
  members: Readonly<Record<string, unknown>>,
  check: (fresh: string) => unknown,
): void {
  const before: unknown = JSON.parse(editedText(readFileSync(path, 'utf8')));
  const fresh = `${path}.${process.pid}.tmp`;
  rmSync(fresh, { force: true });
  writePrivate(fresh, `${JSON.stringify({ ...Object(before), ...members }, null, 2)}\n`);
  try {
    check(fresh);
    renameSync(fresh, path);
  } catch (error) {
    rmSync(fresh, { force: true });
    if (!(error instanceof GovError)) throw error;
    // the draft is gone: the message is about the file that the caller knows
    throw new GovError(error.code, error.message.replaceAll(fresh, path), { cause: error });
  }
  syncDirectory(dirname(path));
}
