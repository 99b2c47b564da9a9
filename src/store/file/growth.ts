/**
 * How fast a log on disk grows: by the times in its metering leaves, of which there is one for each append. Read only,
 * beside the process that serves it. Proven by `test/plane/serve/disk.test.ts`.
 */
import { existsSync, statSync } from 'node:fs';
import { storeFiles } from './paths.ts';
import { positionOf } from './position.ts';
import { connectReader } from './reader.ts';
import type { Connection, Value } from './connection.ts';

export interface Growth {
  /** Of both databases with their write-ahead logs. */
  readonly bytes: number;
  /** Audit leaves of all logs. */
  readonly leaves: number;
  /** Leaves that came since `sinceMs`, the start of the window or of the log. */
  readonly recentLeaves: number;
  readonly sinceMs: number;
}

/** Null where there is no database yet. Cost: log n small reads for each project. Throws as `connectReader`. */
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

/** Finds the first metering leaf of the window by halving: times of a log never run backwards. */
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
  // a log that is younger than the window grew since its own beginning
  return { recent: audit - firstIndex, sinceMs: low === 0 ? atMs : fromMs };
}
