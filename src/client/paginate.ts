/** Reads a list to its end (contract D1 to D5). Tested by `test/client/paginate.test.ts`. */

interface Page<Item> {
  readonly body: {
    readonly data?: readonly Item[];
    readonly events?: readonly Item[];
    readonly nextCursor: string | null;
  };
}
interface ListInput {
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The item type of a list method's response. */
export type ItemOf<Answered> = Answered extends { body: { data: readonly (infer Item)[] } }
  ? Item
  : Answered extends { body: { events: readonly (infer Item)[] } }
    ? Item
    : never;

export const itemsOf = <Item>(body: Page<Item>['body']): readonly Item[] => body.data ?? body.events ?? [];

/**
 * Yields the items of every page from `input.query.cursor` on, with one request for each page. Throws if the service
 * repeats a cursor, so that the loop ends.
 */
export async function* paginate<In extends ListInput, Answered extends Page<unknown>>(
  list: (input: In) => Promise<Answered>,
  input: In,
): AsyncGenerator<ItemOf<Answered>, void, undefined> {
  let cursor: unknown = input.query?.['cursor'];
  for (;;) {
    const query = cursor === undefined ? input.query : { ...input.query, cursor };
    const { body } = await list({ ...input, query });
    yield* itemsOf(body) as readonly ItemOf<Answered>[];
    if (body.nextCursor === null) return;
    if (body.nextCursor === cursor)
      throw new Error('expected a new cursor for the next page, got the same one');
    cursor = body.nextCursor;
  }
}
