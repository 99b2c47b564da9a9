/** `gov witness remove-log`: what was cosigned is kept, so that a log that comes back cannot begin anew. */
import type { Run } from '../../program/command.ts';
import { safe } from '../../terminal/safe.ts';
import type { witnessRemoveLog as spec } from './spec.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out }) => {
  const { removeLogKeys } = await import('../../../host/witness/server.ts');
  const removed = removeLogKeys(flags.data, args.vkey);
  if (!out.isHuman) return out.one({ removed }, plainView(['removed']));
  return out.note(safe`removed ${removed.length} of ${args.vkey.length} keys`);
};
