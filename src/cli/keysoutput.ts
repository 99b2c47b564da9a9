/** How keys of logs are shown, and what `gov plane keys rotate` and `retire` show. */
import type { Out } from './out.ts';
import { safe } from './safe.ts';
import { plainView } from './view.ts';

interface Changed {
  readonly change: 'add' | 'retire';
  readonly keys: readonly string[];
  readonly leaf: number;
  readonly trustFile: string;
}

/** A verifier key without most of its public half: enough to tell it from others. */
export const shortKey = (vkey: string): string =>
  vkey.replace(/^([^+]*\+[^+]*\+.{8}).*$/s, (_, start: string) => `${start}…`);

export async function changedKeys(out: Out, changed: Changed): Promise<void> {
  if (!out.isHuman) return out.one(changed, plainView(Object.keys(changed)));
  const { change, keys, leaf, trustFile } = changed;
  await out.lines([
    safe`${out.styles.green(change === 'add' ? 'added' : 'retired')} by leaf ${leaf}`,
    ...keys.map((key) => safe`  key    ${shortKey(key)}`),
    safe`  trust  ${trustFile}`,
  ]);
  return out.note(
    change === 'add'
      ? safe`next: give the trust file to verifiers and the keys to witnesses; then gov plane keys retire`
      : safe`proofs of before are verified with the old keys, which the trust file still has`,
  );
}
