/** `gov plane keys rotate`: of a plane that does not serve meanwhile. */
import type { Run } from '../command.ts';
import { changedKeys } from '../keysoutput.ts';
import type { planeKeysRotate as spec } from '../specs/witness.ts';

export const run: Run<typeof spec> = async ({ flags, out, session }) => {
  const { rotateKeys } = await import('../../../plane/rotate.ts');
  return changedKeys(out, await rotateKeys(flags.data ?? session.dataDir()));
};
