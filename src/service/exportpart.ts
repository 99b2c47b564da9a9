/**
 * Task: builds the rows of a range of leaves, as they stand in an export behind other rows; so that ranges of one export
 * are built by several threads. Memory: a chunk, and a row. Proven by `test/service/exportparts.test.ts`.
 */
import { exportRowText } from '../core/exportartifact.ts';
import { Chunks, newMemory } from './exportoutput.ts';
import { Count, filtersOf, rowsOfLeaves } from './exportrows.ts';
import { eventsBetween } from './exportsources.ts';
import { rowTextOf } from './exporttext.ts';
import type { Task } from './work.ts';

/** A part ends where a row of this size might not fit its chunk. */
const spareBytes = 32 * 1024;

/** What stands before each row of a part. */
export const separatorOf = { json: ',\n', csv: '' } as const;

export const exportPart: Task<'exportPart'> = async (context, input) => {
  const { projectId, format, memory, from, to } = input;
  const given = [Buffer.from(memory.buffer)];
  const chunks = new Chunks(() => given.pop() ?? newMemory());
  const textOf = rowTextOf(format, 'audit_events');
  const count = new Count();
  const leaves = eventsBetween(context, { projectId, filters: filtersOf(input) }, { from, to });
  for await (const rows of rowsOfLeaves(context, { projectId, resource: 'audit_events', leaves })) {
    for (const row of rows) {
      chunks.add(format === 'csv' ? textOf(row) : exportRowText(textOf(row), false));
      count.add(row.leaf);
      if (chunks.room > spareBytes || row.leaf === null) continue;
      return { ...count.counted, chunks: chunks.last(), to: row.leaf.index + 1 };
    }
  }
  return { ...count.counted, chunks: chunks.last(), to };
};
