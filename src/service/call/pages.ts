/** Paged lists: limits, time ranges, cursors (contract D1-D5). */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import { parseTimestamp } from '../../core/time.ts';
import type { ByAge } from '../../store/port/store.ts';
import type { CursorScope, Position } from './cursors.ts';
import { fieldError } from './schema.ts';
import type { Services } from '../dependencies.ts';

/** A limit above the maximum counts as the maximum; the schema refused what is below 1. */
export const pageLimit = (limit: number | undefined, fallback: number, max: number): number =>
  Math.min(limit ?? fallback, max);

/** Inclusive bounds in Unix milliseconds; VALIDATION_ERROR where they are the wrong way round. */
export function timeRange(
  query: { startTime?: string | undefined; endTime?: string | undefined },
  place: 'query' | 'body' = 'query',
): { startMs?: number; endMs?: number } {
  const startMs = query.startTime === undefined ? null : parseTimestamp(query.startTime);
  const endMs = query.endTime === undefined ? null : parseTimestamp(query.endTime);
  if (startMs !== null && endMs !== null && startMs > endMs) {
    throw fieldError({
      pointer: '/endTime',
      in: place,
      code: 'TOO_SMALL',
      detail: 'expected endTime at or after startTime',
    });
  }
  return { ...(startMs === null ? {} : { startMs }), ...(endMs === null ? {} : { endMs }) };
}

interface ListRequest<Row, Place extends Position> {
  readonly scope: CursorScope;
  readonly cursor: string | undefined;
  readonly limit: number;
  readonly read: (page: { after?: Place; limit: number }) => Promise<Row[]>;
  readonly position: (row: Row) => Place;
}

/** One page, and the cursor of the next where there is one. INVALID_CURSOR. */
export async function listPage<Row, Place extends Position>(
  { cursors }: Pick<Services, 'cursors'>,
  request: ListRequest<Row, Place>,
): Promise<{ rows: Row[]; nextCursor: string | null }> {
  const { scope, cursor, limit, read, position } = request;
  // what was sealed for this very list has its kind of position
  const after = cursor === undefined ? undefined : (cursors.open(scope, cursor) as Place);
  const found = await read({ ...(after === undefined ? {} : { after }), limit: limit + 1 });
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const more = found.length > limit && last !== undefined;
  return { rows, nextCursor: more ? cursors.seal(scope, position(last)) : null };
}

/** Rows of a large list that are read before other requests have their turn. */
const chunkRows = 20;

interface SizedRequest<Row, Place extends Position, Item> extends ListRequest<Row, Place> {
  /** A row as it is answered, and roughly its bytes. */
  readonly item: (row: Row) => Sized<Item> | Promise<Sized<Item>>;
}
interface Sized<Item> {
  readonly item: Item;
  readonly bytes: number;
}

/**
 * One page of rows that can be large, as `listPage`: read in chunks, and cut short where it passes
 * `limits.pageBytes`, so that it never stands in memory with more. INVALID_CURSOR.
 */
export async function sizedPage<Row, Place extends Position, Item>(
  { cursors }: Pick<Services, 'cursors'>,
  request: SizedRequest<Row, Place, Item>,
): Promise<{ items: Item[]; nextCursor: string | null }> {
  const { scope, cursor, limit, read, position, item } = request;
  const items: Item[] = [];
  // what was sealed for this very list has its kind of position
  let after = cursor === undefined ? undefined : (cursors.open(scope, cursor) as Place);
  for (let bytes = 0; ;) {
    const wanted = Math.min(chunkRows, limit - items.length) + 1;
    const found = await read({ ...(after === undefined ? {} : { after }), limit: wanted });
    for (const row of found.slice(0, wanted - 1)) {
      const sized = await item(row);
      items.push(sized.item);
      after = position(row);
      bytes += sized.bytes;
      if (bytes > limits.pageBytes) break;
    }
    const isFull = items.length >= limit || bytes > limits.pageBytes;
    const isEnd = found.length < wanted && bytes <= limits.pageBytes;
    if (isEnd || after === undefined) return { items, nextCursor: null };
    if (isFull) return { items, nextCursor: cursors.seal(scope, after) };
    await nextTurn();
  }
}

export const byAge = (ms: number, id: string): ByAge => ({ ms, id });
