/** Checks, backups and disk of a plane's data directory, for `GET /operations/integrity`. Proven by `test/plane/serve/upkeep.test.ts`. */
import { now } from '../../src/host/process/clock.ts';
import { isPresent, readUpkeep } from '../../src/host/files/upkeep.ts';
import type { Upkeep } from '../../src/service/hosting/upkeep.ts';
import { diskOf } from './disk.ts';

export function planeUpkeep(dataDir: string): Upkeep {
  const { fsck, backup } = readUpkeep(dataDir);
  return {
    fsck,
    backup,
    isBackupPresent: backup !== null && isPresent(backup),
    disk: diskOf(dataDir, now()),
  };
}
