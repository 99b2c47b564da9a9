/**
 * Reports the disk and the telemetry of a plane from its directory, whether the plane serves or not.
 * An unreadable part becomes a reason and throws nothing. Proven by `test/plane/serve/disk.test.ts`.
 */
import { GovError } from '../../src/contract/problems.ts';
import { now } from '../../src/host/process/clock.ts';
import { diskOf, type Disk } from './disk.ts';
import { telemetryStatus, type TelemetryStatus } from './status.ts';

export interface Overview {
  readonly disk: Disk | null;
  readonly telemetry: TelemetryStatus | null;
  /** Says why a part is null. */
  readonly reasons: readonly string[];
}

export function overviewOf(dataDir: string): Overview {
  const reasons: string[] = [];
  const read = <Value>(what: string, from: () => Value): Value | null => {
    try {
      return from();
    } catch (error) {
      const isKnown = error instanceof GovError || (error instanceof Error && 'syscall' in error);
      if (!isKnown) throw error;
      reasons.push(`${what}_unreadable: ${error.message}`);
      return null;
    }
  };
  const disk = read('disk', () => diskOf(dataDir, now()));
  return { disk, telemetry: read('telemetry', () => telemetryStatus(dataDir)), reasons };
}
