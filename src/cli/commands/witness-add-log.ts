/** `gov witness add-log`: keys of logs as arguments, out of a trust file, or both. */
import { parseTrust } from '../../core/trust.ts';
import type { Run } from '../command.ts';
import { usage } from '../exit.ts';
import { readText } from '../flags.ts';
import { safe } from '../safe.ts';
import type { witnessAddLog as spec } from '../specs/witness.ts';
import { plainView } from '../view.ts';

export const run: Run<typeof spec> = async ({ args, flags, out }) => {
  const ofFile = flags.trust === undefined ? [] : parseTrust(readText(flags.trust)).keys;
  const keys = [...(args.vkey ?? []), ...ofFile.map(({ text }) => text)];
  if (keys.length === 0) throw usage('expected verifier keys of a log, or --trust FILE', '');
  const { addLogKeys } = await import('../../host/witness.ts');
  const added = addLogKeys(flags.data, keys);
  if (!out.isHuman)
    return out.one({ added, known: keys.length - added.length }, plainView(['added', 'known']));
  return out.note(safe`${added.length} of ${keys.length} keys are new; they count from now on`);
};
