/** What `gov plane keys rotate` and `retire` show. */
import type { Out } from './out.ts';
import { safe } from './safe.ts';
import { plainView } from './view.ts';

interface Changed {
  readonly change: 'add' | 'retire';
  readonly keys: readonly string[];
  readonly leaf: number;
  readonly trustFile: string;
}

/** A key without its long public half. */
const short = (vkey: string): string => vkey.replace(/\+[^+]{40,}$/, (text) => `${text.slice(0, 12)}…`);

export async function changedKeys(out: Out, changed: Changed): Promise<void> {
  if (!out.isHuman) return out.one(changed, plainView(Object.keys(changed)));
  const { change, keys, leaf, trustFile } = changed;
  await out.lines([
    safe`${out.styles.green(change === 'add' ? 'added' : 'retired')} by leaf ${leaf}`,
    ...keys.map((key) => safe`  key    ${short(key)}`),
    safe`  trust  ${trustFile}`,
  ]);
  return out.note(
    change === 'add'
      ? safe`next: give the trust file to verifiers and the keys to witnesses; then gov plane keys retire`
      : safe`proofs of before are verified with the old keys, which the trust file still has`,
  );
}
