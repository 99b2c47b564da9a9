/** How a value is laid out: which members are columns, and which one identifies it. */

/** `id` and `time` are never cut; `hash` is shortened; `count` is set to the right. */
export type Kind = 'id' | 'time' | 'hash' | 'count' | 'flag' | 'text';

export interface Column {
  readonly name: string;
  readonly kind: Kind;
}

export interface View {
  /** Columns of a table, and of tab-separated output. */
  readonly columns: readonly Column[];
  /** Every member. */
  readonly wide: readonly Column[];
  /** The member that `-o id` prints. */
  readonly id: string | undefined;
  /** The member that holds the items where the answer is a list. */
  readonly items: 'data' | 'events' | undefined;
}

/** A view for values that no contract row describes: the names are the columns. */
export const plainView = (names: readonly string[], id = names[0]): View => {
  const columns = names.map((name) => ({ name, kind: 'text' as const }));
  return { columns, wide: columns, id, items: undefined };
};
