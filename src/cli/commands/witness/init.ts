/**
 * `gov witness init`: makes the directory and prints the verifier keys for planes and verifiers.
 * Tested by `test/docs/witness.test.ts`.
 */
import { shellWord } from '../../../core/shell-word.ts';
import type { Run } from '../../context/command.ts';
import { shortKey } from '../../terminal/keys.ts';
import { safe } from '../../terminal/safe.ts';
import type { witnessInit as spec } from '../../specs/operate/witness.ts';
import { plainView } from '../../terminal/view.ts';

export const run: Run<typeof spec> = async ({ flags, out }) => {
  const { data: dataDir, ...options } = flags;
  const { witnessInit } = await import('../../../host/witness/server.ts');
  const made = await witnessInit({ ...options, dataDir });
  if (!out.isHuman) return out.one(made, plainView(Object.keys(made)));
  const what = made.created ? 'made' : 'exists already, unchanged:';
  const [first = '', ...others] = made.verifierKeys;
  await out.lines([
    safe`${out.styles.green(what)} witness ${out.styles.bold(made.name)} in ${made.dataDir}`,
    safe`  address  http://${made.listen}`,
    safe`  key      ${first}`,
    ...others.map((key) => safe`  or       ${shortKey(key)} (ML-DSA-44; -o json shows it whole)`),
  ]);
  return out.note(
    safe`next: gov witness add-log --data ${shellWord(dataDir)}, then gov witness serve --data ${shellWord(dataDir)}`,
  );
};
