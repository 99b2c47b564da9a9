/** What an index witness keeps of each log beside its cosignatures: where it reads the records, and a refusal for good. */
import type { Connection, Value } from '../../../store/file/connection.ts';

export const indexSchema = `
-- Where an index witness reads the records of a log: the address of the interface, and a file with an API key.
CREATE TABLE source (origin TEXT PRIMARY KEY, url TEXT NOT NULL, key_file TEXT NOT NULL) STRICT;

-- A log whose signed index is false. The note covers the leaf.
CREATE TABLE refused (
  origin TEXT PRIMARY KEY,
  leaf INTEGER NOT NULL,
  detail TEXT NOT NULL,
  note TEXT NOT NULL,
  evidence TEXT
) STRICT;
CREATE TRIGGER refused_update BEFORE UPDATE ON refused
BEGIN SELECT RAISE(ABORT, 'a refusal is for good'); END;
CREATE TRIGGER refused_delete BEFORE DELETE ON refused
BEGIN SELECT RAISE(ABORT, 'a refusal is for good'); END;
`;

export interface LogSource {
  readonly url: string;
  readonly keyFile: string;
}

export interface Refusal {
  /** The index leaf, or the event whose number is not its place. */
  readonly leaf: number;
  readonly detail: string;
  /** The signed note of a tree that has the leaf. */
  readonly note: string;
  /** An evidence file; null where the log does not show what its index has. */
  readonly evidence: string | null;
}

export interface IndexTables {
  source(origin: string): LogSource | null;
  setSource(origin: string, source: LogSource): void;
  refusal(origin: string): Refusal | null;
  /** Durable when it returns. The first refusal of a log stays. */
  refuse(origin: string, refusal: Refusal): void;
}

export function indexTables(db: Connection): IndexTables {
  const sourceOf = db.prepare<Value[], LogSource>(
    'SELECT url, key_file AS keyFile FROM source WHERE origin = ?',
  );
  const keepSource = db.prepare<Value[]>('INSERT OR REPLACE INTO source VALUES (?, ?, ?)');
  const refusalOf = db.prepare<Value[], Refusal>(
    'SELECT leaf, detail, note, evidence FROM refused WHERE origin = ?',
  );
  const keep = db.prepare<Value[]>('INSERT OR IGNORE INTO refused VALUES (?, ?, ?, ?, ?)');
  return {
    source: (origin) => sourceOf.get(origin) ?? null,
    setSource: (origin, { url, keyFile }) => void keepSource.run(origin, url, keyFile),
    refusal: (origin) => refusalOf.get(origin) ?? null,
    refuse: (origin, { leaf, detail, note, evidence }) => void keep.run(origin, leaf, detail, note, evidence),
  };
}
