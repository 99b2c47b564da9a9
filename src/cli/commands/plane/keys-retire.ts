/** `gov plane keys retire`, also of a plane that serves. */
import type { Run } from '../../program/command.ts';
import { changedKeys } from '../../terminal/keys.ts';
import type { planeKeysRetire as spec } from '../witness/spec.ts';

export const run: Run<typeof spec> = async ({ flags, out, session }) => {
  const { retireKeys } = await import('../../../../plane/keys/rotate.ts');
  return changedKeys(out, await retireKeys(flags.data ?? session.dataDir()));
};
