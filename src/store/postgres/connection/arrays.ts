/**
 * Encodes arrays in PostgreSQL's binary format: a header, then each element after its length. The header
 * holds dimensions, nulls, element type, length and lower bound. Texts are written unchanged, so nothing is
 * escaped and nothing is parsed.
 * Source: PostgreSQL 18, `array_recv` in src/backend/utils/adt/arrayfuncs.c.
 * Proven by `test/store/postgres/connection/wire.test.ts`.
 */
import type { Cell, Position } from '../../write/commit-tables.ts';
import type { ColumnType } from '../../write/plain-columns.ts';

/** OIDs of types in `pg_type`. */
const oids = { int8: 20, int4: 23, text: 25, bytea: 17 } as const;
const headerBytes = 20;

/** Encodes one column of many rows as a parameter of its array type. */
export function arrayOf(type: ColumnType, cells: readonly Cell[]): Buffer {
  const out = Buffer.allocUnsafe(headerBytes + sizeOf(type, cells));
  const oid = oids[type === 'position' ? 'int8' : type];
  out.writeInt32BE(cells.length === 0 ? 0 : 1, 0);
  out.writeInt32BE(cells.includes(null) ? 1 : 0, 4);
  out.writeInt32BE(oid, 8);
  if (cells.length === 0) return out.subarray(0, 12);
  out.writeInt32BE(cells.length, 12);
  out.writeInt32BE(1, 16);
  let at = headerBytes;
  for (const cell of cells) at = writeCell(out, at, { type, cell });
  return out.subarray(0, at);
}

export const textArray = (texts: readonly string[]): Buffer => arrayOf('text', texts);

/** Returns enough bytes for all elements. */
function sizeOf(type: ColumnType, cells: readonly Cell[]): number {
  if (type === 'int4') return cells.length * 8;
  if (type === 'int8' || type === 'position') return cells.length * 12;
  let bytes = cells.length * 4;
  for (const cell of cells) {
    if (typeof cell === 'string') bytes += Buffer.byteLength(cell);
    else if (cell instanceof Uint8Array) bytes += cell.length;
  }
  return bytes;
}

function writeCell(out: Buffer, at: number, { type, cell }: { type: ColumnType; cell: Cell }): number {
  if (cell === null) return out.writeInt32BE(-1, at);
  if (typeof cell === 'string') {
    const bytes = out.write(cell, at + 4);
    out.writeInt32BE(bytes, at);
    return at + 4 + bytes;
  }
  if (cell instanceof Uint8Array) {
    out.writeInt32BE(cell.length, at);
    out.set(cell, at + 4);
    return at + 4 + cell.length;
  }
  if (typeof cell === 'object') return writePosition(out, at, cell);
  if (type === 'int4') return out.writeInt32BE(cell, out.writeInt32BE(4, at));
  const high = Math.floor(cell / 2 ** 32);
  return out.writeUInt32BE(cell - high * 2 ** 32, out.writeInt32BE(high, out.writeInt32BE(8, at)));
}

/** `project << 36 | index`, in halves of 32 bits. */
function writePosition(out: Buffer, at: number, { project, index }: Position): number {
  const carried = Math.floor(index / 2 ** 32);
  const high = out.writeInt32BE(project * 16 + carried, out.writeInt32BE(8, at));
  return out.writeUInt32BE(index - carried * 2 ** 32, high);
}
