/** What commands on the machine of a plane say about its data directory; `src/host/files/upkeep.ts` reads it. */

/** The state of a disk. */
interface DiskState {
  readonly freeBytes: number;
  readonly databaseBytes: number;
  readonly exportBytes: number;
  readonly bytesPerDay: number | null;
  readonly daysLeft: number | null;
}

export interface Upkeep {
  readonly fsck: {
    readonly atMs: number;
    readonly ok: boolean;
    readonly found: number;
    readonly leaves: number;
    readonly deep: boolean;
  } | null;
  readonly backup: {
    readonly createdMs: number;
    readonly out: string;
    readonly withKeys: boolean;
    readonly leaves: number;
    /** SHA-256 in hex. */
    readonly manifestHash: string;
  } | null;
  readonly disk: DiskState | null;
  /** Whether the directory of the backup still has this manifest. */
  readonly isBackupPresent: boolean;
}
