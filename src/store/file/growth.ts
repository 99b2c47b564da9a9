/**
 * Computes the growth of a log on disk from the times in its metering leaves.
 * Each append has one metering leaf. Reads only; another process may serve the files.
 * Proven by `test/plane/serve/disk.test.ts`.
 */
import { existsSync, statSync } from 'node:fs';
import { storeFiles } from './paths.ts';
import { positionOf } from './position.ts';
import { connectReader } from './reader.ts';
import type { Connection, Value } from './connection.ts';

export interface Growth {
  /** Bytes of both databases with their write-ahead logs. */
  readonly bytes: number;
  /** Audit leaves of all logs. */
  readonly leaves: number;
  /** Leaves since `sinceMs`, the start of the window or of the log. */
  readonly recentLeaves: number;
  readonly sinceMs: number;
}

/**
 * Null if there is no database yet. Throws like `connectReader`. Cost: log n small reads for each project.
 */
export function growthOf(dataDir: string, fromMs: number): Growth | null {
  const { main, heads } = storeFiles(dataDir);
  if (!existsSync(main)) return null;
  const files = [main, `${main}-wal`, heads, `${heads}-wal`];
  const bytes = files.reduce((sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.size ?? 0), 0);
  const db = connectReader(main, 256);
  try {
    const logs = db
      .prepare<Value[], { project: number; audit: number; metering: number }>(
        `SELECT a.project, a.size AS audit, m.size AS metering FROM head a
           JOIN head m ON m.project = a.project AND m.tree = 1 WHERE a.tree = 0`,
      )
      .all();
    const parts = logs.map((log) => partOf(db, log, fromMs));
    return {
      bytes,
      leaves: logs.reduce((sum, { audit }) => sum + audit, 0),
      recentLeaves: parts.reduce((sum, { recent }) => sum + recent, 0),
      sinceMs: Math.min(...parts.map(({ sinceMs }) => sinceMs)),
    };
  } finally {
    db.close();
  }
}

/** Finds the first metering leaf of the window by bisection, because times of a log never run backwards. */
function partOf(
  db: Connection,
  { project, audit, metering }: { project: number; audit: number; metering: number },
  fromMs: number,
): { readonly recent: number; readonly sinceMs: number } {
  const find = db.prepare<Value[], { first_index: number; record: string }>(
    'SELECT first_index, record FROM meter WHERE position = ?',
  );
  const at = (index: number): { firstIndex: number; atMs: number } => {
    const row = find.get(positionOf(project, index));
    const { at: time } = JSON.parse(row?.record ?? '{}') as { at?: string };
    return { firstIndex: row?.first_index ?? audit, atMs: Date.parse(time ?? '') };
  };
  let [low, high] = [0, metering];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (at(middle).atMs < fromMs) low = middle + 1;
    else high = middle;
  }
  if (low === metering) return { recent: 0, sinceMs: fromMs };
  const { firstIndex, atMs } = at(low);
  // for a log younger than the window, count from its start
  return { recent: audit - firstIndex, sinceMs: low === 0 ? atMs : fromMs };
}
