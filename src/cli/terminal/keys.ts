/**
 * Prints the keys of logs, and the result of `gov plane keys rotate` and `retire`.
 * Tested by `test/cli/commands/plane/keys.test.ts`.
 */
import type { Out } from './out.ts';
import { safe } from './safe.ts';
import { plainView } from './view.ts';

interface KeyChange {
  readonly change: 'add' | 'retire';
  readonly keys: readonly string[];
  readonly leaf: number;
  readonly inForce: readonly string[];
  readonly retired: readonly string[];
  readonly trustFile: string;
  readonly warning: string | null;
}

/** A verifier key without most of its public half: enough to tell keys apart. */
export const shortKey = (vkey: string): string =>
  vkey.replace(/^([^+]*\+[^+]*\+.{8}).*$/s, (_, start: string) => `${start}…`);

/** Name and key id, as a signature refers to its key (C2SP signed-note). */
const keyName = (vkey: string): string => vkey.split('+', 2).join('+');

const withNamedKeys = (changed: KeyChange): KeyChange => ({
  ...changed,
  keys: changed.keys.map(keyName),
  inForce: changed.inForce.map(keyName),
  retired: changed.retired.map(keyName),
});

export async function changedKeys(out: Out, changed: KeyChange): Promise<void> {
  if (changed.warning !== null) await out.warn(safe`${changed.warning}`);
  const view = plainView(Object.keys(changed));
  // a post-quantum key has 2.6 KB; the trust file and -o json have the whole key
  if (out.format === 'tsv') return out.one(withNamedKeys(changed), view);
  if (!out.isHuman) return out.one(changed, view);
  const { change, keys, leaf, trustFile } = changed;
  await out.lines([
    safe`${out.styles.green(change === 'add' ? 'added' : 'retired')} by leaf ${leaf}`,
    ...keys.map((key) => safe`  key    ${shortKey(key)}`),
    safe`  trust  ${trustFile}`,
  ]);
  return out.note(
    change === 'add'
      ? safe`next: give the trust file to verifiers and the keys to witnesses; then gov plane keys retire`
      : safe`the old keys, which the trust file still has, verify earlier proofs`,
  );
}
