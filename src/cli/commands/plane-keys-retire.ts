/** `gov plane keys retire`, also of a plane that serves. */
import type { Run } from '../command.ts';
import { changedKeys } from '../keysoutput.ts';
import type { planeKeysRetire as spec } from '../specs/witness.ts';

export const run: Run<typeof spec> = async ({ flags, out, session }) => {
  const { retireKeys } = await import('../../../plane/rotate.ts');
  return changedKeys(out, await retireKeys(flags.data ?? session.dataDir()));
};
