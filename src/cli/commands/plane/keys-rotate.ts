/** `gov plane keys rotate`, also of a plane that serves. */
import type { Run } from '../../program/command.ts';
import { changedKeys } from '../../terminal/keys.ts';
import type { planeKeysRotate as spec } from '../witness/spec.ts';

export const run: Run<typeof spec> = async ({ flags, out, session }) => {
  const { rotateKeys } = await import('../../../../plane/keys/rotate.ts');
  return changedKeys(out, await rotateKeys(flags.data ?? session.dataDir()));
};
