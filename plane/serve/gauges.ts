/**
 * The `GET /metrics` lines that only a plane has: disk, signed checkpoints and the configuration in force.
 * The plane reads the disk once a minute for them. Proven by `test/plane/serve/disk.test.ts`.
 */
import { openCheckpoint } from '../../src/core/note/checkpoint.ts';
import { parseVerifierKey } from '../../src/core/note/key.ts';
import { gauge } from '../../src/host/process/metrics.ts';
import { diskOf, type Disk } from './disk.ts';

export interface SignedSize {
  readonly size: number;
  /** Base64. */
  readonly root: string;
  /** RFC 3339. Null where no signature binds a time: ML-DSA-44 binds one, Ed25519 does not. */
  readonly signedAt: string | null;
}

/** Verifies and opens a checkpoint of this log. Throws NoteError as `openCheckpoint` does. */
export function signedOf(note: string, verifierKeys: readonly string[], origin: string): SignedSize {
  const { checkpoint, signedBy } = openCheckpoint(note, verifierKeys.map(parseVerifierKey), origin);
  const seconds = signedBy.reduce((most, { timestampSeconds }) => Math.max(most, timestampSeconds ?? 0), 0);
  return {
    size: checkpoint.size,
    root: Buffer.from(checkpoint.root).toString('base64'),
    signedAt: seconds === 0 ? null : new Date(seconds * 1000).toISOString(),
  };
}

export interface GaugeOptions {
  readonly dataDir: string;
  readonly configHash: string;
  /** The newest checkpoint of the audit log. Null before the first signature. */
  readonly signed: () => Promise<SignedSize | null>;
  readonly now: () => number;
}

const diskEveryMs = 60_000;

export function planeGauges({
  dataDir,
  configHash,
  signed,
  now,
}: GaugeOptions): () => Promise<readonly string[]> {
  let disk: { readonly atMs: number; readonly found: Disk } | undefined;
  const look = (): Disk => {
    const nowMs = now();
    if (disk === undefined || Math.abs(nowMs - disk.atMs) > diskEveryMs) {
      disk = { atMs: nowMs, found: diskOf(dataDir, nowMs) };
    }
    return disk.found;
  };
  return async () => {
    const { freeBytes, databaseBytes, exportBytes, bytesPerDay, daysLeft } = look();
    const newest = await signed();
    const optional = (name: string, help: string, value: number | null): string[] =>
      value === null ? [] : gauge(name, help, value);
    return [
      ...gauge('gov_disk_free_bytes', 'Free space where the databases lie', freeBytes),
      ...gauge('gov_database_bytes', 'Databases with their write-ahead logs', databaseBytes),
      ...gauge('gov_exports_bytes', 'Artifacts of exports', exportBytes),
      ...optional('gov_disk_growth_bytes_per_day', 'Growth of the databases in the last week', bytesPerDay),
      ...optional('gov_disk_days_left', 'Days until the plane is not ready for want of space', daysLeft),
      ...gauge('gov_checkpoint_leaves', 'Leaves of the newest signed checkpoint', newest?.size ?? 0),
      ...optional(
        'gov_checkpoint_seconds',
        'Unix time of its signature',
        newest === null || newest.signedAt === null ? null : Date.parse(newest.signedAt) / 1000,
      ),
      '# HELP gov_config_info By which configuration it serves',
      '# TYPE gov_config_info gauge',
      `gov_config_info{hash="${configHash}"} 1`,
    ];
  };
}
