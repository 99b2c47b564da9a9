/**
 * Checkpoints the write-ahead log on purpose: when it has grown by some MiB, between two commits. The file is
 * kept and written over from its start; it is cut only where it grew beyond `cutBytes` (a long reader).
 */
import type { Connection } from './connection.ts';
import { pageBytes } from './connection.ts';

const checkpointBytes = 16 * 1024 * 1024;
const cutBytes = 64 * 1024 * 1024;

interface WalState {
  readonly busy: number;
  /** Frames in the file, and how many of them are in the database. */
  readonly log: number;
  readonly checkpointed: number;
}

const checkpoint = (db: Connection, mode: 'NOOP' | 'PASSIVE' | 'TRUNCATE'): WalState =>
  (db.pragma(`wal_checkpoint(${mode})`) as WalState[])[0] ?? { busy: 1, log: 0, checkpointed: 0 };

/** Called after each commit; throws what a checkpoint throws. */
export function walKeeper(db: Connection): () => void {
  return () => {
    const { log, checkpointed } = checkpoint(db, 'NOOP');
    if ((log - checkpointed) * pageBytes < checkpointBytes) return;
    checkpoint(db, log * pageBytes > cutBytes ? 'TRUNCATE' : 'PASSIVE');
  };
}
