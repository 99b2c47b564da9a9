/** `gov plane keys rotate`: also while the plane serves. Tested by `test/cli/commands/plane/keys.test.ts`. */
import type { Run } from '../../context/command.ts';
import { changedKeys } from '../../terminal/keys.ts';
import type { planeKeysRotate as spec } from '../../specs/operate/plane.ts';

export const run: Run<typeof spec> = async ({ flags, out, session }) => {
  const { rotateKeys } = await import('../../../../plane/keys/rotate.ts');
  return changedKeys(out, await rotateKeys(flags.data ?? session.dataDir()));
};
