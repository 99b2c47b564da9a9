/** What is kept in place of the result of a replay whose values are gone. Proven by `test/service/copies.test.ts`. */

/** What stands in place of the result of a replay since the erasure of this leaf. */
export const withdrawnText = (leaf: number): string => `{"erasedBy":${leaf}}`;

/** The leaf of the erasure; null for a result. */
export function withdrawnBy(result: string): number | null {
  const [, leaf] = /^\{"erasedBy":(\d{1,15})\}$/.exec(result) ?? [];
  return leaf === undefined ? null : Number(leaf);
}
