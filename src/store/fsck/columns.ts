/**
 * `fsck`: compares the columns of a row with values from leaves, and reports only the different ones.
 * Proven by `test/store/fsck/tamper-governed.test.ts`.
 */
import type { Check } from './check.ts';
import type { FsckKind } from './check.ts';

/** By name of the column. A column whose value the leaves do not give, or no longer give, is absent. */
export type Columns = Readonly<Record<string, string | number | null>>;

/** Compares a row, or undefined if it is missing, with the logged values. */
export function columnCheck({ problem }: Pick<Check, 'problem'>, kind: FsckKind) {
  return (position: string, row: Columns | undefined, logged: Columns): void => {
    const names = Object.keys(logged).filter((name) => row === undefined || row[name] !== logged[name]);
    if (names.length === 0) return;
    const text = (of: Columns): string => names.map((name) => `${name} ${of[name] ?? 'null'}`).join(', ');
    problem(position, kind, { expected: text(logged), got: row === undefined ? 'no such row' : text(row) });
  };
}
