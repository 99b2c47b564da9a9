/** Reads lists of the API page by page. Tested by `test/console/runs/read-all.test.ts`. */

export interface Page<Row> {
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

interface Newer<Row> {
  readonly isKnown: (row: Row) => boolean;
  readonly most: number;
}

/** Reads a list that has the newest row first. Returns the rows above the first known one, newest first; null for too many. */
export async function readNewer<Row>(
  ask: (cursor: string | undefined) => Promise<Page<Row>>,
  { isKnown, most }: Newer<Row>,
): Promise<Row[] | null> {
  const newer: Row[] = [];
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const { rows, nextCursor } = await ask(cursor);
    const known = rows.findIndex(isKnown);
    newer.push(...(known === -1 ? rows : rows.slice(0, known)));
    if (newer.length > most) return null;
    cursor = known === -1 ? nextCursor : null;
  }
  return newer;
}
