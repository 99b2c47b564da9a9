/**
 * `gov witness remove-log`: keeps the cosigned sizes, so that a log that is added again cannot start over.
 * Tested by `test/docs/witness.test.ts`.
 */
import type { Run } from '../../context/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { witnessRemoveLog as spec } from '../../specs/operate/witness.ts';
import { plainView } from '../../terminal/view.ts';
import { counted } from '../../terminal/numbers.ts';

export const run: Run<typeof spec> = async ({ args, flags, out }) => {
  const { removeLogKeys } = await import('../../../host/witness/server.ts');
  const removed = removeLogKeys(flags.data, args.vkey);
  if (!out.isHuman) return out.one({ removed }, plainView(['removed']));
  return out.note(safe`removed ${removed.length} of ${counted(args.vkey.length, 'key')}`);
};
