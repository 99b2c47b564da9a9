/**
 * The layout of a value: its columns, and the member that identifies it. Tested by `test/cli/terminal/table.test.ts`.
 */

/** `id` and `time` are never cut; `hash` is shortened; `count` is aligned right; of `json` every member is shown, a long one by its beginning. */
export type Kind = 'id' | 'time' | 'hash' | 'count' | 'flag' | 'json' | 'text';

export interface Column {
  readonly name: string;
  readonly kind: Kind;
}

export interface View {
  /** Columns of a table and of tab-separated output. */
  readonly columns: readonly Column[];
  /** Every member. */
  readonly wide: readonly Column[];
  /** The member that `-o id` prints. */
  readonly id: string | undefined;
  /** The member with the items, if the response is a list. */
  readonly items: 'data' | 'events' | undefined;
}

/** A view for values without a contract row: the names are the columns. */
export const plainView = (names: readonly string[], id = names[0]): View => {
  const columns = names.map((name) => ({ name, kind: 'text' as const }));
  return { columns, wide: columns, id, items: undefined };
};

/** The same, with a column of problems: in a pipe always, for people only if a row has one. */
export function problemView(
  names: readonly string[],
  items: readonly { readonly problem: string | null }[],
  { isHuman }: { readonly isHuman: boolean },
): View {
  const isShown = !isHuman || items.some(({ problem }) => problem !== null);
  return plainView(isShown ? [...names, 'problem'] : names);
}
