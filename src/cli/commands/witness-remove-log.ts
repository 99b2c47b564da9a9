/** `gov witness remove-log`: what was cosigned is kept, so that a log that comes back cannot begin anew. */
import type { Run } from '../command.ts';
import { safe } from '../safe.ts';
import type { witnessRemoveLog as spec } from '../specs/witness.ts';
import { plainView } from '../view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out }) => {
  const { removeLogKeys } = await import('../../host/witness.ts');
  const removed = removeLogKeys(flags.data, args.vkey);
  if (!out.isHuman) return out.one({ removed }, plainView(['removed']));
  return out.note(safe`removed ${removed.length} of ${args.vkey.length} keys`);
};
