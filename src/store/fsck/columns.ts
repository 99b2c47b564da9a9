/** `fsck`: the columns of a row against what leaves give of them. Only those that differ are reported. */
import type { Check, FsckKind } from './run.ts';

/** By name of the column; one that leaves do not tell, or no longer, is left out. */
export type Columns = Readonly<Record<string, string | number | null>>;

/** Compares a row, undefined where there is none, with what is logged of it. */
export function columnCheck({ problem }: Pick<Check, 'problem'>, kind: FsckKind) {
  return (position: string, row: Columns | undefined, logged: Columns): void => {
    const names = Object.keys(logged).filter((name) => row === undefined || row[name] !== logged[name]);
    if (names.length === 0) return;
    const told = (of: Columns): string => names.map((name) => `${name} ${of[name] ?? 'null'}`).join(', ');
    problem(position, kind, { expected: told(logged), got: row === undefined ? 'no such row' : told(row) });
  };
}
