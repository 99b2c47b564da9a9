/**
 * `gov witness add-log`: takes keys of logs from arguments, a trust file, or both.
 * Tested by `test/docs/witness.test.ts`.
 */
import { resolve } from 'node:path';
import { parseTrust } from '../../../core/note/trust.ts';
import type { Run } from '../../context/command.ts';
import { usage } from '../../program/exit.ts';
import { readText } from '../../program/flags.ts';
import { safe } from '../../terminal/safe.ts';
import type { witnessAddLog as spec } from '../../specs/operate/witness.ts';
import { plainView } from '../../terminal/view.ts';
import { counted } from '../../terminal/numbers.ts';

export const run: Run<typeof spec> = async ({ args, flags, out, io }) => {
  const ofFile = flags.trust === undefined ? [] : parseTrust(readText(flags.trust, io.cwd)).keys;
  const keys = [...(args.vkey ?? []), ...ofFile.map(({ text }) => text)];
  if (keys.length === 0) throw usage('expected verifier keys of a log, or --trust FILE', '');
  const { readFrom, keyFile } = flags;
  if ((readFrom === undefined) !== (keyFile === undefined))
    throw usage('--read-from and --key-file: expected both or none', '');
  const { addLogKeys, setLogSource } = await import('../../../host/witness/server.ts');
  const added = addLogKeys(flags.data, keys);
  if (readFrom !== undefined && keyFile !== undefined)
    setLogSource(flags.data, keys, { url: readFrom, keyFile: resolve(io.cwd, keyFile) });
  if (!out.isHuman)
    return out.one({ added, known: keys.length - added.length }, plainView(['added', 'known']));
  return out.note(safe`added ${added.length} of ${counted(keys.length, 'key')}`);
};
