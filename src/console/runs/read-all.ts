/** Reads a list of the API page by page, up to a limit. Tested by `test/console/runs/read-all.test.ts`. */

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly nextCursor: string | null;
}

/** Calls `ask` until the end or the limit, and `seen` with all rows so far after each page. Returns whether there are more. */
export async function readAll<Row>(
  ask: (cursor: string | undefined, before: number) => Promise<Page<Row>>,
  { most, seen }: { readonly most: number; readonly seen: (rows: readonly Row[]) => void },
): Promise<boolean> {
  const all: Row[] = [];
  let cursor: string | undefined;
  do {
    const { rows, nextCursor } = await ask(cursor, all.length);
    all.push(...rows);
    seen([...all]);
    if (nextCursor === null) return false;
    cursor = nextCursor;
  } while (all.length < most);
  return true;
}
