/** `gov witness init`: shows the verifier keys, which planes and verifiers are given. */
import type { Run } from '../command.ts';
import { shortKey } from '../keysoutput.ts';
import { safe } from '../safe.ts';
import type { witnessInit as spec } from '../specs/witness.ts';
import { plainView } from '../view.ts';

export const run: Run<typeof spec> = async ({ flags, out }) => {
  const { data: dataDir, ...options } = flags;
  const { witnessInit } = await import('../../host/witness.ts');
  const made = await witnessInit({ ...options, dataDir });
  if (!out.isHuman) return out.one(made, plainView(Object.keys(made)));
  const what = made.created ? 'made' : 'it is there already, nothing was changed:';
  const [first = '', ...others] = made.verifierKeys;
  await out.lines([
    safe`${out.styles.green(what)} witness ${out.styles.bold(made.name)} in ${made.dataDir}`,
    safe`  address  http://${made.listen}`,
    safe`  key      ${first}`,
    ...others.map((key) => safe`  or       ${shortKey(key)} (ML-DSA-44; -o json shows it whole)`),
  ]);
  return out.note(
    safe`next: gov witness add-log --data ${dataDir}, then gov witness serve --data ${dataDir}`,
  );
};
