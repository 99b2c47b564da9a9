/**
 * Artifacts of exports as rows, for services whose processes share no directory. A crash leaves chunks
 * without an artifact; `remove` deletes them.
 * Proven by `test/host/exports/artifacts.test.ts`.
 */
import type { Database } from '../connection/database.ts';
import type { ProjectNumber } from '../read/leaves.ts';
import { sql, step } from '../../read/queries.ts';

/** Parts of an artifact, numbered from 0. */
export interface ExportChunks {
  add(place: ChunkPlace, bytes: Uint8Array): Promise<void>;
  /** Null if the part is missing. */
  read(place: ChunkPlace): Promise<Uint8Array | null>;
  /** Size of an artifact in bytes; 0 if it is missing. */
  size(artifact: Omit<ChunkPlace, 'n'>): Promise<number>;
  /** Deletes all artifacts of an export, or one artifact. */
  remove(of: Omit<ChunkPlace, 'artifact' | 'n'> & { readonly artifact?: string | null }): Promise<void>;
}

interface ChunkPlace {
  readonly projectId: string;
  readonly exportId: string;
  readonly artifact: string;
  readonly n: number;
}

const add = sql(
  'INSERT INTO export_chunk (project, export_id, artifact, n, bytes) VALUES ($1, $2, $3, $4, $5)',
);
const read = sql<{ bytes: Buffer }>(
  'SELECT bytes FROM export_chunk WHERE project = $1 AND export_id = $2 AND artifact = $3 AND n = $4',
);
const size = sql<{ size: number }>(
  `SELECT coalesce(sum(octet_length(bytes)), 0)::int8 AS size FROM export_chunk
   WHERE project = $1 AND export_id = $2 AND artifact = $3`,
);
const remove = sql(
  'DELETE FROM export_chunk WHERE project = $1 AND export_id = $2 AND ($3::text IS NULL OR artifact = $3)',
);

export const exportChunks = (database: Database, numberOf: ProjectNumber): ExportChunks => ({
  add: async ({ projectId, exportId, artifact, n }, bytes) => {
    const project = await numberOf(projectId);
    const copy = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    await database.write({ project }, [step(add, project, exportId, artifact, n, copy)]);
  },
  read: async ({ projectId, exportId, artifact, n }) => {
    const project = await numberOf(projectId);
    const [{ rows }] = await database.read({ project }, [step(read, project, exportId, artifact, n)]);
    return rows[0]?.bytes ?? null;
  },
  size: async ({ projectId, exportId, artifact }) => {
    const project = await numberOf(projectId);
    const [{ rows }] = await database.read({ project }, [step(size, project, exportId, artifact)]);
    return rows[0]?.size ?? 0;
  },
  remove: async ({ projectId, exportId, artifact = null }) => {
    const project = await numberOf(projectId);
    await database.write({ project }, [step(remove, project, exportId, artifact)]);
  },
});
