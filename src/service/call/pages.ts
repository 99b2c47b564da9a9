/**
 * Paged lists: limits, time ranges, cursors (contract D1-D5). Proven by `test/service/call/cursors.test.ts`.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { limits } from '../../contract/limits.ts';
import { isLater, parseTimestamp } from '../../core/time.ts';
import type { ByAge } from '../../store/port/store.ts';
import type { Cursors, CursorScope, Position } from './cursors.ts';
import { fieldError } from './schema.ts';

/** Caps a page limit at `max`. The schema already rejected a limit below 1. */
export const pageLimit = (limit: number | undefined, fallback: number, max: number): number =>
  Math.min(limit ?? fallback, max);

/**
 * Inclusive bounds in Unix milliseconds (contract E13). Digits beyond are cut, as those of each compared time are, so
 * that an event is found by its own timestamp. VALIDATION_ERROR where endTime is before startTime.
 */
export function timeRange(
  query: { startTime?: string | undefined; endTime?: string | undefined },
  place: 'query' | 'body' = 'query',
): { startMs?: number; endMs?: number } {
  const { startTime, endTime } = query;
  const startMs = startTime === undefined ? null : parseTimestamp(startTime);
  const endMs = endTime === undefined ? null : parseTimestamp(endTime);
  if (startTime !== undefined && endTime !== undefined && isLater(startTime, endTime)) {
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

/** One page, and the cursor of the next page or null. INVALID_CURSOR. */
export async function listPage<Row, Place extends Position>(
  { cursors }: { readonly cursors: Cursors },
  request: ListRequest<Row, Place>,
): Promise<{ rows: Row[]; nextCursor: string | null }> {
  const { scope, cursor, limit, read, position } = request;
  // a cursor opens only for its own list, so it has this list's kind of position
  const after = cursor === undefined ? undefined : (cursors.open(scope, cursor) as Place);
  const found = await read({ ...(after === undefined ? {} : { after }), limit: limit + 1 });
  const rows = found.slice(0, limit);
  const last = rows.at(-1);
  const more = found.length > limit && last !== undefined;
  return { rows, nextCursor: more ? cursors.seal(scope, position(last)) : null };
}

/** Rows of a large list that are read before other requests get a turn. */
const chunkRows = 20;

interface SizedRequest<Row, Place extends Position, Item> extends ListRequest<Row, Place> {
  /** The item that the answer shows for a row, and roughly its bytes. */
  readonly item: (row: Row) => SizedItem<Item> | Promise<SizedItem<Item>>;
}
interface SizedItem<Item> {
  readonly item: Item;
  readonly bytes: number;
}

/**
 * One page of rows that can be large. Reads in chunks and ends the page beyond `limits.pageBytes`, so memory
 * never holds more. INVALID_CURSOR.
 */
export async function sizedPage<Row, Place extends Position, Item>(
  { cursors }: { readonly cursors: Cursors },
  request: SizedRequest<Row, Place, Item>,
): Promise<{ items: Item[]; nextCursor: string | null }> {
  const { scope, cursor, limit, read, position, item } = request;
  const items: Item[] = [];
  // a cursor opens only for its own list, so it has this list's kind of position
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
