/** Paged lists: limits, time ranges, cursors (contract D1-D5). */
import { parseTimestamp } from '../core/time.ts';
import type { ByAge } from '../store/port.ts';
import type { CursorScope, Position } from './cursors.ts';
import { fieldError } from './schema.ts';
import type { Services } from './services.ts';

/** A limit above the maximum counts as the maximum; the schema refused what is below 1. */
export const pageLimit = (limit: number | undefined, fallback: number, max: number): number =>
  Math.min(limit ?? fallback, max);

/** Inclusive bounds in Unix milliseconds; VALIDATION_ERROR where they are the wrong way round. */
export function timeRange(query: { startTime?: string | undefined; endTime?: string | undefined }): {
  startMs?: number;
  endMs?: number;
} {
  const startMs = query.startTime === undefined ? null : parseTimestamp(query.startTime);
  const endMs = query.endTime === undefined ? null : parseTimestamp(query.endTime);
  if (startMs !== null && endMs !== null && startMs > endMs) {
    throw fieldError({
      pointer: '/endTime',
      in: 'query',
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

export const byAge = (ms: number, id: string): ByAge => ({ ms, id });
