/**
 * Reports the disk and the telemetry of a plane from its directory, whether the plane serves or not.
 * An unreadable part becomes a reason and throws nothing. Proven by `test/plane/serve/disk.test.ts`.
 */
import { join } from 'node:path';
import type { CaptureInForce } from '../../src/contract/plane-config.ts';
import { GovError } from '../../src/contract/problems.ts';
import { readPlaneFile } from '../../src/host/data/config.ts';
import { now } from '../../src/host/process/clock.ts';
import { captureInForce } from '../config/content.ts';
import { diskOf, type Disk } from './disk.ts';
import { telemetryStatus, type TelemetryStatus } from '../telemetry/status.ts';

export interface Overview {
  readonly disk: Disk | null;
  readonly telemetry: TelemetryStatus | null;
  /** What `plane.json` alone says is kept of content in received telemetry. */
  readonly contentCapture: CaptureInForce | null;
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
  const contentCapture = read('plane.json', () =>
    captureInForce(readPlaneFile(join(dataDir, 'plane.json')).contentCapture, undefined),
  );
  return { disk, telemetry: read('telemetry', () => telemetryStatus(dataDir)), contentCapture, reasons };
}
